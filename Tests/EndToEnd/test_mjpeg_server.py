"""The tool as an MJPEG server: other programs read it, and nothing that they do leaves anything behind."""

import json
import os
import pathlib
import re
import socket
import time
import urllib.error
import urllib.request

from support import media
from support.mjpeg import MJPEGTestCase
from support.tool import NO_INPUT, OK, USAGE


class ServerTests(MJPEGTestCase):
    def test_other_programs_read_it(self):
        server, url = self.serve()
        text = self.run_program(
            "ffprobe", "-v", "error", "-f", "mpjpeg", "-read_intervals", "%+#5", "-show_entries",
            "stream=codec_name,width,height", "-of", "json", f"{url}stream")
        stream = json.loads(text)["streams"][0]
        self.assertEqual((stream["codec_name"], stream["width"], stream["height"]), ("mjpeg", 160, 120))
        self.run_program("ffmpeg", "-v", "error", "-xerror", "-f", "mpjpeg", "-i", f"{url}stream", "-frames:v", "20", "-f",
                         "null", "-")
        self.run_program("gst-launch-1.0", "-q", "souphttpsrc", f"location={url}stream", "num-buffers=200", "!",
                         "multipartdemux", "!", "jpegdec", "!", "fakesink")
        # As OctoPrint, Home Assistant and motion ask.
        self.run_program("ffmpeg", "-v", "error", "-xerror", "-f", "mpjpeg", "-i", f"{url}?action=stream", "-frames:v", "5",
                         "-f", "null", "-")
        self.end(server)

    def test_snapshot_state_and_metrics(self):
        server, url = self.serve()
        for path in ("snapshot", "?action=snapshot"):
            picture = self.fetch(url + path)
            self.assertEqual((picture[:2], picture[-2:]), (b"\xff\xd8", b"\xff\xd9"))
        state = json.loads(self.fetch(url + "state"))
        self.assertTrue(state["ok"])
        self.assertEqual(state["result"]["source"]["resolution"], {"width": 160, "height": 120})
        self.assertTrue(state["result"]["source"]["online"])
        metrics = self.fetch(url + "metrics").decode()
        self.assertRegex(metrics, r"(?m)^# TYPE \S+ (gauge|counter)$")
        page = self.fetch(url).decode()
        self.assertIn("<html", page)
        self.assertNotRegex(page, r"(src|href)=\"https?://")
        self.end(server)

    def test_serves_and_records_at_once(self):
        server, url = self.serve("--output", "a.webm", "--output", "a.ivf")
        self.fetch(url + "snapshot")
        server.wait_for_file(self.folder / "a.webm", 20_000)
        self.end(server)
        for name in ("a.webm", "a.ivf"):
            self.assertEqual(media.probe(self.folder / name)["errors"], "")

    def test_ends_with_viewers(self):
        server, url = self.serve()
        with urllib.request.urlopen(url + "stream", timeout=60) as viewer:
            self.assertTrue(viewer.read(1000))
            began = time.monotonic()
            self.end(server)
            self.assertLess(time.monotonic() - began, 60)

    def test_password(self):
        secret = self.folder / "secret"
        secret.write_text("ann:pass word\n")
        server, url = self.serve("--serve-login", f"@{secret}")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.fetch(url + "snapshot")
        self.assertEqual(refused.exception.code, 401)
        refused.exception.close()
        for scheme in ("--basic", "--digest"):
            picture = self.run_program("curl", "-sSf", scheme, "-u", "ann:pass word", f"{url}snapshot")
            self.assertEqual(picture[:2], b"\xff\xd8")
        self.end(server)

    def test_what_cannot_be(self):
        server, url = self.serve()
        port = re.search(r":(\d+)/", url)[1]
        for options, code, words in [
                (["--serve", "99999"], USAGE, ["--serve", "65535"]),
                (["--serve", ":80"], USAGE, ["--serve", "0.0.0.0"]),
                (["--serve", "::1:80"], USAGE, ["[::1]"]),
                (["--serve-login", "a:b"], USAGE, ["--serve PORT"]),
                (["--serve", "0", "--serve-login", "secret"], USAGE, ["NAME:PASSWORD"]),
                (["--serve", "0", "--jpeg-quality", "101"], USAGE, ["--jpeg-quality", "100"]),
                (["--serve", "0", "--drop-same-frames", "-1"], USAGE, ["--drop-same-frames"]),
                (["--drop-same-frames", "1"], USAGE, ["--serve PORT"]),
                (["--serve", "0", "--serve-certificate", "none.pem"], NO_INPUT, ["none.pem"]),
                (["--serve", port], None, [port])]:
            with self.subTest(options=options):
                run = self.run_tool("--source", "noise", "--frames", "1", *options)
                self.assertNotEqual(run.code, OK)
                self.assertRefused(run, code or run.code, *words)
                self.assertNotIn("secret", run.stderr)
        self.end(server)

    def test_warns_of_everyone(self):
        server = self.start("--source", "noise", "--serve", "0.0.0.0:0", "--duration", "1")
        run = server.finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertRegex(run.stderr, r"(?i)warning: .*password")
        # Shown is an address that others can use.
        self.assertRegex(run.stderr, r"Serving http://(?!0\.0\.0\.0)[\d.]+:\d+/")

    def test_counts_what_it_did(self):
        server, url = self.serve()
        deadline = time.monotonic() + 60
        while "0 viewers, idle" not in server.peek():
            self.assertIsNone(server.process.poll(), "it says so every five seconds")
            self.assertLess(time.monotonic(), deadline, server.peek())
            time.sleep(0.05)
        for _ in range(3):
            self.fetch(url + "snapshot")
        run = self.end(server)
        self.assertRegex(run.stderr, r"Served 3 snapshots. JPEG images encoded: [123].")


class ServerEnduranceTests(MJPEGTestCase):
    LATER = True

    def test_leaves_out_what_shows_the_same(self):
        clip = self.folder / "still.y4m"
        self.run_program("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=red:size=64x48:rate=30", "-frames:v", "30",
                         "-pix_fmt", "yuv420p", str(clip))
        counts = []
        for options in ([], ["--drop-same-frames", "29"]):
            server, url = self.serve(*options, source=("--input", clip, "--loop"))
            end = time.monotonic() + 3
            with urllib.request.urlopen(url + "stream", timeout=60) as viewer:
                read = b""
                while time.monotonic() < end:
                    read += viewer.read1(65536)
            counts.append(read.count(b"Content-Type"))
            self.end(server)
        every, some = counts
        self.assertGreater(every, 45)
        # One a second, and those at the beginning.
        self.assertIn(some, range(2, 8))

    def test_ten_thousand_connections(self):
        """Some ask for a picture, some for half of one, most for nothing; none leaves anything behind."""
        server, url = self.serve("--stats", "json")
        host, port = "127.0.0.1", int(re.search(r":(\d+)/", url)[1])
        pid = int(self.run_program("pgrep", "-P", str(server.process.pid)).split()[0]) if self.is_wrapped(server) \
            else server.process.pid
        def descriptors():
            return len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))
        self.fetch(url + "snapshot")
        before = descriptors()
        for index in range(10_000):
            with socket.create_connection((host, port), timeout=60) as connection:
                if index % 10 == 1:
                    connection.sendall(b"GET /snapshot HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    connection.recv(64)
                elif index % 10 == 2:
                    connection.sendall(b"GET /str")
                elif index % 10 == 3:
                    connection.sendall(b"GET /stream HTTP/1.0\r\n\r\n")
                    connection.recv(64)
                elif index % 10 == 4:
                    connection.sendall(b"\x16\x03\x01 \r\n\r\n")
        deadline = time.monotonic() + 60
        while descriptors() > before + 2:
            self.assertLess(time.monotonic(), deadline, f"{descriptors()} descriptors, before {before}")
            time.sleep(0.05)
        run = self.end(server)
        last = json.loads(run.stderr.splitlines()[-1])
        self.assertEqual(last["event"], "summary")
        # Both processors are full of connections, so a frame may be late; a server that held the capture up would cost dozens.
        self.assertLess(
            last["capture"]["dropped"]["total"], last["capture"]["frames"] / 20, "the capture was slowed")
        self.assertLess(run.peak, 300 << 20)

    def is_wrapped(self, server):
        return os.readlink(f"/proc/{server.process.pid}/exe").endswith("prlimit")


class HTTPSTests(MJPEGTestCase):
    """What a tool built with the trait TLS does, and what one without it says."""

    def setUp(self):
        super().setUp()
        self.run_program("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out",
                         "cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext",
                         "subjectAltName=IP:127.0.0.1,DNS:localhost")
        self.certificate = ["--serve-certificate", "cert.pem", "--serve-key", "key.pem"]
        self.trial = self.run_tool("--source", "noise", "--frames", "1", "--serve", "0", *self.certificate)

    def test_https(self):
        if self.trial.code != OK:
            self.skipTest("the tool was built without HTTPS; make release TLS=1 brings it")
        server, url = self.serve(*self.certificate)
        self.assertTrue(url.startswith("https:"))
        picture = self.run_program("curl", "-sSf", "--cacert", "cert.pem", f"{url}snapshot")
        self.assertEqual(picture[:2], b"\xff\xd8")
        # And our own client: a wrong certificate is refused, a trusted or accepted one is not.
        self.assertNotEqual(self.run_tool("--input", f"{url}stream", "--frames", "3", "-o", "null").code, OK)
        self.succeed("--input", f"{url}stream", "--frames", "3", "-o", "null", "--ca-file", "cert.pem")
        self.succeed("--input", f"{url}stream", "--frames", "3", "-o", "null", "--insecure")
        self.end(server)

    def test_a_tool_without_https_says_how_to_get_it(self):
        if self.trial.code == OK:
            self.skipTest("the tool was built with HTTPS")
        self.assertRefused(self.trial, NO_INPUT, "cert.pem", "without TLS", "make release TLS=1")
