"""A Wayland compositor of ours, for what real ones do not do when they are asked to: monitors that go, copies that fail, lies.

Its messages: https://wayland.freedesktop.org/docs/html/ch04.html#sect-Protocol-Wire-Format
"""

import mmap
import os
import select
import socket
import struct
import sys
import threading
import time

MANAGER = "zwlr_screencopy_manager_v1"
XRGB8888 = 1


def text(value):
    data = value.encode() + b"\0"
    return struct.pack("<I", len(data)) + data.ljust((len(data) + 3) // 4 * 4, b"\0")


def words(*values):
    return b"".join(struct.pack("<I", value & 0xFFFFFFFF) for value in values)


class ScriptedCompositor:
    """Answers its clients; a test changes its properties meanwhile."""

    def __init__(self, path, size=(64, 48)):
        self.size = size
        self.stride = size[0] * 4
        self.format = XRGB8888
        self.monitors = {10: "LEFT-1"}
        # What becomes of a copy: "ready", "failed", or nothing.
        self.answer = "ready"
        self.damage = [(0, 0, *size)]
        self.version = 3
        self.copies = 0
        self.clients = []
        # A test and the clients take turns.
        self.lock = threading.RLock()
        self.ends, self.wake = os.pipe()
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(path))
        self.server.listen(8)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def close(self):
        os.write(self.wake, b"e")
        self.thread.join()
        self.server.close()

    def remove(self, number):
        """A monitor that is unplugged."""
        with self.lock:
            name = self.monitors.pop(number)
            for client in self.clients:
                client.send(client.registry, 1, words(number))
        return name

    def add(self, number, name):
        with self.lock:
            self.monitors[number] = name
            for client in self.clients:
                client.send(client.registry, 0, words(number) + text("wl_output") + words(4))

    def serve(self):
        threads = []
        while self.ends not in select.select([self.server, self.ends], [], [])[0]:
            client = Client(self, self.server.accept()[0])
            with self.lock:
                self.clients.append(client)
            threads.append(threading.Thread(target=client.serve, daemon=True))
            threads[-1].start()
        for thread in threads:
            thread.join()


class Client:
    def __init__(self, compositor, connection):
        self.compositor = compositor
        self.connection = connection
        self.objects, self.descriptors, self.registry = {1: ("display",)}, [], 0

    def serve(self):
        try:
            with self.connection:
                self.answer()
        finally:
            with self.compositor.lock:
                self.compositor.clients.remove(self)
            shared = [state[0] for kind, *state in self.objects.values() if kind in ("pool", "buffer")]
            for descriptor in shared + self.descriptors:
                os.close(descriptor)

    def answer(self):
        waiting = b""
        while self.compositor.ends not in select.select([self.connection, self.compositor.ends], [], [])[0]:
            try:
                data, descriptors, _, _ = socket.recv_fds(self.connection, 65536, 8)
            except OSError:
                return
            if not data:
                return
            self.descriptors += descriptors
            waiting += data
            while len(waiting) >= 8 and len(waiting) >= struct.unpack_from("<I", waiting, 4)[0] >> 16:
                number, head = struct.unpack_from("<II", waiting)
                with self.compositor.lock:
                    self.handle(number, head & 0xFFFF, waiting[8:head >> 16])
                waiting = waiting[head >> 16:]

    def send(self, number, code, data=b""):
        try:
            self.connection.sendall(words(number, (8 + len(data)) << 16 | code) + data)
        except OSError:
            pass

    def handle(self, number, code, data):
        script = self.compositor
        kind, *state = self.objects.get(number, ("gone",))
        value = lambda index: struct.unpack_from("<I", data, index * 4)[0]
        match kind, code:
            case "display", 0:
                self.send(value(0), 0, words(0))
            case "display", 1:
                self.registry = value(0)
                self.objects[self.registry] = ("registry",)
                for name, interface, version in [(1, "wl_shm", 1), (2, MANAGER, script.version)] + [
                        (monitor, "wl_output", 4) for monitor in script.monitors]:
                    self.send(self.registry, 0, words(name) + text(interface) + words(version))
            case "registry", 0:
                length = value(1)
                new, = struct.unpack_from("<I", data, 8 + (length + 3) // 4 * 4 + 4)
                name = value(0)
                self.objects[new] = ("shm",) if name == 1 else ("manager",) if name == 2 else ("output", name)
                if name in script.monitors:
                    self.send(new, 0, words(0, 0, 0, 0, 0) + text("us") + text("none") + words(0))
                    self.send(new, 1, words(1, *script.size, 60000))
                    self.send(new, 4, text(script.monitors[name]))
                    self.send(new, 2)
            case "shm", 0:
                self.objects[value(0)] = ("pool", self.descriptors.pop(0), value(1))
            case "pool", 0:
                self.objects[value(0)] = ("buffer", os.dup(state[0]), state[1])
            case ("pool", 1) | ("buffer", 0):
                os.close(state[0])
                del self.objects[number]
            case "manager", 0 | 1:
                self.objects[value(0)] = ("frame", value(2))
                self.send(value(0), 0, words(script.format, *script.size, script.stride))
                self.send(value(0), 6)
            case "frame", 0 | 2:
                self.copy(number, self.objects[value(0)])

    def copy(self, frame, buffer):
        script = self.compositor
        script.copies += 1
        answer = script.answer
        if answer == "failed":
            self.send(frame, 3)
        elif answer == "ready":
            with mmap.mmap(buffer[1], buffer[2]) as memory:
                memory[:] = bytes([script.copies & 0xFF]) * buffer[2]
            for part in script.damage:
                self.send(frame, 4, words(*part))
            # As a screen of 50 Hz.
            time.sleep(0.02)
            now = time.monotonic_ns()
            self.send(frame, 2, words(now // 10**9 >> 32, now // 10**9, now % 10**9))


if __name__ == "__main__":
    # For tests in other languages: the path of the socket.
    compositor = ScriptedCompositor(sys.argv[1])
    print("ready", flush=True)
    compositor.thread.join()
