"""The page of `--serve` in headless Chromium, at an address that is not loopback's: it shows WebRTC where it can, MJPEG where
it cannot, and says which."""

import re
import signal
import time
import urllib.parse

from support import network
from support.devtools import DevTools
from support.stream import free_udp_port
from support.tool import ToolTestCase
from support.webrtc import WHEPViewers

WAY = "document.querySelector('#way').textContent"
DECODED = "document.querySelector('video') ? document.querySelector('video').getVideoPlaybackQuality().totalVideoFrames : 0"
SIZE = "(() => { const v = document.querySelector('video.shown'); return v ? v.videoWidth + 'x' + v.videoHeight : ''; })()"
# How far the brightness of the picture's pixels varies: noise does, a plain surface doesn't.
DEVIATION = """(() => {
  const canvas = document.createElement('canvas'); canvas.width = canvas.height = 64;
  const context = canvas.getContext('2d');
  context.drawImage(document.querySelector('.picture.shown'), 0, 0, 64, 64, 0, 0, 64, 64);
  const data = context.getImageData(0, 0, 64, 64).data.filter((_, index) => index % 4 === 1);
  const mean = data.reduce((a, b) => a + b, 0) / data.length;
  return Math.sqrt(data.reduce((a, b) => a + (b - mean) ** 2, 0) / data.length);
})()"""
# The latency that the page says, and the one that is seen, both in seconds. The ball of the pattern goes there and back in
# four seconds, so where it is tells the time; snapshots, which have the time of their capture, tell when it began.
LATENCIES = """(async () => {
  const canvas = document.createElement('canvas'); canvas.width = 320; canvas.height = 240;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  const place = image => {
    context.drawImage(image, 0, 0, 320, 240);
    const data = context.getImageData(0, 0, 320, 240).data;
    let sum = 0, count = 0;
    for (let i = 0; i < 320 * 240; i++) if (data[4 * i] > 160) { sum += i % 320; count++; }
    return sum / count;
  };
  const began = samples => {
    let best = 0, least = Infinity;
    for (let start = 0; start < 4; start += .005) {
      const error = samples.reduce((total, { time, x }) => {
        const phase = ((time - start) % 4 + 4) % 4 / 2;
        return total + Math.abs(20 + 279 * (phase < 1 ? phase : 2 - phase) - x);
      }, 0);
      if (error < least) { least = error; best = start; }
    }
    return best;
  };
  const captured = [], shown = [], said = [];
  for (let i = 0; i < 10; i++) {
    const answer = await fetch('snapshot', { cache: 'no-store' });
    captured.push({ time: Number(answer.headers.get('X-Timestamp')), x: place(await createImageBitmap(await answer.blob())) });
    await new Promise(done => setTimeout(done, 100));
  }
  const video = document.querySelector('video.shown');
  await new Promise(done => video.requestVideoFrameCallback(function look(now, frame) {
    shown.push({ time: (performance.timeOrigin + frame.expectedDisplayTime) / 1000, x: place(video) });
    const value = document.querySelector('#latency .value').textContent;
    said.push(parseFloat(value) / (value.includes('ms') ? 1000 : 1));
    if (shown.length < 60) video.requestVideoFrameCallback(look); else done();
  }));
  return [said.reduce((a, b) => a + b, 0) / said.length, ((began(shown) - began(captured)) % 4 + 4) % 4];
})()"""
# What the page's connections have received of the sound.
PEERS = """const Original = RTCPeerConnection; window.peers = [];
window.RTCPeerConnection = class extends Original { constructor(...words) { super(...words); peers.push(this); } };"""
SOUND = """(async () => {
  for (const entry of (await peers.at(-1).getStats()).values())
    if (entry.type === 'inbound-rtp' && entry.kind === 'audio') return entry;
})()"""
LATENCY = "document.querySelector('#latency .value').textContent"
BUTTON = "document.querySelector('#sound-button')"
LIMIT = 90


class WebRTCPageTests(ToolTestCase):
    LATER = True

    @classmethod
    def setUpClass(cls):
        network.enter()

    def setUp(self):
        super().setUp()
        self.addCleanup(network.drop_nothing)
        self.browser = DevTools()
        self.addCleanup(self.browser.close)

    def serve(self, *arguments, source=("noise",), options=None):
        options = options or ("--source", *source, "--preset", "320x240", "--bitrate", "2500k")
        running = self.start(*options, "--serve", f"{network.ADDRESS}:0", *arguments)
        deadline = time.monotonic() + 60
        while not (found := re.search(r"Serving (http://\S+/)", running.peek())):
            if running.process.poll() is not None or time.monotonic() > deadline:
                self.fail(f"it does not say where it serves:\n{running.finish(0)}")
            time.sleep(0.02)
        self.url = found[1]
        return running

    def end(self, running):
        running.send(signal.SIGINT)
        run = running.finish(60)
        self.assertEqual(run.code, 0)
        return run

    def open(self, url=None, script=None):
        tab = self.browser.open()
        if script:
            tab.send("Page.addScriptToEvaluateOnNewDocument", source=script)
        tab.go(url or self.url)
        return tab

    def test_plays_by_webrtc_and_counts(self):
        running = self.serve()
        tab = self.open()
        tab.wait(f"{WAY} === 'WebRTC'", LIMIT)
        tab.wait(f"{DECODED} > 60", LIMIT)
        tab.wait(f"{SIZE} === '320x240'", LIMIT)
        self.assertGreater(tab.evaluate(DEVIATION), 3)
        # The panel goes on, from the connection's own statistics.
        for plot in ("fps", "latency", "bitrate"):
            tab.wait(f"parseFloat(document.querySelector('#{plot} .value').textContent) > 0", LIMIT)
        self.assertFalse(tab.complaints, tab.complaints)
        # No stream of JPEG is read beside it.
        self.assertFalse([url for url in tab.requests if "/stream" in url], tab.requests)
        self.assertRegex(self.end(running).stderr, r"by WebRTC \d{2,} frames")

    def test_goes_on_when_no_packet_comes_for_seconds(self):
        running = self.serve()
        tab = self.open(script=PEERS)
        tab.wait(f"{DECODED} > 10", LIMIT)
        # Browsers call a connection failed much later, if at all.
        tab.evaluate("""(() => { const peer = peers.at(-1);
            Object.defineProperty(peer, 'connectionState', { value: 'disconnected' }); peer.onconnectionstatechange(); })()""")
        tab.wait("peers.length === 2", LIMIT)
        tab.wait(f"{DECODED} > 10 && {WAY} === 'WebRTC'", LIMIT)
        self.end(running)

    def test_sound_is_heard_once_it_is_asked_for(self):
        running = self.serve("--audio", "tone")
        tab = self.open(script=PEERS)
        tab.viewport(1280, 800)  # with room for words
        tab.wait(f"{WAY} === 'WebRTC'", LIMIT)
        tab.wait(f"!{BUTTON}.hidden", LIMIT)
        self.assertEqual(tab.evaluate(f"{BUTTON}.innerText.trim()"), "Sound on")
        self.assertTrue(tab.evaluate("document.querySelector('video').muted"))
        self.assertTrue(tab.evaluate("fetch('state').then(a => a.json()).then(a => a.result.viewer_page.sound)"))
        # Both channels: Chromium plays one unless its own description asks for two.
        for description in ("localDescription", "remoteDescription"):
            self.assertRegex(tab.evaluate(f"peers.at(-1).{description}.sdp"), r"a=fmtp:\d+ [^\r\n]*\bstereo=1")
        tab.click("#sound-button")
        tab.wait("!document.querySelector('video').muted && !document.querySelector('video').paused", LIMIT)
        self.assertEqual(tab.evaluate(f"{BUTTON}.getAttribute('aria-label')"), "Sound off")
        before = tab.evaluate(SOUND)
        # A second of the tone that is not concealed.
        tab.wait(f"{SOUND}.then(e => e.totalSamplesReceived - e.concealedSamples > "
                 f"{before['totalSamplesReceived'] - before['concealedSamples'] + 48000} && "
                 f"e.totalAudioEnergy > {before['totalAudioEnergy']} + .01)", LIMIT)
        tab.wait(f"{DECODED} > 60", LIMIT)
        # What was asked for is so after a pause, too. The focus is on the button, which the space bar would press.
        tab.evaluate("document.activeElement.blur()")
        tab.press(" ")
        tab.wait(f"{BUTTON}.hidden", LIMIT)
        tab.press(" ")
        tab.wait(f"!{BUTTON}.hidden && !document.querySelector('video').muted", LIMIT)
        tab.press("m")
        tab.wait("document.querySelector('video').muted", LIMIT)
        self.assertFalse(tab.complaints, tab.complaints)
        self.end(running)

    def test_who_gets_sound(self):
        running = self.serve("--audio", "tone")
        viewers = WHEPViewers(self.url)
        self.addCleanup(viewers.close)
        seen = viewers.view(1)[0]
        self.assertEqual(seen["deleted"], 200, seen)
        self.assertRegex(seen["answer"], r"m=audio 9 [\s\S]*opus/48000/2")
        self.assertGreater(seen["peak"], 500, seen)
        # A viewer that wants none.
        seen = viewers.view(1, kinds=["video"])[0]
        self.assertGreaterEqual(seen["video"], 5, seen)
        self.assertNotIn("m=audio", seen["answer"])
        self.end(running)
        for arguments in ((), ("--audio", "tone", "--serve-silent", "-o", "beside.webm")):
            with self.subTest(arguments):
                running = self.serve(*arguments)
                tab = self.open(script=PEERS)
                tab.wait(f"{DECODED} > 10", LIMIT)
                self.assertTrue(tab.evaluate(f"{BUTTON}.hidden"))
                self.assertIn("m=audio 0 ", tab.evaluate("peers.at(-1).remoteDescription.sdp"))
                self.assertFalse(tab.evaluate("fetch('state').then(a => a.json()).then(a => a.result.viewer_page.sound)"))
                tab.close()
                self.end(running)

    def test_pauses_and_zooms(self):
        running = self.serve()
        tab = self.open()
        tab.wait(f"{WAY} === 'WebRTC'", LIMIT)
        tab.wait("document.querySelector('#latency .label').textContent === 'Glass to glass'", LIMIT)
        width = "document.querySelector('video.shown').getBoundingClientRect().width"
        before = tab.evaluate(width)
        tab.press("+")
        tab.wait(f"{width} === {before * 1.25}", LIMIT)
        tab.press(" ")
        tab.wait("document.querySelector('html.paused') !== null", LIMIT)
        self.assertEqual(tab.evaluate("document.querySelectorAll('.picture').length"), 0)
        self.assertEqual(tab.evaluate("document.querySelector('#still').width"), 320, "the picture stays")
        self.assertEqual(tab.evaluate("document.querySelector('#still').getBoundingClientRect().width"), before * 1.25)
        self.assertEqual(tab.evaluate(WAY), "")
        # The session at the server has ended, too.
        tab.wait("fetch('state').then(a => a.json()).then(a => a.result.viewer_page.viewers === 0)", LIMIT)
        tab.press(" ")
        tab.wait(f"{WAY} === 'WebRTC'", LIMIT)
        tab.wait(f"{DECODED} > 10", LIMIT)
        self.assertEqual(tab.evaluate(width), before * 1.25)
        self.assertFalse(tab.complaints, tab.complaints)
        self.end(running)

    def test_glass_to_glass(self):
        running = self.serve(source=("pattern", "--pattern", "ball"))
        tab = self.open()
        tab.wait(f"{WAY} === 'WebRTC'", LIMIT)
        tab.wait("document.querySelector('#latency .label').textContent === 'Glass to glass'", LIMIT)
        tab.wait("parseFloat(document.querySelector('#latency .value').textContent) > 0", LIMIT)
        # The ball is where it was at the capture; when that was is said by the headers of a snapshot, by another way.
        for attempt in range(5):
            said, seen = tab.evaluate(LATENCIES)
            # There and back in four seconds.
            off = abs((said - seen + 2) % 4 - 2)
            if off < 0.1:
                break
        self.assertLess(off, 0.1, (said, seen))
        self.assertFalse(tab.complaints, tab.complaints)
        self.end(running)

    def test_packets_as_they_come(self):
        """Those who come between two key frames, which are nine seconds apart, see what is now, and not what was."""
        port = free_udp_port()
        sender = self.start(
            "--source", "pattern", "--pattern", "ball", "--preset", "320x240", "--fps", "30", "--codec", "h264",
            "--keyframe-interval", "9", "-o", f"udp://127.0.0.1:{port}")
        running = self.serve("--codec", "copy", source=None, options=("--input", f"udp://127.0.0.1:{port}"))
        for _ in range(3):
            tab = self.open()
            tab.wait(f"{WAY} === 'WebRTC'", LIMIT)
            tab.wait(f"{DECODED} > 30", LIMIT)
            # Next to nothing, or none where the clocks differ by more.
            tab.wait(f"{LATENCY}.includes('ms') && parseFloat({LATENCY}) < 500", LIMIT)
            self.assertFalse(tab.complaints, tab.complaints)
            tab.close()
        run = self.end(running)
        self.assertNotIn("encoded again", run.stderr)
        self.end(sender)

    def test_falls_back_where_udp_is_blocked(self):
        network.drop()
        running = self.serve()
        tab = self.open()
        tab.wait(f"{WAY} === 'MJPEG'", LIMIT)
        self.assertEqual(tab.evaluate("document.querySelectorAll('video').length"), 0)
        self.assertTrue(tab.evaluate("document.querySelector('img.picture.shown').naturalWidth") == 320)
        self.end(running)

    def test_falls_back_when_the_connection_is_lost(self):
        running = self.serve()
        tab = self.open()
        tab.wait(f"{DECODED} > 10", LIMIT)
        network.drop()
        tab.wait(f"{WAY} === 'MJPEG'", LIMIT)
        self.end(running)

    def test_viewers_beyond_the_limit_see_mjpeg(self):
        running = self.serve("--serve-webrtc", "1")
        first = self.open()
        first.wait(f"{DECODED} > 10", LIMIT)
        second = self.open()
        second.wait(f"{WAY} === 'MJPEG'", LIMIT)
        self.assertEqual(first.evaluate(WAY), "WebRTC")
        # A viewer that leaves makes room.
        first.go("about:blank")
        third = self.open()
        third.wait("document.querySelector('html.live') !== null", LIMIT)
        deadline = time.monotonic() + LIMIT
        while third.evaluate(WAY) != "WebRTC" and time.monotonic() < deadline:
            third.reload()
            third.wait("document.querySelector('html.live') !== null", LIMIT)
        self.assertEqual(third.evaluate(WAY), "WebRTC")
        self.end(running)

    def test_a_login_is_for_both_ways(self):
        running = self.serve("--serve-login", "user:secret")
        place = urllib.parse.urlsplit(self.url)
        tab = self.open(f"http://user:secret@{place.netloc}/")
        tab.wait(f"{DECODED} > 10", LIMIT)
        self.assertEqual(tab.evaluate("fetch(new URL('whep', location.href), {method: 'POST', credentials: 'omit', body: 'v=0',"
                                      "headers: {'Content-Type': 'application/sdp'}}).then(a => a.status)"), 401)
        self.end(running)
