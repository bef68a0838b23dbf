"""Wayland screens by the compositor itself: no portal, no session bus, no PipeWire."""

import json
import os
import re
import signal
import subprocess
import time

from support.compositor import Compositor, pixels
from support.scripted_compositor import ScriptedCompositor
from support.tool import IO, NO_INPUT, OK, UNAVAILABLE, USAGE, ToolTestCase


class CompositorTests(ToolTestCase):
    LATER = True

    def setUp(self):
        super().setUp()
        self.compositor = self.open_compositor()
        # A name that stays when the compositor is another one.
        self.display = self.folder / "display"
        self.show(self.compositor)
        hidden = {"DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"}
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in hidden},
            "XDG_RUNTIME_DIR": str(self.folder), "WAYLAND_DISPLAY": str(self.display), "SWIFT_BACKTRACE": "enable=no"}

    def open_compositor(self):
        compositor = Compositor("320x240")
        self.addCleanup(compositor.close)
        return compositor

    def show(self, compositor):
        self.display.unlink(missing_ok=True)
        self.display.symlink_to(compositor.folder / compositor.environment["WAYLAND_DISPLAY"])

    def start(self, *arguments, **options):
        return super().start(*arguments, **{"env": self.environment, **options})

    def wait_for(self, condition, what):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline, what() if callable(what) else what)
            time.sleep(0.05)

    def play(self, pattern, size=(320, 240)):
        """A window in which something moves, or nothing."""
        player = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "gst-launch-1.0", "-q", "videotestsrc", f"pattern={pattern}",
             "is-live=true", "!", f"video/x-raw,format=BGRx,width={size[0]},height={size[1]},framerate=25/1", "!", "waylandsink"],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(player.wait)
        self.addCleanup(player.kill)
        self.wait_for(lambda: any(self.compositor.shot()[15:]), "the player shows nothing")
        return player

    def pictures(self):
        return sorted(self.folder.glob("shot-*.png"))

    def is_resting(self):
        """Whether no picture comes for a second; some may still be written at first."""
        count = len(self.pictures())
        time.sleep(1)
        return len(self.pictures()) == count

    def finish(self, run, code=OK):
        run.send(signal.SIGINT)
        done = run.finish()
        self.assertEqual(done.code, code, str(done))
        return done

    def test_moving_pictures_are_exact(self):
        # A window that lies in a part of the screen, and crosses the edge of the region.
        self.compositor.sway("floating_maximum_size 110 x 90")
        self.compositor.sway('for_window [shell="xdg_shell"] floating enable')
        player = self.play("ball", (101, 77))
        for arguments, options in (([], []), (["--region", "150,121,101x77"], ["-g", "150,121 101x77"])):
            with self.subTest(arguments):
                for picture in self.pictures():
                    picture.unlink()
                run = self.start(
                    "--source", "screen", "--fps", "max", "--burst", "9000", *arguments, "-o", "shot-%04d.png", "--force")
                self.wait_for(lambda: len(self.pictures()) >= 60, run.peek)
                player.send_signal(signal.SIGSTOP)
                # A part that was not converted stays wrong: nothing moves any longer.
                self.wait_for(lambda: pixels(self.pictures()[-1]) == self.compositor.shot(*options), "the last picture differs")
                self.wait_for(self.is_resting, "a still screen gives pictures")
                player.send_signal(signal.SIGCONT)
                self.finish(run)

    def test_rotated_monitors(self):
        self.play("smpte75")
        for degrees in ("90", "180", "270", "normal"):
            with self.subTest(degrees):
                self.compositor.sway(f"output HEADLESS-1 transform {degrees}")
                # Until the player has drawn its window again.
                self.wait_for(lambda: self.likeness() > 20, degrees)

    def likeness(self):
        """How like our picture is to that of grim, in dB; of another rotation less than 12. Chroma has half the size."""
        self.succeed("--source", "screen", "--frames", 1, "-o", "film.y4m", "--force")
        (self.folder / "right.ppm").write_bytes(self.compositor.shot())
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", "film.y4m", "-frames:v", "1", "film.png"],
                       cwd=self.folder, check=True)
        compared = subprocess.run(["compare", "-metric", "PSNR", "film.png", "right.ppm", "null:"],
                                  cwd=self.folder, capture_output=True, text=True)
        return float(re.match(r"[\d.]+", compared.stderr)[0]) if compared.stderr[:1].isdigit() else 0

    def test_what_goes_comes_back(self):
        self.play("ball")
        run = self.start("--source", "screen", "--burst", "9000", "-o", "shot-%04d.png")
        self.wait_for(lambda: len(self.pictures()) > 10, run.peek)
        other = self.open_compositor()
        self.compositor.kill()
        self.wait_for(lambda: "compositor has gone" in run.peek(), run.peek)
        self.compositor = other
        self.show(other)
        self.wait_for(lambda: "come again" in run.peek(), run.peek)
        self.play("ball")
        count = len(self.pictures())
        self.wait_for(lambda: len(self.pictures()) > count + 10, run.peek)
        other.kill()
        self.wait_for(lambda: run.peek().count("compositor has gone") == 2, run.peek)
        self.finish(run, IO)

    def test_refusals(self):
        for arguments, code, words in (
                (["--monitor", "DP-9"], NO_INPUT, ["DP-9", "HEADLESS-1"]),
                (["--region", "300,0,100x80"], USAGE, ["does not lie in", "320x240"]),
                (["--region", "300,0"], USAGE, ["X,Y"]),
                (["--window", "click"], USAGE, ["monitors only"])):
            with self.subTest(arguments):
                run = self.run_tool("--source", "screen", *arguments, "--frames", 1, "-o", "null")
                self.assertRefused(run, code, *words)
        listed = json.loads(self.succeed("list", "--json").stdout)["screens"]
        screen = next(screen for screen in listed if screen.get("protocol") == "wlr-screencopy")
        self.assertEqual(screen["monitors"], [{"name": "HEADLESS-1", "width": 320, "height": 240}])
        self.assertRegex(self.run_tool("doctor").stdout.decode(), r"ok +wayland, asked directly +HEADLESS-1 320x240")


class ScriptedCompositorTests(ToolTestCase):
    def setUp(self):
        super().setUp()
        self.compositor = ScriptedCompositor(self.folder / "display")
        self.addCleanup(self.compositor.close)
        hidden = {"DISPLAY", "DBUS_SESSION_BUS_ADDRESS"}
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in hidden},
            "XDG_RUNTIME_DIR": str(self.folder), "WAYLAND_DISPLAY": str(self.folder / "display"), "SWIFT_BACKTRACE": "enable=no"}

    def start(self, *arguments, **options):
        return super().start(*arguments, **{"env": self.environment, **options})

    def wait_for(self, condition, what):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline, what())
            time.sleep(0.05)

    def test_a_monitor_that_goes_comes_back(self):
        run = self.start("--source", "screen", "--monitor", "LEFT-1", "-o", "film.y4m", "--stats", "json")
        self.wait_for(lambda: self.compositor.copies > 5, run.peek)
        self.compositor.add(11, "RIGHT-1")
        name = self.compositor.remove(10)
        self.wait_for(lambda: "The monitor LEFT-1 has gone" in run.peek(), run.peek)
        # Not the other one.
        count = self.compositor.copies
        time.sleep(1)
        self.assertLessEqual(self.compositor.copies, count + 1)
        self.compositor.add(12, name)
        self.wait_for(lambda: "The frames come again" in run.peek(), run.peek)
        # A monitor that is off copies nothing.
        self.compositor.answer = "failed"
        self.wait_for(lambda: '"interrupted":true' in run.peek().splitlines()[-1], run.peek)
        self.compositor.answer = "ready"
        self.wait_for(lambda: run.peek().count("The frames come again") == 2, run.peek)
        count = self.compositor.copies
        self.wait_for(lambda: self.compositor.copies > count + 5, run.peek)
        run.send(signal.SIGINT)
        done = run.finish()
        self.assertEqual(done.code, OK, str(done))
        self.assertGreater(self.report(done)["capture"]["frames"], 10)

    @staticmethod
    def report(done):
        return json.loads(done.stderr.splitlines()[-1])

    def test_lies(self):
        big = 1 << 31
        for change, code in (
                ({"stride": 3}, USAGE), ({"stride": big}, USAGE), ({"size": (0, 0)}, UNAVAILABLE),
                ({"size": (big, 2)}, UNAVAILABLE), ({"format": 0x3231564E}, USAGE),
                ({"answer": "failed"}, UNAVAILABLE), ({"answer": "nothing"}, UNAVAILABLE), ({"version": 2}, UNAVAILABLE),
                ({"damage": [(big, big, big, big), (63, 47, 0xFFFFFFFF, 0xFFFFFFFF), (0, 0, 0, 0)] * 9}, OK),
                ({"damage": []}, OK)):
            with self.subTest(change):
                before = {name: getattr(self.compositor, name) for name in change}
                for name, value in change.items():
                    setattr(self.compositor, name, value)
                run = self.run_tool("--source", "screen", "--duration", "500ms", "-o", "film.y4m", "--force")
                for name, value in before.items():
                    setattr(self.compositor, name, value)
                self.assertEqual(run.code, code, str(run))
                self.assertSentence(run)
