"""Plays files in headless Chromium. A page fetches its jobs from a server in this process and posts back what
the video element said."""

import atexit
import http.server
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import urllib.parse

from support.browsing import PageHandler, chromium

PAGE = pathlib.Path(__file__).with_name("page.html")
STARTUP = 30  # seconds that Chromium may take until it asks for its first job


class Handler(PageHandler):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/":
            self.answer(200, PAGE.read_bytes(), "text/html")
        elif url.path == "/job":
            try:
                self.answer(200, json.dumps(self.server.jobs.get(timeout=5)).encode(), "application/json")
            except queue.Empty:
                self.answer(204)
        elif url.path == "/media" and self.server.media:
            self.send_media()
        else:
            self.answer(404)

    def send_media(self):
        """The file, or the range of it that a player seeks in."""
        data = self.server.media
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not asked:
            return self.answer(200, data, "video/webm", Accept_Ranges="bytes")
        start = int(asked[1])
        end = min(int(asked[2] or len(data) - 1), len(data) - 1)
        if start > end:
            return self.answer(416, Content_Range=f"bytes */{len(data)}")
        self.answer(
            206, data[start:end + 1], "video/webm", Accept_Ranges="bytes",
            Content_Range=f"bytes {start}-{end}/{len(data)}")

    def do_POST(self):
        self.server.results.put(json.loads(self.body()))
        self.answer(204)


class Browser:
    """One headless Chromium for all tests: starting it takes longer than playing."""

    shared = None

    @classmethod
    def get(cls):
        if cls.shared is None:
            cls.shared = cls()
            atexit.register(cls.shared.close)
        return cls.shared

    def __init__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.played = 0
        self.server.jobs, self.server.results, self.server.media = queue.Queue(), queue.Queue(), None
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.profile = tempfile.mkdtemp(prefix="chromium-")
        self.log = tempfile.TemporaryFile()
        # A session of its own, so that its own processes can be ended and no others.
        self.process = subprocess.Popen(
            chromium(self.profile, "--autoplay-policy=no-user-gesture-required",
                     page=f"http://127.0.0.1:{self.server.server_address[1]}/"),
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)

    def play(self, file, seeks=(), limit=60):
        """Plays a file to its end, then seeks; returns what page.html reports."""
        self.server.media = pathlib.Path(file).read_bytes()
        # Under one address Chromium would go on with what it knows of the file before.
        self.played += 1
        url = f"/media?{self.played}-{pathlib.Path(file).name}"
        self.server.jobs.put({"url": url, "seeks": list(seeks), "limit": limit})
        try:
            return self.server.results.get(timeout=STARTUP + limit + 10 * (1 + len(seeks)))
        except queue.Empty:
            log = os.pread(self.log.fileno(), 1 << 16, 0).decode(errors="replace")
            raise AssertionError(f"Chromium did not answer. It said:\n{log[-2000:]}") from None

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.server.shutdown()
        self.server.server_close()
        shutil.rmtree(self.profile, ignore_errors=True)
