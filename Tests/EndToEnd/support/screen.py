"""A real X server without a screen, for as long as a test needs it."""

import ctypes
import os
import random
import subprocess


# Key codes as the kernel numbers them, plus 8.
KEYS = {"q": 24, "s": 39}


class Screen:
    """Xvfb on a display with a number at random: a free one would be the next server's as soon as a test kills this one, and that
    server would be taken for it."""

    def __init__(self, size="320x240", *, number=None):
        read, write = os.pipe()
        self.number = str(number or random.randrange(1000, 50000))
        self.process = subprocess.Popen(
            ["Xvfb", f":{self.number}", "-displayfd", str(write), "-screen", "0", f"{size}x24", "-nolisten", "tcp", "-noreset"],
            pass_fds=[write], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as answer:
            is_ready = answer.readline().strip()
        if not is_ready:
            raise RuntimeError("Xvfb did not start; `make setup-tests` installs it")
        self.display = f":{self.number}"
        self.clients = []

    def open(self, *command):
        """Starts a program on the screen."""
        client = subprocess.Popen(
            command, env={**os.environ, "DISPLAY": self.display}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.clients.append(client)
        return client

    def pixel(self, x, y):
        """Red, green and blue of a pixel, as ffmpeg sees the screen; None where it cannot."""
        grab = subprocess.run(
            ["ffmpeg", "-v", "error", "-f", "x11grab", "-draw_mouse", "0", "-video_size", "2x2", "-i",
             f"{self.display}.0+{x},{y}", "-frames:v", "1", "-pix_fmt", "rgb24", "-f", "rawvideo", "-"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60)
        return tuple(grab.stdout[:3]) if len(grab.stdout) == 12 else None

    def press(self, key):
        """Presses and releases a key of a PC's keyboard, which the window under the pointer hears."""
        xcb, test = ctypes.CDLL("libxcb.so.1"), ctypes.CDLL("libxcb-xtest.so.0")
        xcb.xcb_connect.restype = xcb.xcb_get_input_focus_reply.restype = ctypes.c_void_p
        connection = ctypes.c_void_p(xcb.xcb_connect(self.display.encode(), None))
        for event in (2, 3):  # KeyPress, KeyRelease
            test.xcb_test_fake_input(connection, event, KEYS[key], 0, 0, 0, 0, 0)
        # The answer comes when the server has obeyed.
        xcb.xcb_get_input_focus_reply(connection, xcb.xcb_get_input_focus(connection), None)
        xcb.xcb_disconnect(connection)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        for client in self.clients:
            client.kill()
            client.wait()
        if self.process.returncode is None:
            self.process.terminate()
            self.process.wait()
