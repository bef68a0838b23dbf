"""A real Icecast with sources, as an ordinary process; and a server with the quirks of others."""

import base64
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from xml.etree import ElementTree

from support.mjpeg import free_port

CONFIGURATION = """<icecast>
  <limits><clients>50</clients><sources>10</sources><queue-size>524288</queue-size><client-timeout>10</client-timeout>
    <header-timeout>5</header-timeout><source-timeout>3</source-timeout><burst-size>65535</burst-size></limits>
  <authentication><source-password>hackme</source-password><admin-user>admin</admin-user>
    <admin-password>adminpw</admin-password></authentication>
  <hostname>localhost</hostname>
  <listen-socket><port>{port}</port><bind-address>127.0.0.1</bind-address></listen-socket>
  <mount><mount-name>/live.mp3</mount-name><fallback-mount>/backup.mp3</fallback-mount>
    <fallback-override>1</fallback-override></mount>
  {more}
  <paths><basedir>/usr/share/icecast2</basedir><logdir>{folder}</logdir><webroot>/usr/share/icecast2/web</webroot>
    <adminroot>/usr/share/icecast2/admin</adminroot></paths>
  <logging><accesslog>access.log</accesslog><errorlog>error.log</errorlog><loglevel>3</loglevel></logging>
  <security><chroot>0</chroot>{owner}</security>
</icecast>
"""


def make_mp3(file, seconds=8, rate=44100, channels=2, bitrate="128k", frequency=440, **options):
    subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", f"sine=frequency={frequency}:sample_rate={rate}:duration={seconds}",
         "-ac", str(channels), "-c:a", "libmp3lame", "-b:a", bitrate, "-id3v2_version", "0", "-write_xing",
         "1" if options.get("information") else "0", str(file)], check=True, stdin=subprocess.DEVNULL)
    return file


class Icecast:
    """Icecast on a free port; `source` feeds a mount in real time."""

    def __init__(self, folder, name="icecast", more=""):
        self.folder = pathlib.Path(folder)
        self.sources = []
        # It gives root's rights up, and must write its logs then.
        logs = self.folder / name
        logs.mkdir()
        logs.chmod(0o777)
        for parent in [self.folder, *self.folder.parents]:
            if parent.stat().st_uid == os.geteuid() and parent != pathlib.Path("/"):
                parent.chmod(parent.stat().st_mode | 0o011)
        owner = "<changeowner><user>nobody</user><group>nogroup</group></changeowner>" if os.geteuid() == 0 else ""
        self.configuration = logs / "icecast.xml"
        for attempt in range(5):
            self.port = free_port()
            self.configuration.write_text(CONFIGURATION.format(port=self.port, folder=logs, owner=owner, more=more))
            try:
                return self.begin()
            except AssertionError:
                # Another program may have taken the port meanwhile; Icecast cannot pick one itself.
                self.end()
                if attempt == 4:
                    raise

    def begin(self):
        self.process = subprocess.Popen(
            ["icecast2", "-c", str(self.configuration)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.wait(lambda: self.answers("/status-json.xsl"), "Icecast does not answer")

    def mounts(self):
        """What the server states of its sources, by mount. Its JSON is no JSON while there is nothing to state."""
        told = ElementTree.fromstring(self.administer("stats"))
        return {source.get("mount")[1:]: {field.tag: field.text for field in source} for source in told.iter("source")}

    def administer(self, path):
        login = base64.b64encode(b"admin:adminpw").decode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/admin/{path}", headers={"Authorization": f"Basic {login}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def url(self, mount):
        return f"http://127.0.0.1:{self.port}/{mount}"

    def answers(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
                return bool(answer.read(1))
        except OSError:
            return False

    def wait(self, condition, failure, limit=60):
        deadline = time.monotonic() + limit
        while not condition():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(failure)
            time.sleep(0.05)

    def source(self, mount, file, name="Test Radio"):
        """Feeds a mount until `end`."""
        return self.despite_crashes(lambda: self.feed(mount, file, name))

    def feed(self, mount, file, name):
        source = subprocess.Popen(
            ["ffmpeg", "-v", "error", "-re", "-stream_loop", "-1", "-i", str(file), "-c", "copy", "-map", "0:a",
             "-id3v2_version", "0", "-write_xing", "0", "-f", "mp3", "-content_type", "audio/mpeg", "-ice_name", name,
             f"icecast://source:hackme@127.0.0.1:{self.port}/{mount}"], stdin=subprocess.DEVNULL)
        self.sources.append(source)
        self.wait(lambda: self.answers(f"/{mount}"), f"{mount} has no source")
        return source

    def begin_again(self, come_back):
        """After `kill`: begins the server, and does what is to follow."""
        return self.despite_crashes(come_back)

    def despite_crashes(self, act):
        """Does something while the server runs. Icecast 2.4.4 may crash (of a null pointer) while it starts and others connect
        already; it is started once more then, as a machine's init would."""
        for _ in range(5):
            try:
                if self.process.poll() is not None:
                    self.begin()
                return act()
            except AssertionError:
                if self.process.poll() != -signal.SIGSEGV:
                    raise
                self.kill()
        raise AssertionError("Icecast crashed five times")

    def title(self, mount, text):
        query = urllib.parse.urlencode({"mount": f"/{mount}", "mode": "updinfo", "song": text, "charset": "UTF-8"})
        self.administer(f"metadata?{query}")

    def kill(self):
        """All is gone, as after a crash of the machine."""
        self.end()
        self.sources.clear()

    def end(self):
        for process in [*self.sources, self.process]:
            if process.poll() is None:
                process.kill()
            process.wait()


class QuirkServer:
    """Answers as SHOUTcast 1 and others do; the path chooses how. Sends at four times the speed of sound; what is late, or
    has a hole or an early end, at its speed."""

    ICY = "ICY 200 OK\r\nicy-notice1:<BR>\r\nicy-name:Fake\r\ncontent-type:audio/mpeg\r\nicy-br:128\r\n"

    def __init__(self, sound):
        self.sound = sound
        self.agents = []
        self.paths = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}/{path}"

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            with client:
                request = b""
                while b"\r\n\r\n" not in request:
                    got = client.recv(4096)
                    if not got:
                        return
                    request += got
                self.answer(client, request.split(b" ")[1].decode()[1:], request.lower())
        except OSError:
            pass

    def answer(self, client, path, request):
        self.paths.append(path)
        if path == "silent":
            client.recv(1)  # until it hangs up
            return
        interval = 8192 if path in ("titles", "untitled") and b"icy-metadata: 1" in request else 0
        heads = {
            "lf": self.ICY.replace("\r\n", "\n"), "blank": "\r\n" + self.ICY,
            "redirect": f"HTTP/1.1 302 Found\r\nLocation: {self.url('icy')}\r\nContent-Length: 0\r\n",
            "ring": f"HTTP/1.1 302 Found\r\nLocation: {self.url('ring')}\r\nContent-Length: 0\r\n",
            "aac": "HTTP/1.0 200 OK\r\nContent-Type: audio/aacp\r\n", "page": "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n",
            "gone": "HTTP/1.0 404 Not Found\r\n",
            "list.pls": "HTTP/1.0 200 OK\r\nContent-Type: audio/x-scpls\r\n",
            "hls.m3u8": "HTTP/1.0 200 OK\r\nContent-Type: application/vnd.apple.mpegurl\r\n",
        }
        head = heads.get(path, self.ICY) + (f"icy-metaint:{interval}\r\n" if interval else "")
        client.sendall((head + ("\n" if path == "lf" else "\r\n")).encode())
        bodies = {"list.pls": f"[playlist]\nFile1={self.url('icy')}\n", "hls.m3u8": "#EXTM3U\n#EXT-X-VERSION:3\na.ts\n",
                  "page": "<html>a page</html>", "aac": "no frame of MP3", "gone": "<html>404</html>", "redirect": "", "ring": ""}
        if path in bodies:
            client.sendall(bodies[path].encode())
            return
        if path == "ghost":
            time.sleep(60)
            return
        speed = 16000 if path in ("late", "hole", "early") else 64000
        if path == "late":
            time.sleep(2)
        sent, began, count, step = 0, time.monotonic(), 0, interval or 4096
        while True:
            piece = bytes(self.sound[(sent + index) % len(self.sound)] for index in range(step))
            sent += step
            client.sendall(piece)
            if interval:
                title = "" if path == "untitled" else "It's Mötley; a test"
                text = b"" if count else f"StreamTitle='{title}';".encode("latin-1")
                count += 1
                client.sendall(bytes([(len(text) + 15) // 16]) + text.ljust((len(text) + 15) // 16 * 16, b"\0"))
            if path == "short" and sent > 64000:
                return
            if path in ("hole", "early") and 48000 <= sent < 48000 + step:
                time.sleep(60 if path == "early" else 3)
                began += 3
            time.sleep(max(0, began + sent / speed - time.monotonic()))

    def end(self):
        self.listener.close()
