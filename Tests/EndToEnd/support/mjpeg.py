"""Runs of the tool that serve, and other ends of MJPEG over HTTP."""

import http.server
import random
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request

from support.tool import OK, ToolTestCase

SERVING = re.compile(r"(?:Serving |\"url\":\")(https?://[^\s\"]+/)")


class MJPEGTestCase(ToolTestCase):
    def serve(self, *options, source=("--source", "noise", "--preset", "160x120")):
        """A server that has begun, and its address."""
        server = self.start(*source, "--serve", "127.0.0.1:0", *options)
        deadline = time.monotonic() + 60
        while not (found := SERVING.search(server.peek())):
            if server.process.poll() is not None or time.monotonic() > deadline:
                self.fail(f"it does not serve: {server.finish(0)}")
            time.sleep(0.02)
        return server, found[1]

    def end(self, server):
        server.send(signal.SIGINT)
        run = server.finish()
        self.assertEqual(run.code, OK, str(run))
        return run

    def fetch(self, url, **headers):
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
            return answer.read()

    def wait_for_stream(self, url):
        """Servers listen before they answer."""
        deadline = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(url, timeout=60) as answer:
                    if answer.read(1000):
                        return
            except OSError:
                self.assertLess(time.monotonic(), deadline, f"{url} does not answer")
                time.sleep(0.2)

    def run_program(self, *command, limit=60):
        run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             timeout=limit, cwd=self.folder)
        self.assertEqual(run.returncode, 0, run.stderr.decode(errors="replace")[-2000:])
        return run.stdout


class Camera:
    """Serves a picture again and again."""

    def __init__(self, picture):
        self.connections = 0
        self.part = (
            b"--x\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(picture) + picture + b"\r\n")
        camera = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                camera.connections += 1
                self.send_response(200)
                self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=x")
                self.end_headers()
                try:
                    camera.send(self.wfile)
                except OSError:
                    pass

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class HastyCamera(Camera):
    """Serves a picture as fast as it is taken, and hangs up after a number of them."""

    def __init__(self, picture, frames):
        self.frames = frames
        super().__init__(picture)

    def send(self, connection):
        for _ in range(self.frames // 20):
            connection.write(self.part * 20)


class SteadyCamera(Camera):
    """Serves a picture a number of times per second, and says nothing of the rate."""

    def __init__(self, picture, rate):
        self.rate = rate
        super().__init__(picture)

    def send(self, connection):
        due = time.monotonic()
        while True:
            connection.write(self.part)
            due += 1 / self.rate
            time.sleep(max(0, due - time.monotonic()))


def free_port(kind=socket.SOCK_STREAM):
    """A port that was free a moment ago, and none that the system gives to sockets without one: no connection of another
    test takes it meanwhile."""
    while True:
        port = random.randrange(10_000, 32_768)
        with socket.socket(socket.AF_INET, kind) as listener:
            try:
                listener.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def wait_for_listener(port, protocol="tcp"):
    """Looks into the kernel's table, since a connection would count as the viewer."""
    state = {"tcp": "0A", "udp": "07"}[protocol]
    wanted = f"0100007F:{port:04X}"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with open(f"/proc/net/{protocol}", encoding="ascii") as table:
            if any(line.split()[1] == wanted and line.split()[3] == state for line in table):
                return
        time.sleep(0.05)
    raise AssertionError(f"nobody listens on {port}")
