"""Screens as a source, on a real X server. Needs Xvfb and xterm."""

import json
import signal
import statistics
import time

from support import media
from support.screen import Screen
from support.tool import IO, NO_INPUT, OK, UNAVAILABLE, USAGE, ToolTestCase, environment


class ScreenTestCase(ToolTestCase):
    def setUp(self):
        super().setUp()
        self.screen = Screen()
        self.addCleanup(self.screen.close)
        self.file = self.folder / "a.webm"

    def terminal(self, title="ticking", script="while :; do date +%N; sleep 0.1; done"):
        """A window in which something happens, once it is there."""
        client = self.screen.open("xterm", "-geometry", "30x10+20+20", "-T", title, "-e", "sh", "-c", script)
        self.wait_for_window(title)
        return client

    def wait_for_window(self, title):
        deadline = time.monotonic() + 60
        while title not in self.run_tool("list", env=environment(DISPLAY=self.screen.display)).stdout.decode():
            self.assertLess(time.monotonic(), deadline, f"no window {title}")
            time.sleep(0.1)

    def capture(self, *arguments, **options):
        return self.start("--source", "screen", "--display", self.screen.display, *arguments, **options)

    def size(self, file):
        stream = media.probe(file)["stream"]
        return stream["width"], stream["height"]


class ScreenTests(ScreenTestCase):
    def test_a_desktop_plays(self):
        self.terminal()
        run = self.capture("--duration", "2", "--output", self.file).finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertEqual(self.size(self.file), (320, 240))
        times = media.times(self.file)
        # Ten changes a second, and what is refined after them.
        self.assertGreater(len(times), 12)
        self.assertEqual(times, sorted(times))

    def test_nothing_happens(self):
        """A second of rest costs next to nothing, and the file is as long as it lasted."""
        run = self.capture("--duration", "5", "--output", self.file, "--stats", "json").finish()
        self.assertEqual(run.code, OK, str(run))
        last = json.loads(run.stderr.splitlines()[-1])
        self.assertLessEqual(last["capture"]["frames"], 3, str(run))
        self.assertGreater(media.times(self.file)[-1], 3)

    def test_window_region_and_pointer(self):
        self.terminal("a window of its own")
        for arguments, expected in [
            (("--window", "of its own"), None), (("--region", "10,20,64x48"), (64, 48)),
            (("--monitor", "primary", "--no-cursor"), (320, 240)),
        ]:
            with self.subTest(arguments=arguments):
                run = self.capture(*arguments, "--frames", "3", "--output", self.file, "--force").finish()
                self.assertEqual(run.code, OK, str(run))
                size = self.size(self.file)
                if expected:
                    self.assertEqual(size, expected)
                else:
                    self.assertLess(size[0], 320)

    def test_list(self):
        self.terminal("find me")
        run = self.succeed("list", "--json", env=environment(DISPLAY=self.screen.display))
        screen = json.loads(run.stdout)["screens"][0]
        self.assertEqual(screen["display"], self.screen.display)
        self.assertEqual(screen["monitors"][0]["frame"], {"x": 0, "y": 0, "width": 320, "height": 240})
        self.assertIn("find me", [window["title"] for window in screen["windows"]])

    def wait_for_interruption(self, running, is_interrupted):
        deadline = time.monotonic() + 60
        while True:
            told = [json.loads(line) for line in running.peek().splitlines() if line.startswith("{") and line.endswith("}")]
            told = [event["interrupted"] for event in told if event["event"] == "status"]
            if told and told[-1] == is_interrupted:
                return
            self.assertIsNone(running.process.poll(), running.peek()[-2000:])
            self.assertLess(time.monotonic(), deadline, running.peek()[-2000:])
            time.sleep(0.05)

    def test_the_server_goes_and_comes(self):
        running = self.capture("--pixel-format", "nv12", "--output", self.file, "--stats", "json")
        running.wait_for_file(self.file)
        self.screen.kill()
        self.wait_for_interruption(running, True)
        again = Screen(number=self.screen.number)
        self.addCleanup(again.close)
        self.wait_for_interruption(running, False)
        time.sleep(1)
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        times = media.times(self.file)
        self.assertGreater(times[-1], 1, "what the new server showed is in the file")
        self.assertEqual(media.probe(self.file)["errors"], "")

    def test_the_server_stays_away(self):
        running = self.capture("--output", self.file, "--stats", "json")
        running.wait_for_file(self.file)
        self.screen.kill()
        self.wait_for_interruption(running, True)
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, IO, str(run))
        self.assertIn("unavailable when the capture ended", run.stderr)
        self.assertEqual(media.probe(self.file)["errors"], "")

    def test_the_window_is_closed(self):
        client = self.terminal()
        running = self.capture("--window", "ticking", "--output", self.file)
        running.wait_for_file(self.file)
        client.kill()
        run = running.finish()
        self.assertEqual(run.code, IO, str(run))
        self.assertIn("The window was closed", run.stderr)
        self.assertEqual(media.probe(self.file)["errors"], "")

    def test_invalid_options(self):
        for arguments, code, words in [
            (("--monitor", "scren"), NO_INPUT, ("scren", "did you mean \"screen\"?")),
            (("--window", "nothing"), NO_INPUT, ("no such window",)),
            (("--window", "0x123"), NO_INPUT, ("no such window",)),
            (("--region", "300,0,64x48"), USAGE, ("does not lie in", "320x240")),
            (("--region", "1,2"), USAGE, ("X,Y,WIDTHxHEIGHT",)),
            (("--monitor", "a", "--window", "b"), USAGE, ("leave one out",)),
        ]:
            with self.subTest(arguments=arguments):
                self.assertRefused(self.capture(*arguments, "--output", self.file).finish(), code, *words)
        self.assertRefused(self.run_tool("--source", "screen", "--display", ":7654", "-o", "null"), NO_INPUT, "No X server")
        bare = environment()
        bare.pop("DISPLAY", None)
        bare.pop("WAYLAND_DISPLAY", None)
        self.assertRefused(self.run_tool("--source", "screen", "-o", "null", env=bare), NO_INPUT, "DISPLAY is not set")
        self.assertRefused(
            self.run_tool(
                "--source", "screen", "-o", "null", env={
                    **bare, "WAYLAND_DISPLAY": "wayland-0", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere/bus"}),
            UNAVAILABLE, "no session bus")
        self.assertFalse(self.file.exists())


class ScreenRateTests(ScreenTestCase):
    LATER = True

    def test_refinements_are_named(self):
        """They keep to the rate that was asked for."""
        for name in ("a.webm", "a.mp4"):
            run = self.capture("--duration", "4", "--fps", "5", "--output", self.folder / name).finish()
            self.assertEqual(run.code, OK, str(run))
            self.assertRegex(run.stderr, r"Captured \d frames? in 4\.\d s.* encoded \d frames? \+ \d+ refinements?, dropped 0")
            times = media.times(self.folder / name)
            # One that a busy machine delays is nearer to the next.
            self.assertGreater(statistics.median(after - before for before, after in zip(times, times[1:])), 0.18)

    def test_formats_of_a_constant_rate_last_as_long(self):
        """At rest, with few changes, and stopped by a signal."""
        y4m, raw = self.folder / "a.y4m", self.folder / "a.nv12"
        rest = self.capture("--duration", "3", "--output", y4m, "--output", raw, "--stats", "json").finish()
        self.assertEqual(rest.code, OK, str(rest))
        header, frames = media.y4m_frames(y4m)
        self.assertIn(" F30:1 ", header)
        self.assertEqual(len(frames), 90)
        self.assertEqual(raw.stat().st_size, 90 * 320 * 240 * 3 // 2)
        self.assertAlmostEqual(float(media.probe(y4m)["format"]["duration"]), 3, delta=0.001)
        outputs = json.loads(rest.stderr.splitlines()[-1])["outputs"]
        for output in outputs:
            counts = output["constantRate"]
            self.assertEqual((counts["framesPerSecond"], counts["seconds"], counts["frames"]), (30, 3, 90), output)
            self.assertGreater(counts["repeated"], 85)
            self.assertEqual(counts["dropped"], 0)

        self.terminal()
        region = self.capture(
            "--region", "10,20,64x48", "--fps", "10", "--duration", "3.1", "--output", y4m, "--force").finish()
        self.assertEqual(region.code, OK, str(region))
        header, frames = media.y4m_frames(y4m)
        self.assertIn(" F10:1 ", header)
        self.assertEqual(len(frames), 31)
        self.assertIn("a.y4m: ", region.stderr)
        self.assertIn(", 3.1 s at 10 fps, ", region.stderr)

        running = self.capture("--no-cursor", "--region", "300,0,16x16", "--output", y4m, "--force", "--stats", "json")
        deadline = time.monotonic() + 60
        while '"event":"status"' not in running.peek():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        time.sleep(1.5)
        running.send(signal.SIGINT)
        last = json.loads(running.finish().stderr.splitlines()[-1])
        self.assertGreater(last["outputs"][0]["constantRate"]["seconds"], 2)
        self.assertLessEqual(last["outputs"][0]["constantRate"]["seconds"], last["elapsedSeconds"] + 0.05)
