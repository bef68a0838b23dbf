"""Sound beside pictures: what ffprobe, mkvinfo and Chromium say of the tool's files."""

import http.server
import json
import re
import struct
import threading

from support.devtools import DevTools
from support.icecast import QuirkServer, make_mp3
from support.media import command, probe
from support.tool import NO_INPUT, USAGE, ToolTestCase, environment

PAGE = b"""<!DOCTYPE html><title>sound</title><script>
const wait = (target, name) => new Promise(resolve => target.addEventListener(name, resolve, { once: true }));
async function bySource() {
    const video = document.createElement("video");
    video.src = "/media"; video.playbackRate = 4; document.body.append(video);
    const end = Promise.race([wait(video, "ended"), wait(video, "error")]);
    await video.play(); await end;
    return { error: video.error && video.error.message, ended: video.ended, duration: video.duration,
        sound: video.webkitAudioDecodedByteCount, pictures: video.getVideoPlaybackQuality().totalVideoFrames };
}
async function byMediaSource() {
    const data = new Uint8Array(await (await fetch("/media")).arrayBuffer());
    const video = document.createElement("video"), source = new MediaSource();
    video.src = URL.createObjectURL(source);
    await wait(source, "sourceopen");
    const buffer = source.addSourceBuffer('video/webm; codecs="vp8,opus"');
    for (let at = 0; at < data.length; at += 3000) {
        const done = Promise.race([wait(buffer, "updateend"), wait(buffer, "error")]);
        buffer.appendBuffer(data.subarray(at, at + 3000));
        await done;
        if (video.error) return { error: video.error.message, ranges: [] };
    }
    const ranges = [];
    for (let i = 0; i < buffer.buffered.length; i++) ranges.push([buffer.buffered.start(i), buffer.buffered.end(i)]);
    return { error: null, ranges };
}
</script>"""


def serve(test, file):
    """A server of the page and a file, and its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            body, kind = (file.read_bytes(), "video/webm") if self.path == "/media" else (PAGE, "text/html")
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the player has seen enough

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    test.addCleanup(server.server_close)
    test.addCleanup(server.shutdown)
    return f"http://127.0.0.1:{server.server_port}/"


class SoundTestCase(ToolTestCase):
    def record(self, name, *options, audio="tone", seconds=3):
        file = self.folder / name
        run = self.succeed(
            "--source", "noise", "--size", "160x120", "--fps", 15, "--audio", audio, "--duration", seconds, *options, "-o",
            file)
        return file, run

    def assertChromiumPlays(self, file, seconds):
        """By `src` and by Media Source Extensions, where a viewer stalls at each hole and where the first track ends."""
        browser = DevTools()
        self.addCleanup(browser.close)
        tab = browser.open()
        tab.go(serve(self, file))
        tab.wait("typeof bySource === 'function' && document.body !== null || document.readyState === 'complete'")
        # With sound only after somebody has touched the page.
        played = tab.send(
            "Runtime.evaluate", expression="bySource()", returnByValue=True, awaitPromise=True,
            userGesture=True)["result"]["value"]
        self.assertEqual((played["error"], played["ended"]), (None, True), played)
        self.assertAlmostEqual(played["duration"], seconds, delta=0.1)
        self.assertGreater(played["sound"], 1000)
        appended = tab.evaluate("byMediaSource()")
        self.assertIsNone(appended["error"], appended)
        # One range, without a hole, as long as the film.
        self.assertEqual(len(appended["ranges"]), 1, appended)
        self.assertAlmostEqual(appended["ranges"][0][0], 0, delta=0.05)
        self.assertAlmostEqual(appended["ranges"][0][1], seconds, delta=0.1)


class SoundTests(SoundTestCase):
    def test_a_file_has_both(self):
        file, run = self.record("a.webm", "--keyframe-interval", 1)
        self.assertIn("with sound of tone", run.stderr)
        self.assertRegex(run.stderr, r"snd -\d+ dB")
        found = json.loads(command("ffprobe", "-v", "error", "-show_streams", "-show_packets", "-of", "json", file).stdout)
        self.assertEqual([stream["codec_name"] for stream in found["streams"]], ["vp8", "opus"])
        last = -1.0
        for packet in found["packets"]:  # in the order of the file
            time = float(packet["pts_time"]) + (0.0065 if packet["stream_index"] == 1 else 0)
            self.assertGreaterEqual(time, last - 0.0006)
            last = time
        sound = sum(1 for packet in found["packets"] if packet["stream_index"] == 1)
        self.assertAlmostEqual(sound, 150, delta=8)
        information = command("mkvinfo", "--all", file).stdout.decode()
        self.assertIn("Codec-inherent delay: 00:00:00.006500000", information)
        self.assertIn("Seek pre-roll: 00:00:00.080000000", information)

    def test_chromium_plays_it(self):
        file, _ = self.record("a.webm", "--keyframe-interval", 1)
        self.assertChromiumPlays(file, 3)

    def test_other_containers(self):
        outputs = {"a.mkv": "opus", "a.mp4": "aac", "a.mov": "aac", "a.ts": "aac", "a.m3u8": "aac"}
        others = [word for name in list(outputs)[1:] for word in ("-o", self.folder / name)]
        _, run = self.record("a.mkv", "--codec", "h264", *others, "-o", self.folder / "a.y4m", seconds=2)
        self.assertRegex(run.stderr, r"warning: \S*a.y4m has no sound: y4m holds pictures only")
        for name, codec in outputs.items():
            found = probe(self.folder / name)
            self.assertEqual(found["errors"], "", name)
            self.assertEqual({stream["codec_name"] for stream in found["streams"]}, {"h264", codec}, name)
        file, _ = self.record("b.mp4", "--audio-codec", "opus", seconds=1)
        self.assertEqual({stream["codec_name"] for stream in probe(file)["streams"]}, {"h264", "opus"})

    def test_sound_alone(self):
        wav = self.folder / "voice.wav"
        run = self.succeed("--audio", "tone", "--duration", 2, "-o", wav)
        self.assertIn("Recording tone", run.stderr)
        data = wav.read_bytes()
        self.assertEqual((data[:4], data[8:12]), (b"RIFF", b"WAVE"))
        self.assertEqual(struct.unpack("<I", data[4:8])[0], len(data) - 8)
        self.assertAlmostEqual(float(probe(wav)["format"]["duration"]), 2, delta=0.001)
        many = self.folder / "many.wav"
        self.succeed("--audio", "tone", "--tone-channels", 8, "--duration", 1, "-o", many)
        self.assertEqual(probe(many)["stream"]["channels"], 8)
        weba = self.folder / "voice.weba"
        self.succeed("--audio", "tone", "--duration", 2, "-o", weba)
        found = probe(weba)
        self.assertEqual((found["stream"]["codec_name"], found["errors"]), ("opus", ""))
        self.assertAlmostEqual(float(found["format"]["duration"]), 2, delta=0.001)
        m4a = self.folder / "voice.m4a"
        self.succeed("--audio", "tone", "--duration", 2, "-o", m4a)
        found = probe(m4a)
        self.assertEqual((found["stream"]["codec_name"], found["errors"]), ("aac", ""))
        self.assertAlmostEqual(float(found["format"]["duration"]), 2, delta=0.001)

    def test_statistics(self):
        _, run = self.record("a.webm", "--stats", "json", seconds=2)
        lines = [json.loads(line) for line in run.stderr.splitlines()]
        summary = lines[-1]
        self.assertEqual(summary["audio"]["source"], "tone")
        self.assertEqual((summary["audio"]["lost"], summary["audio"]["encoders"][0]["name"]), (0, "opus"))
        self.assertLess(summary["audio"]["secondsOfSilence"], 0.05)

    def test_errors(self):
        for options, words in (
            (("--audio", "tnoe", "-o", "a.webm"), "Did you mean tone"),
            (("--audio", "tone", "-o", "a.ivf"), "no output takes sound (ivf holds pictures only)"),
            (("--audio", "tone", "--audio-codec", "opus", "-o", "a.mov"), "these take aac"),
            (("--audio", "tone", "--opus-complexity", "3", "-o", "a.mp4"), "no output encodes sound so"),
            (("--input", "http://127.0.0.1/a.mp3", "-o", "a.weba"), "as --audio http://127.0.0.1/a.mp3"),
            (("--audio", "tone", "-o", "a.mp3"), "sound alone is written as .m4a (AAC), .weba (Opus) or .wav"),
            (("-o", "a.wav"), "--audio"),
            (("--audio-bitrate", "64k", "-o", "a.webm"), "--audio"),
            (("--audio", "tone", "--audio-bitrate", "64k", "-o", "a.wav"), "no output encodes sound"),
            (("--audio", "tone", "--opus-complexity", "3", "-o", "a.wav"), "no output encodes sound"),
            (("--audio", "tone", "--tone-channels", "8", "-o", "a.weba"), "Opus has one or two channels"),
            (("--audio", "tone", "--tone-sound", "beep", "--tone-frequency", "500", "-o", "a.wav"), "only a sine"),
            (("--audio", "tone", "--frames", "5", "-o", "a.wav"), "--duration"),
            (("--input", "clip.mp4", "--tone-level", "5", "-o", "a.webm"), "--audio tone"),
            (("--audio", "tone", "--fps", "max", "-o", "a.webm", "--source", "noise"), "real time"),
        ):
            run = self.run_tool(*options, "--duration", 1)
            self.assertEqual(run.code, USAGE, str(run))
            self.assertIn(words, run.stderr)
            self.assertFalse(list(self.folder.glob("a.*")), str(run))

    def test_a_microphone_that_is_not_there(self):
        run = self.run_tool("--audio", "mic:NoSuchCard", "--source", "noise", "-o", "a.webm", "--duration", 1)
        self.assertNotEqual(run.code, 0)
        self.assertIn("no such microphone", run.stderr)
        self.assertFalse((self.folder / "a.webm").exists())

    def test_a_machine_without_sound(self):
        bare = environment(ALSA_CONFIG_PATH="/dev/null")
        self.assertRefused(self.run_tool("--audio", "mic", "-o", "a.wav", env=bare), NO_INPUT, "neither a sound card")

    def test_sound_alone_of_a_film_shows_no_progress_of_pictures(self):
        film = self.folder / "film.mp4"
        made = command(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=duration=2:size=64x48:rate=25", "-f", "lavfi", "-i",
            "sine=duration=2", "-c:v", "libx264", "-c:a", "aac", film)
        self.assertEqual(made.returncode, 0, made.stderr)
        run = self.succeed("--input", film, "-o", self.folder / "a.wav", "--stats", "json")
        for line in run.stderr.splitlines():
            self.assertIsNone(json.loads(line)["progress"], str(run))

    def test_list_and_doctor(self):
        listed = json.loads(self.succeed("list", "--json").stdout)
        self.assertIn("microphones", listed)
        self.assertLessEqual({"tone", "mic"}, {source["name"] for source in listed["audioSources"]})
        self.assertEqual({encoder["name"] for encoder in listed["audioEncoders"]}, {"opus", "aac", "pcm"})
        doctor = self.run_tool("doctor").stdout.decode()
        self.assertTrue(re.search(r"ok\s+libopus", doctor), doctor)
        self.assertIn("microphone", doctor)


class UnevenSoundTests(SoundTestCase):
    """Radios whose sound is late, has a hole or ends early: silence is in its place, so that browsers do not stall there.
    Frames that come late would be holes, too."""

    LATER = True

    def silences(self, file):
        """Where nothing is heard for a fifth of a second or longer, as (from, to) in seconds, and the length of all."""
        heard = command(
            "ffmpeg", "-v", "error", "-i", file, "-vn", "-f", "s16le", "-ac", "1", "-ar", "8000", "-").stdout
        samples = struct.unpack(f"<{len(heard) // 2}h", heard)
        windows = [max(map(abs, samples[at:at + 160])) < 100 for at in range(0, len(samples), 160)]
        found = []
        for at, is_silent in enumerate([*windows, False]):
            if is_silent and (at == 0 or not windows[at - 1]):
                begin = at
            elif not is_silent and at and windows[at - 1] and at - begin >= 10:
                found.append((begin / 50, at / 50))
        return found, len(samples) / 8000

    def test_silence_is_in_its_place(self):
        server = QuirkServer(make_mp3(self.folder / "a.mp3", seconds=20).read_bytes())
        self.addCleanup(server.end)
        for fault in ("late", "hole", "early"):
            with self.subTest(fault):
                file, run = self.record(f"{fault}.webm", "--keyframe-interval", 1, audio=server.url(fault), seconds=8)
                silences, seconds = self.silences(file)
                self.assertAlmostEqual(seconds, 8, delta=0.1)
                if fault != "late":
                    self.assertTrue(any(end - begin > 2 and begin > 2.9 for begin, end in silences), f"{silences}\n{run}")
                self.assertChromiumPlays(file, 8)
