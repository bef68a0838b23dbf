"""Starts a USB device of software in the guest and tells it what to do: a webcam, or another one."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent.parent


class RemoteGadget:
    """A device in a process of its own. A context: it is pulled at the end."""

    PROGRAM = ""  # the package that is the device
    DRIVER = ""

    def __init__(self, serial, *arguments):
        self.serial = serial
        self.path = os.path.join(tempfile.mkdtemp(prefix=f"{self.PROGRAM}-"), "orders")
        self.process = subprocess.Popen(
            [sys.executable, "-m", self.PROGRAM, self.path, "--serial", serial, *arguments], cwd=FOLDER,
            stdin=subprocess.DEVNULL)
        self.orders = None

    def node(self):
        """Its device, or None while there is none."""
        raise NotImplementedError

    def __enter__(self):
        try:
            self.wait_for(self.connect, f"the {self.PROGRAM} to start")
            self.wait_for(self.node, f"{self.DRIVER} to take the {self.PROGRAM}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.orders:
            self.orders.close()
        self.process.kill()
        self.process.wait()
        # The next one may have the same serial number.
        deadline = time.monotonic() + 5
        while self.node() and time.monotonic() < deadline:
            time.sleep(0.02)

    def wait_for(self, condition, what, limit=10):
        deadline = time.monotonic() + limit
        while not condition():
            if self.process.poll() is not None:
                raise RuntimeError(f"the {self.PROGRAM} ended with exit code {self.process.returncode}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"waited {limit} s in vain for {what}")
            time.sleep(0.02)

    def connect(self):
        orders = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            orders.connect(self.path)
        except (FileNotFoundError, ConnectionRefusedError):
            orders.close()
            return False
        self.orders = orders
        return True

    def __call__(self, *order):
        """Gives an order and returns the state after it."""
        self.orders.sendall(" ".join(str(word) for word in order).encode())
        answer = b""
        while not answer.endswith(b"\n"):
            part = self.orders.recv(65536)
            if not part:
                raise RuntimeError(f"the {self.PROGRAM} is gone")
            answer += part
        state = json.loads(answer)
        if "error" in state:
            raise ValueError(state["error"])
        return state

    def wait_for_node(self, limit=10):
        self.wait_for(self.node, f"the {self.PROGRAM}'s node", limit)
        return self.node()

    def wait_until_gone(self, limit=10):
        self.wait_for(lambda: self.node() is None, f"the {self.PROGRAM}'s node to go", limit)


class RemoteWebcam(RemoteGadget):
    """A webcam."""

    PROGRAM, DRIVER = "webcam", "uvcvideo"

    def __init__(self, serial="SW0001", encodes=False):
        super().__init__(serial, *["--encodes"] * encodes)

    def node(self):
        """The device node that gives its frames, or None: the second node of a webcam gives metadata."""
        for entry in pathlib.Path("/sys/class/video4linux").iterdir():
            try:
                usb = (entry / "device" / "..").resolve()
                if (usb / "serial").read_text().strip() == self.serial and (entry / "index").read_text().strip() == "0":
                    return f"/dev/{entry.name}"
            except OSError:
                continue
        return None
