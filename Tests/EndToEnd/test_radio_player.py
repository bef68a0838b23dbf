"""The keys of the player in a terminal, and radios over TLS."""

import http.server
import os
import re
import ssl
import threading
import time

from support.icecast import make_mp3
from support.media import command
from support.tool import OK, PERMISSION, ToolTestCase
from test_status import Terminal


class FileHandler(http.server.BaseHTTPRequestHandler):
    """One file, of which a part can be asked for."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        data = self.server.data
        begin = re.match(r"bytes=(\d+)-", self.headers.get("Range", ""))
        first = min(int(begin[1]), len(data)) if begin else 0
        self.send_response(206 if begin else 200)
        self.send_header("Content-Type", "audio/mpeg")
        self.send_header("Accept-Ranges", "bytes")
        if begin:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - first))
        self.end_headers()
        try:
            self.wfile.write(data[first:])
        except OSError:
            pass  # The player has gone elsewhere.


class PlayerTestCase(ToolTestCase):
    WAITS = True

    def serve(self, certificate=None):
        """A server of a minute of sound, and its address."""
        make_mp3(self.folder / "a.mp3", seconds=60)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FileHandler)
        server.data = (self.folder / "a.mp3").read_bytes()
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http{'s' if certificate else ''}://127.0.0.1:{server.server_port}/a.mp3"


class KeyTests(PlayerTestCase):
    def test_pause_seek_volume_and_quit(self):
        terminal = Terminal("play", self.serve(), "--sound", "null", folder=self.folder)
        self.addCleanup(terminal.close)
        deadline = time.monotonic() + 90

        def wait(pattern):
            """Until the status line, from now on, shows this; returns what it shows."""
            seen = len(terminal.output)
            while not (found := re.search(pattern, terminal.output[seen:].decode(errors="replace"))):
                self.assertIsNone(terminal.process.poll(), terminal.output[-1000:])
                self.assertLess(time.monotonic(), deadline, f"no {pattern}: {terminal.output[-1000:]}")
                terminal.read(0.1)
            return found

        wait(r"playing ▮")
        os.write(terminal.master, b" ")
        place = wait(r"(\d\d):(\d\d)/01:00 paused")
        os.write(terminal.master, b" ")
        wait("playing")
        os.write(terminal.master, b"\x1b[C")
        at = int(place[1]) * 60 + int(place[2])
        wait(rf"00:({'|'.join(f'{second:02}' for second in range(at + 9, at + 40))})/01:00 playing")
        os.write(terminal.master, b"-")
        wait(r"vol 90 %")
        os.write(terminal.master, b"\x1b[B")
        wait(r"vol 80 %")
        os.write(terminal.master, b"?")
        wait("Keys: space pauses")
        os.write(terminal.master, b"q")
        terminal.read(20)
        self.assertEqual(terminal.process.wait(10), OK)
        self.assertIn(b"Played", terminal.output)


class TLSTests(PlayerTestCase):
    def test_certificates(self):
        key, certificate = self.folder / "key.pem", self.folder / "certificate.pem"
        made = command(
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
            "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
        self.assertEqual(made.returncode, 0, made.stderr.decode(errors="replace"))
        url = self.serve((certificate, key))
        refused = self.run_tool("play", url, "--sound", "null", "--duration", 1)
        self.assertRefused(refused, PERMISSION, "certificate")
        for trust in (("--ca-file", certificate), ("--insecure",)):
            with self.subTest(trust=trust):
                run = self.succeed("play", url, "--sound", "wav:heard.wav", "--force", "--duration", 2, *trust)
                self.assertIn("Played 00:0", run.stderr)
                self.assertGreater((self.folder / "heard.wav").stat().st_size, 176_400, str(run))
