"""Wayland screens: sway with the real desktop portal, and a portal of ours for what that one does not do."""

import json
import signal
import subprocess

from support.compositor import Compositor, pixels
from support.desktop import BACKEND, PORTAL, Desktop
from support.tool import IO, NO_INPUT, OK, PERMISSION, UNAVAILABLE, USAGE, ToolTestCase


class WaylandScreenTestCase(ToolTestCase):
    def open(self, *arguments, **options):
        self.desktop = Desktop(self.folder, *arguments, **options)
        self.addCleanup(self.desktop.close)

    def start(self, *arguments, **options):
        return super().start(*arguments, **{"env": self.desktop.environment, **options})

    def wait_for(self, condition, what):
        self.desktop.wait(condition, what)

    def peer(self, *command, **environment):
        peer = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command], env={**self.desktop.environment, **environment},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(peer.wait)
        self.addCleanup(peer.kill)
        return peer


class WaylandScreenTests(WaylandScreenTestCase):
    LATER = True

    def setUp(self):
        super().setUp()
        self.compositor = Compositor("320x240")
        self.addCleanup(self.compositor.close)
        self.open(self.compositor)

    def mover(self):
        """A window in which a ball moves."""
        return self.peer(
            "gst-launch-1.0", "-q", "videotestsrc", "pattern=ball", "is-live=true", "!",
            "video/x-raw,format=BGRx,width=101,height=77,framerate=50/1", "!", "waylandsink")

    def pictures(self):
        return sorted(self.folder.glob("shot-*.png"))

    def wait_for_more(self, run, count=20):
        """Until that many more pictures were written."""
        begun = len(self.pictures())
        self.wait_for(lambda: len(self.pictures()) >= begun + count, run.peek)

    def finish(self, run, code=OK):
        run.send(signal.SIGINT)
        done = run.finish()
        self.assertEqual(done.code, code, str(done))
        return done

    def test_moving_pictures_are_exact(self):
        mover = self.mover()
        self.compositor.sway("floating_maximum_size 110 x 90")
        run = self.start("--source", "screen", "--fps", "max", "--burst", "9000", "-o", "shot-%04d.png")
        self.wait_for_more(run, 40)
        mover.send_signal(signal.SIGSTOP)
        # A part that was not refreshed stays wrong: nothing moves any longer.
        self.wait_for(lambda: pixels(self.pictures()[-1]) == self.compositor.shot(), "the last picture differs from the screen")
        done = self.finish(run)
        self.assertIn("Choose what to share", done.stderr)
        # The user is not asked again.
        file = self.folder / ".local/state/swift-video-capturing/screen.consent"
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.assertEqual(file.parent.stat().st_mode & 0o777, 0o700)
        mover.send_signal(signal.SIGCONT)
        done = self.succeed("--source", "screen", "--no-cursor", "--frames", "1", "-o", "null")
        self.assertNotIn("Choose", done.stderr)

    def test_a_screen_at_rest_and_another_size(self):
        run = self.start("--source", "screen", "--burst", "9000", "-o", "shot-%04d.png", "--stats", "json")
        self.wait_for(lambda: len(self.pictures()) == 1 and pixels(self.pictures()[0]) == self.compositor.shot(), run.peek)
        # A second of rest, which the tool reports each second.
        reports = run.peek().count("\n")
        self.wait_for(lambda: run.peek().count("\n") >= reports + 2, run.peek)
        self.assertLessEqual(len(self.pictures()), 2, run.peek())
        self.compositor.sway("output HEADLESS-1 resolution 400x210")
        self.wait_for(lambda: pixels(self.pictures()[-1]) == self.compositor.shot() != b"", run.peek)
        self.assertIn(b"400 210", pixels(self.pictures()[-1])[:20])
        self.finish(run)

    def test_what_ends_comes_back(self):
        self.mover()
        run = self.start("--source", "screen", "--burst", "9000", "-o", "shot-%04d.png")
        self.wait_for_more(run, 5)
        for name, end in (
                ("portal", lambda: self.desktop.kill_service(PORTAL)),
                ("backend", lambda: self.desktop.kill_service(BACKEND)),
                ("PipeWire", lambda: (self.desktop.kill_pipewire(), self.desktop.start_pipewire()))):
            with self.subTest(name):
                count = run.peek().count("has gone; waiting")
                end()
                self.desktop.wake()
                self.wait_for(lambda: run.peek().count("has gone; waiting") > count, run.peek)
                self.wait_for(
                    lambda: run.peek().count("The frames come again") == run.peek().count("has gone; waiting"), run.peek)
                self.wait_for_more(run, 5)
        count = run.peek().count("has gone; waiting")
        self.compositor.kill()
        self.wait_for(lambda: run.peek().count("has gone; waiting") > count, run.peek)
        done = self.finish(run, IO)
        self.assertEqual(done.stderr.count("Choose what to share"), 1, str(done))

    def test_what_the_session_can(self):
        listed = json.loads(self.succeed("list", "--json").stdout)["screens"]
        screen = next(screen for screen in listed if screen["display"] == "wayland")
        self.assertEqual(
            screen["portal"], {"version": 4, "monitors": True, "windows": False, "pointer": True}, listed)
        self.assertIn("monitors, with or without the pointer", self.succeed("list").stdout.decode())
        self.assertRegex(self.run_tool("doctor").stdout.decode(), r"ok +display wayland")


class MutterTests(WaylandScreenTestCase):
    """The compositor of GNOME: no damage, a crop, and the portal of ours in the place of GNOME's, which needs its shell."""
    WAITS = True

    BARS = [(191, 191, 191), (191, 191, 0), (0, 191, 191), (0, 191, 0), (191, 0, 191), (191, 0, 0), (0, 0, 191)]

    def setUp(self):
        super().setUp()
        self.open(mode="mutter", node="none")
        self.folder.chmod(0o700)
        self.environment = {**self.desktop.environment, "WAYLAND_DISPLAY": "wayland-0", "XDG_SESSION_TYPE": "wayland"}
        self.compositor = self.peer(
            "mutter", "--wayland", "--headless", "--no-x11", "--virtual-monitor", "320x240", WAYLAND_DISPLAY="wayland-0",
            XDG_SESSION_TYPE="wayland")
        self.wait_for(lambda: (self.folder / "wayland-0").exists(), "mutter does not start")

    def start(self, *arguments, **options):
        return super().start(*arguments, **{"env": self.environment, **options})

    def play(self, pattern):
        return self.peer(
            "gst-launch-1.0", "-q", "videotestsrc", f"pattern={pattern}", "is-live=true", "!",
            "video/x-raw,format=BGRx,width=320,height=240,framerate=25/1", "!", "waylandsink", WAYLAND_DISPLAY="wayland-0")

    def test_pictures(self):
        self.play("smpte75")
        run = self.start("--source", "screen", "--burst", "9000", "-o", "shot-%04d.png")
        wanted = b"".join(bytes(color) * 9 for color in self.BARS)

        def shown():
            pictures = sorted(self.folder.glob("shot-*.png"))
            # A row through the bars of the last picture, nine pixels of each.
            row = subprocess.run(
                ["convert", pictures[-1], "-crop", "320x1+0+60", "-depth", "8", "rgb:-"], capture_output=True, timeout=60).stdout \
                if pictures else b""
            return b"".join(row[3 * (bar * 320 // 7 + 18):][:27] for bar in range(7)) == wanted

        self.wait_for(shown, run.peek)
        run.send(signal.SIGINT)
        self.assertEqual(run.finish().code, OK)

    def test_moving_pictures_and_the_end(self):
        self.play("ball")
        run = self.start("--source", "screen", "-o", "film.webm", "--stats", "json")
        self.wait_for(lambda: self.frames(run) > 40, run.peek)
        self.compositor.kill()
        self.wait_for(lambda: "has gone" in run.peek(), run.peek)
        run.send(signal.SIGINT)
        done = run.finish()
        self.assertEqual(done.code, IO, str(done))

    @staticmethod
    def frames(run):
        lines = run.peek().splitlines()
        return json.loads(lines[-1]).get("capture", {}).get("frames", 0) if lines and lines[-1].endswith("}") else 0


class PortalTests(WaylandScreenTestCase):
    """Users who say no, and portals that misbehave."""
    WAITS = True

    def open(self, mode):
        super().open(mode=mode, node="shared")

    def share(self):
        """A node that the portal shares."""
        camera = self.start("--source", "pattern", "--pattern", "bars", "--size", "160x120", "-o", "pipewire:Shared")
        self.wait_for(lambda: "shared" in subprocess.run(
            ["pw-cli", "ls", "Node"], env=self.desktop.environment, capture_output=True, text=True).stdout, camera.peek)

    def log(self):
        file = self.folder / "portal.log"
        return file.read_text() if file.exists() else ""

    def test_refusals(self):
        for mode, code, words in (
                ("cancel", PERMISSION, "did not share"), ("end", UNAVAILABLE, "cancelled the request"),
                ("gone", UNAVAILABLE, "ended during the request"),
                ("empty", UNAVAILABLE, "shared nothing"),
                ("no-screens", UNAVAILABLE, "shares no screens"),):
            with self.subTest(mode):
                self.folder.joinpath(mode).mkdir()
                self.desktop = Desktop(self.folder / mode, mode=mode, node="shared")
                try:
                    self.assertRefused(self.run_tool("--source", "screen", "-o", "null"), code, words)
                    self.assertFalse((self.folder / mode / ".local/state/swift-video-capturing").exists())
                finally:
                    self.desktop.close()
        self.open("monitors")
        self.assertRefused(
            self.run_tool("--source", "screen", "--window", "click", "-o", "null"), NO_INPUT, "shares monitors only")
        for option, value in (("--monitor", "HDMI-1"), ("--window", "firefox"), ("--region", "0,0,64x48")):
            self.assertRefused(self.run_tool("--source", "screen", option, value, "-o", "null"), USAGE, "the dialog", ":0")
        (self.folder / "services" / f"{PORTAL}.service").unlink()
        self.desktop.kill("bus")
        self.desktop.run("bus", "dbus-daemon", "--nofork", "--nopidfile", f"--config-file={self.folder}/bus.conf")
        self.wait_for(lambda: "No desktop portal runs here" in self.run_tool("list").stdout.decode(), "the bus has a portal")
        self.assertRefused(self.run_tool("--source", "screen", "-o", "null"), UNAVAILABLE, "No desktop portal")
        self.desktop.kill("bus")
        self.assertRefused(self.run_tool("--source", "screen", "-o", "null"), UNAVAILABLE, "no session bus")

    def test_control_c_while_the_dialog_is_open(self):
        for mode in ("waits", "silent"):
            with self.subTest(mode):
                self.folder.joinpath(mode).mkdir()
                self.desktop = Desktop(self.folder / mode, mode=mode, node="shared")
                self.folder, folder = self.folder / mode, self.folder
                try:
                    run = self.start("--source", "screen", "-o", "null")
                    self.wait_for(lambda: ("Start" if mode == "waits" else "CreateSession") in self.log(), run.peek)
                    run.send(signal.SIGINT)
                    self.assertLess(run.finish().seconds, 20)
                finally:
                    self.desktop.close()
                    self.folder = folder

    def test_the_user_ends_the_sharing(self):
        self.open("revoke")
        self.share()
        run = self.start("--source", "screen", "--burst", "9000", "-o", "shot-%04d.png")
        self.wait_for(lambda: any(self.folder.glob("shot-*.png")), run.peek)
        (self.folder / "revoke").touch()
        done = run.finish()
        self.assertEqual(self.log().count("Start"), 1, "nobody is asked again")
        self.assertIn("ended the sharing", done.stderr)
        self.assertNotEqual(done.code, OK, str(done))

    def test_a_token_that_is_refused(self):
        self.open("strict")
        self.share()
        file = self.folder / ".local/state/swift-video-capturing/window.consent"
        file.parent.mkdir(parents=True)
        file.write_text("of another desktop")
        for text in ("of-another-desktop", "x" * 5000, "\x00\xff", ""):
            file.write_text(text)
            self.succeed("--source", "screen", "--window", "click", "--no-cursor", "--frames", "1", "-o", "null")
            self.assertTrue(file.read_text().startswith("token-"))
            self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        # Windows, and the pointer hidden.
        self.assertIn("('cursor_mode', 1)", self.log())
        self.assertIn("('types', 2)", self.log())
        self.assertIn("('persist_mode', 2)", self.log())
