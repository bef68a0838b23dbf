"""RTSP to players and recorders: FFmpeg and GStreamer, on the connection and by datagrams, with a login, and hostile ones."""

import json
import re
import signal
import socket
import ssl
import subprocess
import time

from support import media, network, numbered
from support.stream import StreamTestCase
from support.tool import NO_INPUT, OK, PERMISSION, USAGE, environment

WIDTH, HEIGHT = 160, 120
SERVING = re.compile(r'"url":"rtsps?://127\.0\.0\.1:(\d+)/cam"')
RAW = ("-fps_mode", "passthrough", "-pix_fmt", "gray", "-f", "rawvideo")


class RTSPTestCase(StreamTestCase):
    """A test with a server of numbered pictures."""

    LATER = True

    def serve(self, *options, query="", interval="1", source=None):
        """A run that serves the numbers, and its URL."""
        if source is None:
            numbered.write(self.folder / "numbers.y4m", 240, WIDTH, HEIGHT)
            source = ("--input", "numbers.y4m", "--loop")
        server = self.start(
            *source, "--bitrate", "1M", "--keyframe-interval", interval, "--stats", "json",
            "-o", f"rtsp://127.0.0.1:0/cam?listen{query}", *options)
        return server, f"rtsp://127.0.0.1:{self.wait_for_port(server, SERVING)}/cam"

    def assertInOrder(self, found, count):
        """The number of pictures, and their order. On a busy machine a live encoder leaves one out now and then."""
        self.assertEqual(len(found), count, found)
        for first, second in zip(found, found[1:]):
            self.assertIn((second - first) % 240, range(1, 30), found)

    def output(self, run):
        return json.loads(run.stderr.splitlines()[-1])["outputs"][0]

    def ffmpeg(self, url, transport, *arguments):
        """A player that has begun, and writes to its standard output."""
        # ffmpeg waits forever for the second track where there is none of it.
        player = subprocess.Popen(
            ["ffmpeg", "-v", "error", "-nostdin", "-rtsp_transport", transport, "-i", url, *arguments, "-"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(player.kill)
        return player

    def ask(self, url, text):
        """What a server answers on a connection that then ends, or sends nothing for a while."""
        port = int(url.split(":")[2].split("/")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(text if isinstance(text, bytes) else text.encode())
            return connection.recv(65536).decode(errors="replace")


class PlayerTests(RTSPTestCase):
    def test_ffmpeg_and_gstreamer_at_once(self):
        server, url = self.serve()
        players = {way: self.ffmpeg(url, way, "-frames:v", "30", *RAW) for way in ("tcp", "udp")}
        for way in ("tcp", "udp"):
            out = self.folder / f"{way}.gray"
            # The one that ends the stream is not written.
            players[f"gst {way}"] = subprocess.Popen(
                ["gst-launch-1.0", "-q", "rtspsrc", f"location={url}", f"protocols={way}", "!", "rtph264depay", "!",
                 "h264parse", "!", "avdec_h264", "output-corrupt=false", "!", "videoconvert", "!", "video/x-raw,format=GRAY8", "!", "identity",
                 "eos-after=31", "!", "filesink", f"location={out}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(players[f"gst {way}"].kill)
        for way, player in players.items():
            with self.subTest(way=way):
                stdout, stderr = player.communicate(timeout=60)
                if way.startswith("gst"):
                    # Its exit code says nothing: now and then it interrupts its own PAUSE at the end, and calls that an error.
                    stdout = (self.folder / f"{way[4:]}.gray").read_bytes()
                else:
                    self.assertEqual(player.returncode, 0, stderr.decode(errors="replace"))
                self.assertInOrder(numbered.read(stdout, WIDTH, HEIGHT), 30)
        report = self.output(self.end(server))
        self.assertEqual(report["sessions"], 4, report)
        self.assertEqual(report["connections"], 0, report)

    def test_pictures_and_sound(self):
        for codec, sound in (("h264", "aac"), ("vp8", "aac")):
            with self.subTest(codec=codec):
                server, url = self.serve(
                    query=f"&codec={codec}", source=("--source", "pattern", "--preset", "160x120", "--audio", "tone"))
                player = self.ffmpeg(url, "tcp", "-t", "2", "-map", "0", "-c", "copy", "-f", "matroska")
                stdout, stderr = player.communicate(timeout=60)
                self.assertEqual(player.returncode, 0, stderr.decode(errors="replace"))
                (self.folder / "got.mkv").write_bytes(stdout)
                found = media.probe(self.folder / "got.mkv")
                self.assertEqual([stream["codec_name"] for stream in found["streams"]], [codec, sound])
                for index, at_least in ((0, 15), (1, 40)):
                    packets = [packet for packet in found["packets"] if packet["stream_index"] == index]
                    self.assertGreater(len(packets), at_least)
                frames, errors = media.decode(self.folder / "got.mkv")
                self.assertEqual(errors, "")
                self.assertGreater(frames, 15)
                self.end(server)

    def test_the_end_of_the_server_ends_a_player(self):
        server, url = self.serve()
        player = self.ffmpeg(url, "udp", *RAW)
        # So that it does not wait for its reader.
        self.wait_for_status(server, lambda status: status["outputs"][0]["framesSent"] > 20)
        report = self.output(self.end(server))
        self.assertEqual((report["sessions"], report["url"]), (1, url), report)
        stdout, stderr = player.communicate(timeout=60)
        self.assertEqual(player.returncode, 0, stderr.decode(errors="replace"))
        self.assertGreater(len(numbered.read(stdout, WIDTH, HEIGHT)), 5)

    def test_a_player_without_a_later_key_frame(self):
        # There is no second one unless it is asked for.
        server, url = self.serve(interval="3600")
        self.wait_for_status(server, lambda status: status["elapsedSeconds"] > 1)
        player = self.ffmpeg(url, "tcp", "-frames:v", "10", *RAW)
        stdout, stderr = player.communicate(timeout=60)
        self.assertEqual(player.returncode, 0, stderr.decode(errors="replace"))
        self.assertInOrder(numbered.read(stdout, WIDTH, HEIGHT), 10)
        self.end(server)


class SecureTests(RTSPTestCase):
    """RTSP over TLS, of a tool built with the trait TLS, and what one without it says."""

    def setUp(self):
        super().setUp()
        self.run_program(
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.folder / "key.pem", "-out",
            self.folder / "cert.pem", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
        self.certificate = ("--serve-certificate", "cert.pem", "--serve-key", "key.pem")
        self.trial = self.run_tool(
            "--source", "noise", "--frames", "1", "-o", "rtsps://127.0.0.1:0/cam?listen", *self.certificate)

    def run_program(self, *command):
        run = media.command(*command)
        self.assertEqual(run.returncode, 0, run.stderr.decode(errors="replace")[-2000:])
        return run.stdout

    def test_players(self):
        if self.trial.code != OK:
            self.skipTest("the tool was built without TLS; make release TLS=1 brings it")
        server, url = self.serve(*self.certificate)
        port = int(url.split(":")[2].split("/")[0])
        url = url.replace("rtsp:", "rtsps:")
        # Neither a client that does not speak TLS, nor one that says nothing, does any harm.
        self.assertNotIn("RTSP/1.0", self.ask(url, "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n"))
        silent = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.addCleanup(silent.close)
        pictures = self.run_program(
            "ffmpeg", "-v", "error", "-nostdin", "-rtsp_transport", "tcp", "-i", url, "-frames:v", "30", *RAW, "-")
        self.assertInOrder(numbered.read(pictures, WIDTH, HEIGHT), 30)
        gstreamer = self.folder / "gst.gray"
        subprocess.run(
            ["gst-launch-1.0", "-q", "rtspsrc", f"location={url}", "tls-validation-flags=0", "!", "rtph264depay", "!",
             "h264parse", "!", "avdec_h264", "!", "videoconvert", "!", "video/x-raw,format=GRAY8", "!", "identity",
             "eos-after=31", "!", "filesink", f"location={gstreamer}"], capture_output=True, timeout=60)
        self.assertInOrder(numbered.read(gstreamer.read_bytes(), WIDTH, HEIGHT), 30)
        # Datagrams would not be encrypted.
        trusting = ssl.create_default_context(cafile=self.folder / "cert.pem")
        with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
            with trusting.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
                connection.sendall(
                    f"SETUP {url}/trackID=0 RTSP/1.0\r\nCSeq: 1\r\n"
                    "Transport: RTP/AVP;unicast;client_port=50000-50001\r\n\r\n".encode())
                self.assertIn("461", connection.recv(4096).decode())
        self.succeed("--input", url, "--frames", "3", "-o", "null")
        report = self.output(self.end(server))
        self.assertEqual((report["sessions"], report["url"]), (3, url), report)

    def test_refusals(self):
        address = "rtsps://127.0.0.1:0/cam?listen"
        if self.trial.code != OK:
            self.assertRefused(self.trial, NO_INPUT, "cert.pem", "without TLS", "make release TLS=1")
        for more, words in (((), "--serve-certificate"), (("--serve-key", "key.pem"), "--serve-certificate")):
            self.assertRefused(self.run_tool("--source", "noise", "-o", address, *more), USAGE, words)
        self.assertRefused(
            self.run_tool("--source", "noise", "-o", f"{address}&multicast=239.255.42.1", *self.certificate), USAGE,
            "not encrypted")


class MulticastTests(RTSPTestCase):
    def test_gstreamer_and_ffmpeg_get_the_same_datagrams(self):
        network.enter()
        other = network.Other()
        self.addCleanup(other.close)
        other.command("ip", "route", "add", "239.0.0.0/8", "dev", "there")
        numbered.write(self.folder / "numbers.y4m", 240, WIDTH, HEIGHT)
        server = self.start(
            "--input", "numbers.y4m", "--loop", "--bitrate", "1M", "--stats", "json", "-o",
            f"rtsp://{network.ADDRESS}:0/cam?listen&multicast=239.255.42.1:5004")
        port = self.wait_for_port(server, re.compile(r'"url":"rtsp://10\.77\.0\.1:(\d+)/cam"'))
        url = f"rtsp://{network.ADDRESS}:{port}/cam"
        out = self.folder / "out.gray"
        players = [
            subprocess.Popen([*other.prefix, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for arguments in (
                ["gst-launch-1.0", "-q", "rtspsrc", f"location={url}", "protocols=udp-mcast", "!", "rtph264depay", "!",
                 "h264parse", "!", "avdec_h264", "output-corrupt=false", "!", "videoconvert", "!", "video/x-raw,format=GRAY8", "!",
                 "identity", "eos-after=31", "!", "filesink", f"location={out}"],
                ["ffmpeg", "-v", "error", "-nostdin", "-rtsp_transport", "udp_multicast", "-i", url, "-frames:v", "30",
                 *RAW, "-"])]
        for player in players:
            self.addCleanup(player.kill)
        outputs = [player.communicate(timeout=60) for player in players]
        # Both may begin between two key frames.
        self.assertInOrder(numbered.read(out.read_bytes(), WIDTH, HEIGHT), 30)
        self.assertEqual(players[1].returncode, 0, outputs[1][1].decode(errors="replace"))
        self.assertGreater(len(numbered.read(outputs[1][0], WIDTH, HEIGHT)), 25)
        report = self.output(self.end(server))
        self.assertEqual(report["sessions"], 2, report)


class LoginTests(RTSPTestCase):
    def test_a_login(self):
        secret = self.folder / "secret"
        secret.write_text("bob:pa ss\n")
        server, url = self.serve("--serve-login", f"@{secret}")
        self.assertIn("401", self.ask(url, f"DESCRIBE {url} RTSP/1.0\r\nCSeq: 1\r\n\r\n"))
        inside = url.replace("//", "//bob:pa%20ss@")
        player = self.ffmpeg(inside, "tcp", "-frames:v", "5", *RAW)
        stdout, stderr = player.communicate(timeout=60)
        self.assertEqual(player.returncode, 0, stderr.decode(errors="replace"))
        self.assertInOrder(numbered.read(stdout, WIDTH, HEIGHT), 5)
        out = self.folder / "out.gray"
        media.command(
            "gst-launch-1.0", "-q", "rtspsrc", f"location={url}", "user-id=bob", "user-pw=pa ss", "protocols=tcp", "!",
            "rtph264depay", "!", "avdec_h264", "!", "videoconvert", "!", "video/x-raw,format=GRAY8", "!", "identity",
            "eos-after=6", "!", "filesink", f"location={out}")
        self.assertInOrder(numbered.read(out.read_bytes(), WIDTH, HEIGHT), 5)
        wrong = self.ffmpeg(url.replace("//", "//bob:other@"), "tcp", "-frames:v", "5", *RAW)
        _, stderr = wrong.communicate(timeout=60)
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn("401", stderr.decode(errors="replace"))
        run = self.end(server)
        self.assertNotIn("pa ss", run.stderr)

    def test_a_login_of_our_own(self):
        """It is on no command line, in no message, and does not change what is passed on and what is encoded."""
        secret = self.folder / "secret"
        secret.write_text("bob:g/e@h im\n")
        server, url = self.serve("--serve-login", f"@{secret}")
        for options, ours, passes in [
            (("--login", f"@{secret}", "-o", "a.mkv"), {}, True),
            (("--login", f"@{secret}", "--codec", "copy", "-o", "a.mkv"), {}, True),
            (("-o", "a.mkv"), {"CAPTURER_LOGIN": f"@{secret}"}, True),
            (("--login", f"@{secret}", "--codec", "vp8", "-o", "a.webm"), {}, False),
        ]:
            with self.subTest(options=options):
                run = self.succeed("--input", url, *options, "--duration", 1, "--force", "--stats", "json", env=environment(**ours))
                self.assertNotIn("g/e", run.stderr)
                last = json.loads(run.stderr.splitlines()[-1])
                self.assertEqual(last["outputs"][0]["passedOn"] is not None, passes)
        for options, words in [
            (("--login", "bob:wrong"), "refuses the user name or the password"),
            (("--login", "bob:wrong", "--codec", "copy"), "refuses the user name or the password"),
            ((), "asks for a user name and a password"),
        ]:
            with self.subTest(options=options):
                run = self.run_tool("--input", url, "-o", "b.mkv", *options)
                self.assertEqual(run.code, PERMISSION, str(run))
                self.assertIn(words, run.stderr)
        self.end(server)

    def test_warnings_and_refusals(self):
        server = self.start("--source", "pattern", "--preset", "160x120", "--serve-rtsp", "0.0.0.0:0", "--frames", "3")
        run = server.finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertIn("without a password", run.stderr)
        for arguments, words in (
                (("-o", "rtsp://0.0.0.0:8554/cam"), "?listen"), (("--serve-rtsp", "8554", "--serve-login", "a"), "NAME"),
                (("--serve-rtsp", "host"), "port"), (("--serve-rtsp", "8554", "--serve-login", "a:"), "empty")):
            with self.subTest(arguments=arguments):
                run = self.run_tool("--source", "pattern", *arguments)
                self.assertEqual(run.code, USAGE, str(run))
                self.assertIn(words, run.stderr)
