"""The page of `--serve` in headless Chromium, under a strict content security policy: the picture moves, the panel
counts, and nothing is asked of anyone else."""

import itertools
import re
import signal
import time
import urllib.parse
import urllib.request

from support.devtools import DevTools
from support.proxy import Proxy
from support.tool import ToolTestCase

POLICY = ("default-src 'none'; img-src 'self' data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
          "connect-src 'self'")
DESKTOP, UPRIGHT, ON_ITS_SIDE = (1280, 800, 1, False), (390, 844, 3, True), (844, 390, 3, True)

LIVE = "document.querySelector('html.live') !== null"
# A small number for what the picture shows now.
PICTURE = """(() => {
  const image = document.querySelector('.picture.shown');
  if (!image || !image.naturalWidth) return 0;
  const canvas = document.createElement('canvas'), width = canvas.width = 64, height = canvas.height = 48;
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0, width, height);
  return context.getImageData(0, 0, width, height).data.reduce((hash, byte) => (hash * 31 + byte) % 2147483647, 7);
})()"""
# How many columns of a plot have something drawn above its base line.
COLUMNS = """(id => {
  const plot = document.querySelector(`#${id} canvas`), canvas = document.createElement('canvas');
  const width = canvas.width = plot.width, height = canvas.height = plot.height - 4;
  canvas.getContext('2d').drawImage(plot, 0, 0);
  const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;
  let columns = 0;
  for (let x = 0; x < width; x++)
    for (let y = 0; y < height; y++)
      if (data[4 * (y * width + x) + 3]) { columns++; break; }
  return columns;
})"""
# How far what is shown has jumped without the viewer's doing.
JUMPS = """new Promise(done => {
  new PerformanceObserver(list => done(list.getEntries().reduce((sum, shift) => sum + shift.value, 0)))
    .observe({ type: 'layout-shift', buffered: true });
  setTimeout(done, 300, 0);
})"""
# Makes the page's clock and its pauses run faster.
FASTER = """(() => {
  const now = performance.now.bind(performance), wait = window.setTimeout;
  performance.now = () => now() * SPEED;
  window.setTimeout = (work, time, ...rest) => wait(work, time / SPEED, ...rest);
})()"""


def state(**changes):
    """An answer of `state`, made up."""
    page = {"capture_fps": 30, "stream_fps": 29.5, "latency_ms": 12, "bitrate_bps": 4e6, "dropped": 0, "viewers": 1,
            "width": 320, "height": 240, "online": True, "reason": ""}
    return {"ok": True, "result": {"viewer_page": {**page, **changes}}}


class PageTestCase(ToolTestCase):
    """A tool that serves, and a browser."""

    @classmethod
    def setUpClass(cls):
        cls.browser = DevTools()
        cls.addClassCleanup(cls.browser.close)

    def serve(self, address="127.0.0.1:0", *options):
        """Starts the server, and waits until it says where it is."""
        running = self.start("--source", "noise", "--preset", "320x240", "--serve", address, *options)
        deadline = time.monotonic() + 60
        while True:
            found = re.search(r"Serving (http://\S+/)", running.peek())
            if found:
                self.url = found[1]
                return running
            if running.process.poll() is not None or time.monotonic() > deadline:
                self.fail(f"it does not say where it serves:\n{running.finish(0)}")
            time.sleep(0.02)

    def open(self, size=DESKTOP, scheme="dark", script=None, **answers):
        """Opens the page, and waits for the picture."""
        tab = self.browser.open(policy=POLICY, downloads=self.folder)
        self.addCleanup(tab.close)
        tab.answers = answers
        tab.viewport(*size)
        tab.prefer(color_scheme=scheme)
        if script:
            tab.send("Page.addScriptToEvaluateOnNewDocument", source=script)
        tab.go(self.url)
        tab.wait("document.querySelector('html.live, html.away') !== null")
        return tab

    def assertContent(self, tab):
        """Nothing to complain of, and nothing asked of anyone else."""
        self.assertEqual(tab.complaints, [])
        for url in tab.requests:
            self.assertTrue(url.startswith(self.url) or urllib.parse.urlsplit(url).scheme in {"data", "blob"}, url)


class PageTests(PageTestCase):
    def test_the_picture_moves_and_the_panel_counts(self):
        self.serve()
        tab = self.open()
        tab.press("p")
        self.assertEqual(tab.evaluate("document.querySelector('.picture.shown').naturalWidth"), 320)
        first = tab.wait(PICTURE)
        tab.wait(f"{PICTURE} !== {first}")
        shot = tab.screenshot()
        tab.wait("parseFloat(document.querySelector('#fps .value').textContent) > 0")
        for name in ("latency", "bitrate", "drops"):
            tab.wait(f"parseFloat(document.querySelector('#{name} .value').textContent) >= 0")
        self.assertNotEqual(tab.screenshot(), shot)
        columns = tab.wait(f"{COLUMNS}('fps')")
        tab.wait(f"{COLUMNS}('fps') > {columns}")
        tab.wait(f"{COLUMNS}('bitrate') > 2")
        self.assertLess(tab.evaluate(JUMPS), 0.002)
        self.assertRegex(tab.evaluate("document.title"), r"Live · 320×240 · 127\.0\.0\.1:\d+")
        self.assertContent(tab)

    def test_the_buttons_and_the_keys(self):
        self.serve()
        tab = self.open()
        expanded = "document.querySelector('#panel-button').getAttribute('aria-expanded') === '{}'"
        tab.wait(expanded.format("false"))
        tab.wait("getComputedStyle(document.querySelector('#panel')).visibility === 'hidden'")
        tab.press("p")
        tab.wait(expanded.format("true"))
        tab.reload()
        tab.wait(LIVE)
        tab.wait(expanded.format("true"))  # remembered
        tab.press("p")
        tab.wait(expanded.format("false"))
        tab.click("#panel-button")
        tab.wait(expanded.format("true"))
        tab.press("?")
        tab.wait("document.querySelector('#help').open")
        # It begins at its beginning, also where it does not fit.
        self.assertEqual(tab.evaluate("document.activeElement.id"), "help-title")
        self.assertEqual(tab.evaluate("document.querySelector('#help').scrollTop"), 0)
        tab.press("p")  # not while the help is open
        tab.press("Escape")
        tab.wait("!document.querySelector('#help').open")
        tab.wait(expanded.format("true"))
        # When nothing has moved for a while, the corners of the picture are free, but for an open panel.
        opacity = "getComputedStyle(document.querySelector('#tools')).opacity"
        tab.send("Input.dispatchMouseEvent", type="mouseMoved", x=20, y=300)
        tab.evaluate("document.activeElement.blur(); document.documentElement.classList.add('rested')")
        self.assertEqual(tab.evaluate(opacity), "1")
        tab.press("p")
        tab.wait(expanded.format("false"))
        tab.evaluate("document.documentElement.classList.add('rested')")
        tab.wait(f"{opacity} === '0'")
        tab.press("p")
        tab.wait(f"{expanded.format('true')} && {opacity} === '1'")
        tab.press("f")
        tab.wait("document.fullscreenElement !== null")
        tab.press("f")
        tab.wait("document.fullscreenElement === null")
        tab.evaluate("document.activeElement.blur()")
        tab.press("Tab")
        focused = tab.evaluate("""(element => [element.tagName, getComputedStyle(element).outlineStyle,
            parseFloat(getComputedStyle(element).outlineWidth)])(document.activeElement)""")
        self.assertEqual(focused[:2], ["BUTTON", "solid"])
        self.assertGreaterEqual(focused[2], 2)
        nameless = tab.evaluate("""[...document.querySelectorAll('button, a, img, [role=img]')]
            .filter(e => !(e.getAttribute('aria-label') || e.alt || e.textContent.trim())).length""")
        self.assertEqual(nameless, 0)
        self.assertContent(tab)

    def test_a_snapshot_is_saved(self):
        self.serve()
        tab = self.open()
        for take in (lambda: tab.click("#snapshot-button"), lambda: tab.press("s")):
            take()
            deadline = time.monotonic() + 60
            while not (found := list(self.folder.glob("snapshot-*.jpg"))):
                self.assertLess(time.monotonic(), deadline, "no file came")
                time.sleep(0.05)
            self.assertRegex(found[0].name, r"^snapshot-\d{8}-\d{6}\.jpg$")
            data = found[0].read_bytes()
            self.assertEqual((data[:2], data[-2:]), (b"\xff\xd8", b"\xff\xd9"))
            tab.wait("document.querySelector('#toast').textContent.startsWith('Saved snapshot-')")
            found[0].unlink()
            time.sleep(1.1)  # the next has another second in its name
        self.assertContent(tab)

    def test_light_and_dark(self):
        self.serve()
        tab = self.open(scheme="dark")
        surface = """(() => { const [r, g, b] = getComputedStyle(document.body.parentElement).backgroundColor
            .match(/\\d+/g).map(Number); return (r + g + b) / 3; })()"""
        self.assertLess(tab.evaluate(surface), 50)
        tab.prefer(color_scheme="light")
        tab.wait(f"{surface} > 200")
        tab.press("t")
        tab.wait(f"{surface} < 50")
        tab.reload()
        tab.wait(LIVE)
        self.assertLess(tab.evaluate(surface), 50, "the choice is remembered")
        tab.click("#theme-button")
        tab.wait(f"{surface} > 200")
        tab.prefer(color_scheme="dark")  # back at the system's, the page follows it again
        tab.wait(f"{surface} < 50")
        self.assertContent(tab)

    def test_a_telephone(self):
        self.serve()
        for size in (UPRIGHT, ON_ITS_SIDE):
            tab = self.open(size)
            self.assertEqual(tab.evaluate("document.querySelector('#panel-button').getAttribute('aria-expanded')"), "false")
            tab.tap("#panel-button")
            tab.wait("getComputedStyle(document.querySelector('#panel')).opacity === '1'")
            self.assertEqual(
                tab.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight, innerWidth]"),
                [size[0], size[1], size[0]])
            self.assertTrue(tab.evaluate("(p => p.scrollWidth <= p.clientWidth)(document.querySelector('#panel'))"), size)
            boxes = tab.evaluate("""[...document.querySelectorAll('#tools button:not([hidden]), #panel, #status')].map(e => {
                const b = e.getBoundingClientRect();
                return [e.id, e.tagName, b.left, b.top, b.right, b.bottom]; })""")
            for name, tag, left, top, right, bottom in boxes:
                self.assertTrue(0 <= left < right <= size[0] and 0 <= top < bottom <= size[1], (size, name))
                if tag == "BUTTON" and right > left:
                    self.assertGreaterEqual(min(right - left, bottom - top), 44, (size, name))
            sharp = tab.evaluate("(c => c.width / c.clientWidth)(document.querySelector('#fps canvas'))")
            self.assertAlmostEqual(sharp, size[2], delta=0.05)
            # A tap on the picture bares it.
            tab.tap("#status")
            tab.wait("getComputedStyle(document.querySelector('#tools')).visibility === 'hidden'")
            tab.tap("#status")
            tab.wait("getComputedStyle(document.querySelector('#tools')).visibility === 'visible'")
            self.assertContent(tab)

    def test_the_picture_comes_back_with_the_server(self):
        first = self.serve()
        tab = self.open()
        address = urllib.parse.urlsplit(self.url).netloc
        first.send(signal.SIGKILL)
        first.finish()
        tab.wait("document.querySelector('#notice').innerText.includes('Connection lost, trying again')")
        self.assertIn("Connection lost", tab.evaluate("document.title"))
        tab.complaints.clear()
        self.serve(address)
        tab.wait(LIVE)
        tab.wait("document.querySelector('#notice').hidden")
        picture = tab.wait(PICTURE)
        tab.wait(f"{PICTURE} !== {picture}")
        # The attempts that failed are the browser's to report; nothing else is.
        self.assertEqual([text for text in tab.complaints if "ERR_" not in text], [])
        self.assertEqual(tab.evaluate("document.querySelectorAll('.picture').length"), 1)

    def test_one_document_without_handlers_and_outside_addresses(self):
        self.serve()
        with urllib.request.urlopen(self.url, timeout=60) as answer:
            page = answer.read().decode()
        self.assertEqual(set(re.findall(r"https?://[^\s'\"<)]+", page)), {"http://www.w3.org/2000/svg"})
        self.assertEqual(re.findall(r"<[^>]*\s(?:on\w+|style)\s*=", page.partition("<script>")[0]), [])
        self.assertEqual(re.findall(r"@import|url\(|<link (?!rel=\"icon\")|\beval\(|innerHTML", page), [])
        self.assertLess(len(page), 64 << 10)

    def test_under_the_path_of_a_proxy(self):
        self.serve()
        proxy = Proxy(urllib.parse.urlsplit(self.url).netloc)
        self.addCleanup(proxy.close)
        self.url = proxy.url
        tab = self.open()
        picture = tab.wait(PICTURE)
        tab.wait(f"{PICTURE} !== {picture}")
        self.assertContent(tab)

    def test_a_name_and_password_in_the_address(self):
        self.serve()
        plain, self.url = self.url, self.url.replace("//", "//name:word@")
        tab = self.open()
        tab.wait("parseFloat(document.querySelector('#fps .value').textContent) > 0")
        self.url = plain
        tab.requests = [url for url in tab.requests if "@" not in url]
        self.assertContent(tab)

    def test_the_reason_is_shown_while_the_source_is_away(self):
        self.serve()
        reason = "The camera was unplugged. <img src=x onerror=alert(1)>"
        tab = self.open(state=state(online=False, reason=reason, latency_ms=None))
        self.assertEqual(tab.evaluate("document.querySelector('#detail').textContent"), reason)
        self.assertIn("No picture", tab.evaluate("document.title"))
        self.assertEqual(tab.evaluate("document.querySelector('#latency .value').textContent"), "\u2013")
        tab.answers = {}
        tab.wait(LIVE)
        self.assertTrue(tab.evaluate("document.querySelector('#notice').hidden"))
        self.assertContent(tab)


class PageCareTests(PageTestCase):
    """What takes a minute of the page, or an hour."""

    WAITS = True
    LATER = True

    def test_a_plot_shows_the_lowest_and_highest_of_the_minute(self):
        self.serve()
        rates = itertools.chain([10, 20.5, 40], itertools.repeat(30))
        drops = itertools.chain([1000, 1002, 1005], itertools.repeat(1005))
        tab = self.open(state=lambda: state(stream_fps=next(rates), dropped=next(drops)))
        tab.press("p")
        tab.wait("document.querySelector('#fps .value').textContent === '30.0fps'")
        self.assertEqual(tab.evaluate("document.querySelector('#drops .value').textContent"), "5/ min")
        range_of = "document.querySelector('#fps .range').innerText"
        self.assertEqual(tab.evaluate(f"getComputedStyle(document.querySelector('#fps .range')).visibility"), "hidden")
        tab.point("#fps canvas")
        tab.wait("getComputedStyle(document.querySelector('#fps .range')).visibility === 'visible'")
        self.assertEqual(tab.evaluate(range_of), "min 10.0 · max 40.0")
        # By keyboard, and for those who listen.
        tab.evaluate("document.querySelector('#fps').focus()")
        tab.press("ArrowLeft")
        tab.wait("/^\\d+ s ago$/.test(document.querySelector('#moment').textContent)")
        self.assertRegex(
            tab.evaluate("document.querySelector('#fps').getAttribute('aria-label')"),
            r"Frame rate: .* in the last minute lowest 10\.0 fps, highest 40\.0 fps")
        self.assertContent(tab)

    def test_a_stream_that_ends_without_a_word_is_opened_again(self):
        self.serve()
        tab = self.open(state=state())
        streams = lambda: sum("/stream?" in url for url in tab.requests)
        self.assertEqual(streams(), 1)
        tab.answers = {"state": {"ok": True, "result": {**state()["result"], "stream": {"clients_stat": {}}}}}
        deadline = time.monotonic() + 60
        while streams() < 2:
            self.assertLess(time.monotonic(), deadline, "the server no longer lists this viewer")
            time.sleep(0.05)
        tab.answers = {}
        tab.wait(LIVE)
        self.assertContent(tab)

    def test_a_hidden_tab_rests(self):
        self.serve()
        hidden = "Object.defineProperty(document, 'hidden', { get: () => Boolean(window.isHidden) });"
        tab = self.open(script=hidden + FASTER.replace("SPEED", "20"))
        count = lambda name: sum(f"/{name}?" in url for url in tab.requests)
        hide = "window.isHidden = {}; document.dispatchEvent(new Event('visibilitychange'))"
        tab.evaluate(hide.format("true"))
        tab.wait("document.querySelector('.picture') === null")  # after half a minute the stream is let go
        self.assertGreater(tab.evaluate("document.querySelector('#still').width"), 100, "the last picture stays")
        asked = count("state"), count("stream")
        time.sleep(1)
        self.assertEqual((count("state"), count("stream")), asked)
        tab.evaluate(hide.format("false"))
        tab.wait(LIVE)
        deadline = time.monotonic() + 60
        while count("state") < asked[0] + 3:
            self.assertLess(time.monotonic(), deadline, "it asks again")
            time.sleep(0.05)
        self.assertContent(tab)

    def test_nothing_grows_while_the_page_stays_open(self):
        self.serve()
        numbers = itertools.count()

        def answer():
            """An hour with a restart of the server every minute."""
            number = next(numbers)
            made = state(stream_fps=number % 31, dropped=number // 3, latency_ms=number % 17)
            made["result"]["instance_id"] = str(number // 60)
            return made

        tab = self.open(script=FASTER.replace("SPEED", "40"), state=answer)
        tab.send("Performance.enable")

        def measure(polls):
            end = next(numbers) + polls
            deadline = time.monotonic() + 90
            while next(numbers) < end:
                self.assertLess(time.monotonic(), deadline, "the page no longer asks")
                time.sleep(0.1)
            tab.send("HeapProfiler.collectGarbage")
            return {metric["name"]: metric["value"] for metric in tab.send("Performance.getMetrics")["metrics"]}

        before, after = measure(200), measure(400)
        self.assertLess(after["JSHeapUsedSize"] - before["JSHeapUsedSize"], 100_000)
        self.assertLess(after["Nodes"] - before["Nodes"], 20)
        self.assertLess(after["JSEventListeners"] - before["JSEventListeners"], 10)
        self.assertEqual(tab.evaluate("document.querySelectorAll('.picture.shown').length"), 1)
        self.assertContent(tab)
