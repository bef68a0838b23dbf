"""A real X server without a screen, for as long as a test needs it."""

import os
import subprocess


class Screen:
    """Xvfb on a display that it picks itself."""

    def __init__(self, size="320x240", *, number=None):
        read, write = os.pipe()
        place = [f":{number}"] if number is not None else []
        self.process = subprocess.Popen(
            ["Xvfb", *place, "-displayfd", str(write), "-screen", "0", f"{size}x24", "-nolisten", "tcp", "-noreset"],
            pass_fds=[write], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as answer:
            self.number = answer.readline().strip()
        if not self.number:
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
