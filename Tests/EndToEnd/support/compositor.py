"""A real Wayland compositor without a screen, for as long as a test needs it."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

NOBODY = 65534


class Compositor:
    """sway, drawing in software. It refuses root, so root's tests run it as another user."""

    def __init__(self, size="320x240"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sway-"))
        self.control = self.folder / "control"
        config = self.folder / "config"
        config.write_text(
            f"output HEADLESS-1 resolution {size}\n"
            "output * bg #000000 solid_color\n"
            "default_border none\n"
            "xwayland disable\n")
        user = []
        if os.getuid() == 0:
            for path in (self.folder, config):
                os.chown(path, NOBODY, NOBODY)
            user = ["--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        own = {"HOME": self.folder, "XDG_RUNTIME_DIR": self.folder, "SWAYSOCK": self.control,
               "WLR_BACKENDS": "headless", "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman"}
        kept = {name: value for name, value in os.environ.items() if name not in {"DISPLAY", "WAYLAND_DISPLAY"}}
        self.keyboard = None
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", *user, "sway", "-c", config], env={**kept, **own},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # What programs need to find it.
        self.environment = {"XDG_RUNTIME_DIR": str(self.folder), "WAYLAND_DISPLAY": "wayland-1"}
        deadline = time.monotonic() + 60
        while self.ask("swaymsg", "-s", self.control, "-t", "get_version").returncode:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise RuntimeError("sway did not start; `make setup-tests` installs it, grim and wtype")
            time.sleep(0.02)
        # A keyboard that is always there: a program hears nothing of one that has gone before it has asked for its keys.
        self.keyboard = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", "wtype", "-s", "3600000", "-k", "Shift_L"],
            env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

    def ask(self, *command):
        return subprocess.run(
            command, env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=60)

    def sway(self, command):
        self.ask("swaymsg", "-s", self.control, command)

    def shot(self, *options):
        """The screen as a PPM, or what grim's options name of it."""
        return self.ask("grim", *options, "-t", "ppm", "-").stdout

    def pixel(self, x, y):
        """Red, green and blue of a pixel; None where there is no picture."""
        shot = self.shot("-g", f"{x},{y} 1x1")
        return tuple(shot[-3:]) if shot.startswith(b"P6") else None

    def press(self, key):
        """Presses and releases a key, which the window with the focus hears."""
        self.ask("wtype", "-k", key)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.keyboard:
            self.keyboard.kill()
            self.keyboard.wait()
        if self.process.returncode is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def pixels(path):
    """The red, green and blue of an image's pixels, with its size in front."""
    return subprocess.run(["convert", path, "-depth", "8", "ppm:-"], capture_output=True, timeout=60).stdout
