"""MJPEG over HTTP, both ways: other programs read what the tool serves, and it reads what they and itself serve."""

import http.server
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

from support import media
from support.tool import NO_INPUT, OK, PERMISSION, USAGE, ToolTestCase

SERVING = re.compile(r"(?:Serving |\"url\":\")(https?://[^\s\"]+/)")


class MJPEGTestCase(ToolTestCase):
    def serve(self, *options, source=("--source", "noise", "--preset", "160x120")):
        """A server that has begun, and its address."""
        server = self.start(*source, "--serve", "127.0.0.1:0", *options)
        deadline = time.monotonic() + 20
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
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
            return answer.read()

    def wait_for_stream(self, url):
        """Servers listen before they answer."""
        deadline = time.monotonic() + 20
        while True:
            try:
                with urllib.request.urlopen(url, timeout=20) as answer:
                    if answer.read(1000):
                        return
            except OSError:
                self.assertLess(time.monotonic(), deadline, f"{url} does not answer")
                time.sleep(0.2)

    def run_program(self, *command, limit=40):
        run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             timeout=limit, cwd=self.folder)
        self.assertEqual(run.returncode, 0, run.stderr.decode(errors="replace")[-2000:])
        return run.stdout


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
        with urllib.request.urlopen(url + "stream", timeout=20) as viewer:
            self.assertTrue(viewer.read(1000))
            began = time.monotonic()
            self.end(server)
            self.assertLess(time.monotonic() - began, 10)

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

    def test_https(self):
        self.run_program("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out",
                         "cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext",
                         "subjectAltName=IP:127.0.0.1,DNS:localhost")
        server, url = self.serve("--serve-certificate", "cert.pem", "--serve-key", "key.pem")
        self.assertTrue(url.startswith("https:"))
        picture = self.run_program("curl", "-sSf", "--cacert", "cert.pem", f"{url}snapshot")
        self.assertEqual(picture[:2], b"\xff\xd8")
        # And our own client: a wrong certificate is refused, a trusted or accepted one is not.
        self.assertNotEqual(self.run_tool("--input", f"{url}stream", "--frames", "3", "-o", "null").code, OK)
        self.succeed("--input", f"{url}stream", "--frames", "3", "-o", "null", "--ca-file", "cert.pem")
        self.succeed("--input", f"{url}stream", "--frames", "3", "-o", "null", "--insecure")
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
                (["--serve", "0", "--serve-certificate", "none.pem"], NO_INPUT, ["none.pem"]),
                (["--serve", port], None, [port])]:
            with self.subTest(options=options):
                run = self.run_tool("--source", "noise", "--frames", "1", *options)
                self.assertNotEqual(run.code, OK)
                self.assertRefused(run, code or run.code, *words)
                self.assertNotIn("secret", run.stderr)
        self.end(server)

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
            with socket.create_connection((host, port), timeout=10) as connection:
                if index % 10 == 1:
                    connection.sendall(b"GET /snapshot HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                    connection.recv(64)
                elif index % 10 == 2:
                    connection.sendall(b"GET /str")
                elif index % 10 == 3:
                    connection.sendall(b"GET /stream HTTP/1.0\r\n\r\n")
                    connection.recv(64)
                elif index % 10 == 4:
                    connection.sendall(b"\x16\x03\x01 \r\n\r\n")
        deadline = time.monotonic() + 20
        while descriptors() > before + 2:
            self.assertLess(time.monotonic(), deadline, f"{descriptors()} descriptors, before {before}")
            time.sleep(0.05)
        run = self.end(server)
        last = json.loads(run.stderr.splitlines()[-1])
        self.assertEqual(last["event"], "summary")
        self.assertEqual(last["capture"]["dropped"]["total"], 0, "the capture was slowed")
        self.assertLess(run.peak, 300 << 20)

    def is_wrapped(self, server):
        return os.readlink(f"/proc/{server.process.pid}/exe").endswith("prlimit")

    def test_warns_of_everyone(self):
        server = self.start("--source", "noise", "--serve", "0.0.0.0:0", "--duration", "1")
        run = server.finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertRegex(run.stderr, r"(?i)warning: .*password")


class CapturerTests(MJPEGTestCase):
    def test_round_trip(self):
        clip = self.folder / "clip.y4m"
        media.make_y4m(clip, width=160, height=120, frames=10)
        server, url = self.serve("--jpeg-quality", "95", source=("--input", clip, "--loop"))
        self.succeed("--source", "mjpeg", "--input", f"{url}stream", "--frames", "30", "-o", "a.webm", "-o", "a.y4m")
        self.assertEqual(media.probe(self.folder / "a.webm")["errors"], "")
        header, frames = media.y4m_frames(self.folder / "a.y4m")
        self.assertEqual(len(frames), 30)
        # JPEG's numbers are of full range, the clip's are not; both show the same.
        own = self.decode_gray(clip, "10")
        ours = self.decode_gray(self.folder / "a.y4m", "30")
        size = 160 * 120
        pictures = [own[index:index + size] for index in range(0, len(own), size)]
        for start in range(0, len(ours), size):
            shown = ours[start:start + size]
            least = min(sum(abs(a - b) for a, b in zip(shown, picture)) / size for picture in pictures)
            self.assertLess(least, 3, "mean difference of luma from the nearest picture of the clip")
        self.end(server)

    def decode_gray(self, file, frames):
        return self.run_program("ffmpeg", "-v", "error", "-i", str(file), "-frames:v", frames, "-vf",
                                "scale=out_range=full,format=gray", "-f", "rawvideo", "-")

    def test_passes_a_cameras_pictures_on_untouched(self):
        """Server → tool as a client and a server → viewer: the JPEG is the same byte for byte."""
        clip = self.folder / "clip.y4m"
        media.make_y4m(clip, width=160, height=120, frames=1)
        camera, camera_url = self.serve(source=("--input", clip, "--loop"))
        relay, relay_url = self.serve(source=("--input", f"{camera_url}stream"))
        self.assertEqual(self.fetch(camera_url + "snapshot"), self.fetch(relay_url + "snapshot"))
        self.end(relay)
        self.end(camera)

    def test_reads_ffmpeg(self):
        port = free_port()
        peer = subprocess.Popen(
            ["ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25", "-f", "mpjpeg",
             "-listen", "1", f"http://127.0.0.1:{port}/x"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for_listener(port)
            self.succeed("--input", f"http://127.0.0.1:{port}/x", "--frames", "25", "-o", "a.webm")
        finally:
            peer.kill()
            peer.wait()
        probe = media.probe(self.folder / "a.webm")
        self.assertEqual(probe["errors"], "")

    def test_reads_motion_that_reads_it(self):
        camera, url = self.serve(source=("--source", "noise", "--preset", "320x240", "--fps", "15"))
        port = free_port()
        (self.folder / "motion.conf").write_text(f"""
            daemon off
            setup_mode off
            target_dir {self.folder}
            netcam_url {url}stream
            width 320
            height 240
            framerate 15
            stream_port {port}
            stream_localhost on
            stream_maxrate 15
            webcontrol_port 0
            picture_output off
            movie_output off
            threshold 76000
            """.replace("            ", ""))
        peer = subprocess.Popen(["motion", "-n", "-c", "motion.conf"], cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.wait_for_stream(f"http://127.0.0.1:{port}/")
            self.succeed("--input", f"http://127.0.0.1:{port}/", "--frames", "20", "-o", "a.webm")
        finally:
            peer.terminate()
            try:
                peer.wait(10)
            except subprocess.TimeoutExpired:
                peer.kill()
                peer.wait()
        self.assertEqual(media.probe(self.folder / "a.webm")["errors"], "")
        self.end(camera)

    def test_reads_vlc(self):
        self.run_program("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=15", "-t", "5", "-pix_fmt",
                         "yuvj420p", "-c:v", "mjpeg", "clip.avi")
        port = free_port()
        # Its server names no boundary by itself.
        output = ("#std{access=http{mime=multipart/x-mixed-replace;boundary=7b3cc56e5f51db803f790dad720ed50a},mux=mpjpeg,"
                  f"dst=127.0.0.1:{port}/v}}")
        command = ["cvlc", "-I", "dummy", "--loop", "--no-audio", "clip.avi", "--sout", output]
        if os.geteuid() == 0:
            # It refuses to be run by root.
            os.chmod(self.folder, 0o755)
            command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
        peer = subprocess.Popen(command, cwd=self.folder, env={**os.environ, "HOME": "/nonexistent"},
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.wait_for_stream(f"http://127.0.0.1:{port}/v")
            self.succeed("--input", f"http://127.0.0.1:{port}/v", "--frames", "20", "-o", "a.webm")
        finally:
            peer.kill()
            peer.wait()
        self.assertEqual(media.probe(self.folder / "a.webm")["errors"], "")

    def test_an_hour_of_pictures_with_reconnects(self):
        """108,000 pictures as fast as they come, and the connection lost after each 3,600. The newest win; all count."""
        self.run_program("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x48", "-frames:v", "1", "-pix_fmt",
                         "yuvj420p", "one.jpg")
        camera = HastyCamera((self.folder / "one.jpg").read_bytes(), frames=3600)
        self.addCleanup(camera.close)
        run = self.start("--input", camera.url, "-o", "null", "--stats", "json")
        memory, descriptors, came = [], [], 0
        deadline = time.monotonic() + 120
        while came < 108_000:
            self.assertLess(time.monotonic(), deadline, f"{came} pictures, {camera.connections} connections")
            time.sleep(0.5)
            told = [json.loads(line) for line in run.peek().splitlines() if line.startswith("{")]
            came = max((event["capture"]["frames"] + event["capture"]["dropped"]["total"]
                        for event in told if "capture" in event), default=0)
            process = pathlib.Path(f"/proc/{run.process.pid}")
            memory.append(int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
            descriptors.append(len(list((process / "fd").iterdir())))
        run.send(signal.SIGINT)
        run.finish()
        self.assertGreaterEqual(camera.connections, 30)
        settled = len(memory) // 3
        self.assertLess(max(memory[settled:]) - memory[settled], 8 << 20, f"resident memory: {memory}")
        self.assertLessEqual(max(descriptors[settled:]), max(descriptors[:settled]) + 2, f"descriptors: {descriptors}")

    def test_goes_on_after_a_loss(self):
        server, url = self.serve()
        port = re.search(r":(\d+)/", url)[1]
        reader = self.start("--input", f"{url}stream", "-o", "a.webm")
        reader.wait_for_file(self.folder / "a.webm", 30_000)
        self.end(server)
        size = (self.folder / "a.webm").stat().st_size
        again = self.start("--source", "noise", "--preset", "160x120", "--serve", f"127.0.0.1:{port}")
        reader.wait_for_file(self.folder / "a.webm", size + 60_000, limit=25)
        reader.send(signal.SIGINT)
        run = reader.finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertEqual(media.probe(self.folder / "a.webm")["errors"], "")
        self.end(again)

    def test_wrong_addresses(self):
        server, url = self.serve("--serve-login", "ann:secret")
        host = url.removeprefix("http://")
        for address, code, words in [
                (f"http://127.0.0.1:{free_port()}/", NO_INPUT, ["127.0.0.1"]),
                ("http://nowhere.invalid/stream", NO_INPUT, ["nowhere.invalid"]),
                (f"{url}stream", PERMISSION, ["user"]),
                (f"http://ann:wrong@{host}stream", PERMISSION, []),
                (f"http://ann:secret@{host}nothing", NO_INPUT, ["404"]),
                (f"http://ann:secret@{host}", NO_INPUT, ["text/html"])]:
            with self.subTest(address=address):
                run = self.run_tool("--source", "mjpeg", "--input", address, "--frames", "1", "-o", "null")
                self.assertRefused(run, code, *words)
                self.assertNotIn("secret", run.stderr)
                self.assertNotIn("wrong", run.stderr)
        self.succeed("--input", f"http://ann:secret@{host}stream", "--frames", "3", "-o", "null")
        self.end(server)


class HastyCamera:
    """Serves a picture as fast as it is taken, and hangs up after so many."""

    def __init__(self, picture, frames):
        self.connections = 0
        part = (b"--x\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(picture)) + picture + b"\r\n"
        camera = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                camera.connections += 1
                self.send_response(200)
                self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=x")
                self.end_headers()
                try:
                    for _ in range(frames // 20):
                        self.wfile.write(part * 20)
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


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for_listener(port):
    """Looks into the kernel's table, since a connection would count as the viewer."""
    wanted = f"0100007F:{port:04X}"
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with open("/proc/net/tcp", encoding="ascii") as table:
            if any(line.split()[1] == wanted and line.split()[3] == "0A" for line in table):
                return
        time.sleep(0.05)
    raise AssertionError(f"nobody listens on {port}")
