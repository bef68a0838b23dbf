"""Radios: a real Icecast, servers with quirks, files; heard in a WAV file."""

import json
import signal
import subprocess
import time

from support.icecast import Icecast, QuirkServer, make_mp3
from support.tool import NO_INPUT, OK, USAGE, ToolTestCase, environment


class RadioTestCase(ToolTestCase):
    WAITS = True

    def play(self, url, *options, sound="heard.wav", seconds="4"):
        return self.run_tool("play", url, "--sound", f"wav:{sound}", "--duration", seconds, *options)

    def heard(self, name="heard.wav"):
        """Seconds and loudness of a WAV file."""
        file = self.folder / name
        told = subprocess.run(
            ["ffmpeg", "-i", str(file), "-af", "volumedetect", "-f", "null", "-"], stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, check=True).stderr
        peak = float(told.split("max_volume: ")[1].split(" ")[0])
        return (file.stat().st_size - 44) / 4 / 44100, peak

    def assertHeard(self, run, least, name="heard.wav"):
        self.assertEqual(run.code, OK, str(run))
        seconds, peak = self.heard(name)
        self.assertGreater(seconds, least, str(run))
        self.assertTrue(-30 < peak < -3, f"peak of {peak} dB")


class QuirkTests(RadioTestCase):
    LATER = True

    def setUp(self):
        super().setUp()
        make_mp3(self.folder / "a.mp3")
        self.server = QuirkServer((self.folder / "a.mp3").read_bytes())
        self.addCleanup(self.server.end)

    def test_heads_redirects_and_playlists(self):
        for path in ["icy", "lf", "blank", "redirect", "list.pls", "short"]:
            with self.subTest(path):
                self.assertHeard(self.play(self.server.url(path), "--force"), 1)

    def test_titles_in_latin_1(self):
        run = self.play(self.server.url("titles"))
        self.assertHeard(run, 1)
        self.assertIn("It's Mötley; a test", run.stderr)
        self.assertIn("Station: Fake", run.stderr)

    def test_refusals(self):
        for path, words in [("aac", "AAC"), ("page", "web page"), ("gone", "no such stream"), ("hls.m3u8", "HLS"),
                            ("ring", "redirects without end")]:
            with self.subTest(path):
                self.assertRefused(self.play(self.server.url(path), "--force"), NO_INPUT, words)
                # The same refusal has the same exit code in a capture.
                self.assertRefused(self.run_tool("--audio", self.server.url(path), "-o", "a.wav"), NO_INPUT, words)
        url = "http://127.0.0.1:1/x.mp3"
        for words in [("play", url, "--sound", "null"), ("--audio", url, "-o", "a.wav"),
                      ("--source", "mjpeg", "--input", url, "-o", "null")]:
            with self.subTest(words):
                self.assertRefused(self.run_tool(*words), NO_INPUT, "cannot be reached")

    def test_a_wrong_path_of_what_may_be_a_radio_or_a_camera(self):
        run = self.run_tool("play", self.server.url("gone"))
        self.assertRefused(run, NO_INPUT, self.server.url("gone"), "404", "check its path")
        self.assertNotIn("MJPEG", run.stderr)

    def test_a_file_of_sound(self):
        self.assertRefused(self.run_tool("play", "a.mp3"), NO_INPUT, "a.mp3", "no video", "a player of sound")

    def test_options(self):
        (self.folder / "there.wav").write_text("mine")
        self.assertRefused(self.play(self.server.url("icy"), sound="there.wav"), USAGE, "exists", "--force")
        self.assertEqual((self.folder / "there.wav").read_text(), "mine")
        self.assertRefused(self.play(self.server.url("icy"), "--fps", "5"), USAGE, "--fps")
        self.assertRefused(self.run_tool("play", "a.y4m", "--sound", "null"), USAGE, "--sound")
        self.assertRefused(self.play(self.server.url("icy"), "--stats", "xml"), USAGE, "--stats", "json")
        self.assertRefused(self.play(self.server.url("icy"), sound="-"), USAGE, "-o wav:-")
        self.assertRefused(self.play(self.server.url("icy"), sound="no/folder.wav"), NO_INPUT, "folder")
        bare = environment(ALSA_CONFIG_PATH="/dev/null")
        self.assertRefused(self.run_tool("play", self.server.url("a.mp3"), env=bare), NO_INPUT, "neither a sound card")

    def test_an_empty_title_is_not_told(self):
        run = self.run_tool("--audio", self.server.url("untitled"), "--duration", "2", "-o", "a.wav")
        self.assertEqual(run.code, OK, str(run))
        self.assertNotIn("Title", run.stderr)

    def test_an_interrupt_while_a_server_is_asked_what_it_has(self):
        running = self.start("play", self.server.url("silent"))
        deadline = time.monotonic() + 60
        while "silent" not in self.server.paths and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send(signal.SIGINT)
        run = running.finish()
        # Nothing else was tried after it.
        self.assertEqual((run.code, run.stderr), (OK, ""))
        self.assertEqual(self.server.paths, ["silent"])

    def test_a_capture_has_its_sound(self):
        run = self.run_tool(
            "--source", "noise", "--preset", "160x120", "--audio", self.server.url("icy"), "--duration", "3", "-o", "av.webm")
        self.assertEqual(run.code, OK, str(run))
        told = json.loads(subprocess.run(
            ["ffprobe", "-v", "error", "-show_streams", "-of", "json", str(self.folder / "av.webm")],
            stdout=subprocess.PIPE, check=True).stdout)
        self.assertEqual({stream["codec_name"] for stream in told["streams"]}, {"vp8", "opus"})


class FileTests(RadioTestCase):
    def test_a_file_is_played_to_its_end(self):
        make_mp3(self.folder / "a.mp3", seconds=3, information=True)
        server = subprocess.Popen(
            ["python3", "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"], cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.kill)
        port = server.stdout.readline().split(" port ")[1].split(" ")[0]
        run = self.play(f"http://127.0.0.1:{port}/a.mp3", seconds="20")
        self.assertHeard(run, 2.9)
        told = self.play(f"http://127.0.0.1:{port}/a.mp3", "--stats", "json", sound="again.wav", seconds="1")
        lines = [json.loads(line) for line in told.stderr.splitlines()]
        self.assertEqual((lines[0]["event"], lines[-1]["event"]), ("start", "summary"))
        self.assertEqual({line["version"] for line in lines}, {2})
        self.assertAlmostEqual(lines[-1]["progress"]["durationSeconds"], 3, delta=0.1)
        # To the sample, without what the encoder has added.
        self.assertAlmostEqual(self.heard()[0], 3, delta=0.002)


class IcecastTests(RadioTestCase):
    LATER = True

    def setUp(self):
        super().setUp()
        self.radio = Icecast(self.folder)
        self.addCleanup(self.radio.end)
        make_mp3(self.folder / "a.mp3")
        make_mp3(self.folder / "b.mp3", rate=48000, channels=1, bitrate="64k", frequency=880)

    def begin(self, mount="live.mp3"):
        running = self.start("play", self.radio.url(mount), "--sound", "wav:heard.wav", "--stats", "json")
        running.wait_for_file(self.folder / "heard.wav", size=100000)
        return running

    def reports(self, running):
        """All status lines: one each second by the player's clock, and one for each change of its state."""
        lines = [json.loads(line) for line in running.peek().splitlines() if line.startswith("{") and line.endswith("}")]
        return [line for line in lines if line["event"] == "status"]

    def played(self, status):
        return status["progress"]["positionSeconds"] if status else 0

    def status(self, running):
        return (self.reports(running) or [{}])[-1]

    def assertHeardSoon(self, running, back):
        """The server is back since a number of reports: the sound goes on within five seconds."""
        reports = lambda: self.reports(running)[back - 1:]
        self.await_status(running, lambda status: self.played(status) > self.played(reports()[0]) + 3)
        told = reports()
        silent = [report for report in told if self.played(report) <= self.played(told[0])]
        seconds = len([report for before, report in zip(silent, silent[1:]) if report["state"] == before["state"]])
        self.assertLessEqual(seconds, 5, silent)

    def await_status(self, running, condition, limit=60):
        deadline = time.monotonic() + limit
        while not condition(status := self.status(running)):
            if running.process.poll() is not None or time.monotonic() > deadline:
                self.fail(f"last status {status}\n{running.finish(0)}")
            time.sleep(0.1)
        return status

    def end(self, running):
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        return run

    def test_titles_fallback_and_a_source_that_comes_back(self):
        source = self.radio.source("live.mp3", self.folder / "a.mp3")
        self.radio.source("backup.mp3", self.folder / "b.mp3")
        running = self.begin()
        self.radio.title("live.mp3", "Grüße – eins")
        self.await_status(running, lambda status: "Gr" in (status.get("title") or ""))
        source.kill()
        # The backup has another rate, and the connection stays.
        before = self.played(self.status(running))
        status = self.await_status(running, lambda status: self.played(status) > before + 8)
        self.assertEqual((status["connections"], status["underruns"]), (1, 0))
        self.radio.source("live.mp3", self.folder / "a.mp3")
        self.await_status(running, lambda status: self.played(status) > before + 12)
        self.end(running)

    def test_the_burst(self):
        """Icecast gives a new listener four seconds at once, which are to be held from the first second on."""
        self.radio.source("single.mp3", self.folder / "a.mp3")
        self.radio.wait(
            lambda: int(self.radio.mounts()["single.mp3"].get("total_bytes_read", 0)) > 80000, "the source sends nothing")
        running = self.begin("single.mp3")
        self.await_status(running, lambda status: self.played(status) > 0 and status["levelMilliseconds"] > 3000, limit=10)
        self.end(running)

    def test_a_source_that_is_gone_for_a_while(self):
        source = self.radio.source("single.mp3", self.folder / "a.mp3")
        running = self.begin("single.mp3")
        source.kill()
        time.sleep(8)
        self.radio.source("single.mp3", self.folder / "a.mp3")
        self.assertHeardSoon(running, len(self.reports(running)))
        status = self.status(running)
        self.assertGreater(status["connections"], 1)
        self.assertGreater(status["attempts"], 2)
        self.end(running)

    def test_a_source_that_stalls(self):
        """The connection stays, and nothing comes: the station's program hangs, and Icecast gives it up later."""
        source = self.radio.source("single.mp3", self.folder / "a.mp3")
        running = self.begin("single.mp3")
        source.send_signal(signal.SIGSTOP)
        self.await_status(running, lambda status: status.get("underruns", 0) > 0 or status.get("connections", 1) > 1)
        source.kill()
        self.radio.source("single.mp3", self.folder / "a.mp3")
        self.assertHeardSoon(running, len(self.reports(running)))
        self.end(running)

    def test_everything_is_gone_for_a_while(self):
        self.radio.source("single.mp3", self.folder / "a.mp3")
        running = self.begin("single.mp3")
        self.radio.kill()
        # Three attempts at nothing.
        self.await_status(running, lambda status: status.get("attempts", 0) > 3)
        self.radio.begin_again(lambda: self.radio.source("single.mp3", self.folder / "a.mp3"))
        self.assertHeardSoon(running, len(self.reports(running)))
        self.assertGreater(self.status(running)["connections"], 1)
        self.end(running)
