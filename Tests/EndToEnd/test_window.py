"""Windows as an output, on a real X server and on a real Wayland compositor. Needs Xvfb, sway, grim and wtype."""

import re
import signal
import time

from support import media
from support.compositor import Compositor
from support.screen import Screen
from support.tool import IO, NO_INPUT, OK, UNAVAILABLE, USAGE, ToolTestCase, environment


class WindowTestCase(ToolTestCase):
    def setUp(self):
        super().setUp()
        self.screen = self.make_screen()
        self.addCleanup(self.screen.close)
        self.clip = self.folder / "red.y4m"
        made = media.command(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=red:size=320x240:rate=30", "-frames:v", "30",
            "-pix_fmt", "yuv420p", self.clip)
        self.assertEqual(made.returncode, 0, made.stderr.decode(errors="replace"))

    def wait_for_red(self, running):
        """Waits until the screen shows the clip."""
        deadline = time.monotonic() + 60
        while True:
            pixel = self.screen.pixel(160, 120)
            if pixel and pixel[0] > 200 and pixel[1] < 60 and pixel[2] < 60:
                return
            if running.process.poll() is not None or time.monotonic() > deadline:
                self.fail(f"the screen shows {pixel}: {running.finish(0)}")
            time.sleep(0.05)


class WindowTests(WindowTestCase):
    WAITS = True

    def make_screen(self):
        return Screen()

    def show(self, *arguments):
        return self.start(*arguments, env=environment(DISPLAY=self.screen.display))

    def test_shows_frames_until_q(self):
        running = self.show("--input", self.clip, "--loop", "-o", "window")
        self.wait_for_red(running)
        self.screen.press("q")
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertRegex(run.stderr, r"Showed \d+ frames? in a window")

    def test_s_takes_a_still(self):
        running = self.show("--input", self.clip, "--loop", "-o", "window")
        self.wait_for_red(running)
        self.screen.press("s")
        still = self.folder / "capture-still-001.jpg"
        running.wait_for_file(still, 100)
        self.screen.press("q")
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertEqual(still.read_bytes()[-2:], b"\xff\xd9")
        self.assertIn("1 still", run.stderr)

    def test_play_and_full_screen(self):
        running = self.show("play", self.clip, "--loop", "--full-screen", "--mirror", "--stats", "json")
        self.wait_for_red(running)
        self.screen.press("q")
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertIn('"framesShown":', run.stderr.splitlines()[-1])

    def test_plays_what_comes_over_tcp(self):
        """Sender, network, decoder and window in one."""
        sender = self.start("--input", self.clip, "--loop", "-o", "tcp://127.0.0.1:0?listen")
        deadline = time.monotonic() + 60
        while not (found := re.search(r"connect to (tcp://127\.0\.0\.1:\d+)", sender.peek())):
            self.assertLess(time.monotonic(), deadline, sender.peek())
            time.sleep(0.02)
        running = self.show("play", found[1])
        self.wait_for_red(running)
        self.screen.press("q")
        self.assertEqual(running.finish().code, OK)
        sender.send(signal.SIGINT)
        self.assertEqual(sender.finish().code, OK)

    def test_quitting_ends_the_window_alone(self):
        file = self.folder / "a.y4m"
        running = self.show("--input", self.clip, "--loop", "-o", "window", "-o", file)
        self.wait_for_red(running)
        self.screen.press("q")
        deadline = time.monotonic() + 60
        while self.screen.pixel(160, 120) != (0, 0, 0):
            self.assertLess(time.monotonic(), deadline, "the window is still there")
            time.sleep(0.05)
        running.wait_for_file(file, file.stat().st_size + 1_000_000)
        running.send(signal.SIGINT)
        self.assertEqual(running.finish().code, OK)

    def test_the_display_goes_away(self):
        running = self.show("--input", self.clip, "--loop", "-o", "window")
        self.wait_for_red(running)
        self.screen.kill()
        run = running.finish(20)
        self.assertEqual(run.code, IO, str(run))
        self.assertIn(self.screen.display, run.stderr)

    def test_the_display_goes_away_while_a_file_is_written(self):
        file = self.folder / "a.y4m"
        running = self.show("--input", self.clip, "--loop", "-o", "window", "-o", file, "--keep-going")
        self.wait_for_red(running)
        self.screen.kill()
        running.wait_for_file(file, file.stat().st_size + 5_000_000)
        running.send(signal.SIGINT)
        self.assertEqual(running.finish().code, IO, "the code of the first failure")

    def test_what_cannot_be(self):
        bare = environment()
        bare.pop("DISPLAY", None)
        bare.pop("WAYLAND_DISPLAY", None)
        self.assertRefused(
            self.run_tool("--source", "noise", "-o", "window", env=bare), NO_INPUT, "DISPLAY")
        self.assertRefused(
            self.run_tool("--source", "noise", "-o", "window", "--display", ":7654", env=bare), NO_INPUT, ":7654")
        self.assertRefused(self.run_tool("play", env=bare), USAGE, "play", "name what to show")
        self.assertRefused(self.run_tool("play", "a", "--input", "b", env=bare), USAGE, "leave one out")
        self.assertRefused(self.run_tool("play", "no-such-file.y4m", env=bare), NO_INPUT, "no-such-file.y4m")
        self.assertRefused(self.run_tool("--source", "noise", "-o", "window", "--backend", "windows", env=bare), USAGE, "x11")


class WaylandWindowTests(WindowTestCase):
    """Through SDL, which the tool picks where there is no X server."""

    def make_screen(self):
        return Compositor()

    def show(self, *arguments):
        bare = environment(**self.screen.environment)
        bare.pop("DISPLAY", None)
        return self.start(*arguments, env=bare)

    def test_shows_frames_until_q(self):
        running = self.show("--input", self.clip, "--loop", "-o", "window")
        self.wait_for_red(running)
        self.screen.press("q")
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertRegex(run.stderr, r"Showed \d+ frames? in a window")

    def test_an_interrupt_ends_the_program(self):
        """SDL would make an event of it."""
        running = self.show("--input", self.clip, "--loop", "-o", "window", "--backend", "sdl")
        self.wait_for_red(running)
        running.send(signal.SIGINT)
        self.assertEqual(running.finish().code, OK)

    def test_the_compositor_goes_away_while_a_file_is_written(self):
        file = self.folder / "a.y4m"
        running = self.show("--input", self.clip, "--loop", "-o", "window", "-o", file, "--keep-going")
        self.wait_for_red(running)
        self.screen.kill()
        running.wait_for_file(file, file.stat().st_size + 5_000_000)
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, IO, str(run))
        self.assertIn("wayland-1", run.stderr)

    def test_no_compositor(self):
        bare = environment(**self.screen.environment)
        bare.pop("DISPLAY", None)
        bare["WAYLAND_DISPLAY"] = "wayland-77"
        self.assertRefused(self.run_tool("--source", "noise", "-o", "window", env=bare), UNAVAILABLE, "wayland-77")
