"""Other programs at both ends of a stream: ffmpeg, ffplay, GStreamer, VLC, socat, nginx, srt-live-transmit."""

import json
import signal
import socket
import ssl
import subprocess
import threading
import time

from support import media
from support.mjpeg import free_port, wait_for_listener
from support.screen import Screen
from support.stream import PICTURES, StreamTestCase, free_udp_port
from support.tool import IO, OK

RED = ("--input", "red.y4m", "--loop")
# As few delays as it can be told to have.
FFPLAY = ("ffplay", "-v", "error", "-an", "-fflags", "nobuffer", "-flags", "low_delay", "-framedrop", "-probesize", "32",
          "-analyzeduration", "0", "-sync", "ext")


class ReceiverTests(StreamTestCase):
    """They read what the tool sends over TCP."""

    WAITS = True
    LATER = True

    def end_of_good_sender(self, sender):
        run = self.end(sender)
        self.assertRegex(run.stderr, r"Sent \d+ packets", str(run))

    def test_ffmpeg_without_a_hint(self):
        """The first bytes are enough to find out what comes."""
        for query in "listen", "listen&format=matroska":
            with self.subTest(query=query):
                sender, port = self.send(query=query)
                self.assertEqual(self.frames("-i", f"tcp://127.0.0.1:{port}"), 30)
                self.end_of_good_sender(sender)

    def test_ffmpeg_copies_it_into_a_file(self):
        """A raw stream states its rate, so that a copy has times."""
        sender, port = self.send()
        copied = media.command(
            "ffmpeg", "-v", "error", "-f", "h264", "-i", f"tcp://127.0.0.1:{port}", "-frames:v", "60", "-c", "copy",
            self.folder / "copy.mp4")
        self.assertEqual(copied.returncode, 0, copied.stderr.decode(errors="replace"))
        found = media.probe(self.folder / "copy.mp4")
        self.assertEqual((found["stream"]["r_frame_rate"], len(found["packets"])), ("30/1", 60))
        self.assertAlmostEqual(float(found["format"]["duration"]), 2, delta=0.2)
        self.end_of_good_sender(sender)

    def test_gstreamer(self):
        for query, demuxer in ("listen", "h264parse"), ("listen&format=matroska", "matroskademux ! h264parse"):
            with self.subTest(query=query):
                sender, port = self.send(query=query)
                file = self.folder / f"{demuxer[:4]}.yuv"
                self.begin(
                    "gst-launch-1.0", "-q", "tcpclientsrc", "host=127.0.0.1", f"port={port}", "!", *demuxer.split(),
                    "!", "avdec_h264", "max-threads=1", "!", "filesink", f"location={file}")
                # 30 pictures.
                self.wait_for_size(file, 30 * 160 * 120 * 3 // 2)
                self.end_of_good_sender(sender)

    def test_vlc(self):
        sender, port = self.send()
        # It guesses the name of the demuxer from the end of an address only.
        self.begin(
            "cvlc", "-I", "dummy", "--no-audio", "--demux", "h264", "--sout", "#std{access=file,mux=ts,dst=vlc.ts}",
            f"tcp://127.0.0.1:{port}")
        self.wait_for_packets(self.folder / "vlc.ts", 60)
        frames, _ = media.decode(self.folder / "vlc.ts")
        self.assertGreaterEqual(frames, 50)
        self.end_of_good_sender(sender)

    def test_socat(self):
        sender, port = self.send()
        read = subprocess.Popen(
            ["socat", "-u", f"TCP:127.0.0.1:{port}", "CREATE:socat.h264"], cwd=self.folder, stdin=subprocess.DEVNULL)
        file = self.folder / "socat.h264"
        sender.wait_for_file(file, 40_000)
        self.end_of_good_sender(sender)
        self.assertEqual(read.wait(60), 0, "the connection ends in good order")
        frames, errors = media.decode(file)
        self.assertGreater(frames, 30)
        # The delimiter after the last picture begins one that does not follow.
        self.assertLessEqual(errors.count("no frame!"), 1, errors)
        self.assertNotRegex(errors, "concealing|error while decoding MB|non-existing", errors)

    def test_through_socat_to_ffmpeg_that_listens(self):
        """Both ends connect, or both listen."""
        theirs, between = free_port(), free_port()
        peer = self.begin(
            "ffmpeg", "-v", "error", "-f", "h264", "-i", f"tcp://127.0.0.1:{theirs}?listen=1", "-frames:v", "30", "-c",
            "copy", self.folder / "peer.mkv")
        wait_for_listener(theirs)
        self.begin("socat", f"TCP-LISTEN:{between},bind=127.0.0.1", f"TCP:127.0.0.1:{theirs}")
        wait_for_listener(between)
        sender = self.start("--input", "clip.y4m", "--loop", "-o", f"tcp://127.0.0.1:{between}")
        self.assertEqual(peer.wait(60), 0)
        self.assertEqual(len(media.probe(self.folder / "peer.mkv")["packets"]), 30)
        # Its receiver may be known to be gone, or not yet.
        sender.send(signal.SIGINT)
        self.assertIn(sender.finish().code, (OK, IO))


class PlayerTests(StreamTestCase):
    """Players show what the tool sends; read from the screen. Needs Xvfb."""

    WAITS = True
    LATER = True

    def setUp(self):
        super().setUp()
        made = media.command(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=red:size=320x240:rate=30", "-frames:v", "30",
            "-pix_fmt", "yuv420p", self.folder / "red.y4m")
        self.assertEqual(made.returncode, 0, made.stderr.decode(errors="replace"))
        self.screen = Screen()
        self.addCleanup(self.screen.close)

    def assertShown(self, query, *player):
        sender, port = self.send(query=query, clip=RED)
        self.screen.open(*[word.replace("PORT", str(port)) for word in player])
        deadline = time.monotonic() + 60
        while not (pixel := self.screen.pixel(160, 120)) or not (pixel[0] > 200 > 60 > max(pixel[1:])):
            self.assertLess(time.monotonic(), deadline, f"the screen shows {pixel}")
            time.sleep(0.05)
        self.end(sender)

    def test_ffplay(self):
        self.assertShown("listen", *FFPLAY, "-f", "h264", "tcp://127.0.0.1:PORT")

    def test_ffplay_without_a_flag(self):
        """With timestamps it needs none."""
        self.assertShown("listen&format=matroska", "ffplay", "-v", "error", "tcp://127.0.0.1:PORT")

    def test_gstreamer(self):
        self.assertShown(
            "listen", "gst-launch-1.0", "-q", "tcpclientsrc", "host=127.0.0.1", "port=PORT", "!", "h264parse", "!",
            "avdec_h264", "max-threads=1", "!", "videoconvert", "!", "ximagesink", "sync=false")


class SenderTests(StreamTestCase):
    """The tool reads what they send over TCP."""

    WAITS = True
    LATER = True

    def connect(self, port, *options):
        """What the tool receives of a peer that listens: 25 pictures."""
        run = self.succeed(
            "--input", f"tcp://127.0.0.1:{port}", "-o", "received.webm", "--frames", "25", *options)
        self.assertEqual(len(media.times(self.folder / "received.webm")), 25, str(run))
        (self.folder / "received.webm").unlink()

    def test_ffmpeg_listens(self):
        for container in "h264", "mpegts", "matroska", "flv":
            with self.subTest(container=container):
                port = free_port()
                self.begin("ffmpeg", "-v", "error", *PICTURES, "-f", container, f"tcp://127.0.0.1:{port}?listen=1")
                wait_for_listener(port)
                self.connect(port)

    def gst_pictures(self, *rest):
        return ("gst-launch-1.0", "-q", "videotestsrc", "is-live=true", "!",
                "video/x-raw,format=I420,width=160,height=120,framerate=30/1", "!", "x264enc", "tune=zerolatency",
                "key-int-max=15", "!", *rest)

    def test_gstreamer_listens(self):
        for muxer in ("video/x-h264,stream-format=byte-stream",), ("matroskamux", "streamable=true"), ("mpegtsmux",):
            with self.subTest(muxer=muxer):
                port = free_port()
                self.begin(*self.gst_pictures(
                    *muxer, "!", "tcpserversink", "host=127.0.0.1", f"port={port}", "sync=false",
                    # A container has its header at the beginning only.
                    *(("recover-policy=keyframe", "sync-method=latest-keyframe") if len(muxer) == 1 else ())))
                wait_for_listener(port)
                self.connect(port)

    def test_gstreamer_connects(self):
        receiver, port = self.receive("--frames", "25")
        self.begin(*self.gst_pictures(
            "video/x-h264,stream-format=byte-stream", "!", "tcpclientsink", "host=127.0.0.1", f"port={port}"))
        run = receiver.finish()
        self.assertEqual(run.code, OK, str(run))

    def test_socat_listens(self):
        port = free_port()
        pictures = self.begin("ffmpeg", "-v", "error", *PICTURES, "-f", "h264", "-", stdout=subprocess.PIPE)
        self.begin("socat", "-u", "STDIN", f"TCP-LISTEN:{port},bind=127.0.0.1", stdin=pictures.stdout)
        wait_for_listener(port)
        self.connect(port, "--stream-format", "h264")

    def test_socat_connects(self):
        receiver, port = self.receive("--frames", "25")
        pictures = self.begin("ffmpeg", "-v", "error", *PICTURES, "-f", "h264", "-", stdout=subprocess.PIPE)
        self.begin("socat", "-u", "STDIN", f"TCP:127.0.0.1:{port}", stdin=pictures.stdout)
        run = receiver.finish()
        self.assertEqual(run.code, OK, str(run))


class MuxedOutputTests(StreamTestCase):
    """Servers and players take what FFmpeg's muxers send."""

    LATER = True

    def send_90(self, url, *options):
        """Sends 90 frames, of which the encoder may skip some; the number of packets, of which none is lost."""
        run = self.succeed(
            "--input", "clip.y4m", "--loop", "--frames", "90", *options, "-o", url, "--stats", "json")
        output = json.loads(run.stderr.splitlines()[-1])["outputs"][0]
        self.assertEqual(output["packetsDropped"], 0, output)
        self.assertGreater(output["packets"], 60, output)
        return output["packets"]

    def test_nginx_records_rtmp(self):
        port = free_port()
        self.begin_nginx(port)
        sent = self.send_90(f"rtmp://127.0.0.1:{port}/live/key", "--audio", "tone")
        self.wait_for_packets(self.folder / "key.flv", sent)
        found = media.probe(self.folder / "key.flv")
        self.assertEqual({stream["codec_name"] for stream in found["streams"]}, {"h264", "aac"})
        self.assertEqual((len(found["packets"]), found["errors"]), (sent, ""))
        # 3 s of sound, with a delay of 1024 samples before it.
        sound = [packet for packet in found["packets"] if packet["codec_type"] == "audio"]
        self.assertAlmostEqual(len(sound), 3 * 48_000 / 1024 + 1, delta=2)

    def test_srt_live_transmit(self):
        port = free_udp_port()
        file = self.folder / "srt.ts"
        with open(file, "wb") as output:
            peer = self.begin(
                "srt-live-transmit", "-q", "-a", "no", f"srt://127.0.0.1:{port}?mode=listener", "file://con",
                stdout=output)
        # A caller waits for three seconds.
        wait_for_listener(port, "udp")
        sent = self.send_90(f"srt://127.0.0.1:{port}")
        self.assertEqual(peer.wait(60), 0)
        self.assertEqual(len(media.probe(file)["packets"]), sent)

    def test_vlc_receives_udp(self):
        port = free_udp_port()
        self.begin(
            "cvlc", "-I", "dummy", "--no-audio", "--sout", "#std{access=file,mux=ts,dst=vlc.ts}",
            f"udp://@127.0.0.1:{port}")
        sender = self.start("--input", "clip.y4m", "--loop", "-o", f"udp://127.0.0.1:{port}")
        self.wait_for_packets(self.folder / "vlc.ts", 60)
        frames, _ = media.decode(self.folder / "vlc.ts")
        self.assertGreaterEqual(frames, 50)
        self.end(sender)

    def test_vlc_reads_what_nginx_serves(self):
        port = free_port()
        self.begin_nginx(port)
        sender = self.start("--input", "clip.y4m", "--loop", "-o", f"rtmp://127.0.0.1:{port}/live/key")
        self.wait_for_packets(self.folder / "key.flv", 10)
        self.begin(
            "cvlc", "-I", "dummy", "--no-audio", "--sout", "#std{access=file,mux=ts,dst=vlc.ts}",
            f"rtmp://127.0.0.1:{port}/live/key")
        self.wait_for_packets(self.folder / "vlc.ts", 30)
        self.end(sender)

    def test_nginx_restarts(self):
        """The output is live again when the server is back, and nobody else has lost anything."""
        port = free_port()
        server = self.begin_nginx(port)
        sender = self.start(
            "--input", "clip.y4m", "--loop", "-o", f"rtmp://127.0.0.1:{port}/live/key", "-o", "a.webm", "--stats", "json")
        self.wait_for_status(sender, lambda status: status["outputs"][0]["packets"] >= 30)
        self.kill(server)
        self.wait_for_status(sender, lambda status: status["outputs"][0]["status"] == "reconnecting")
        (self.folder / "key.flv").unlink()
        self.begin_nginx(port)
        self.wait_for_status(sender, lambda status: status["outputs"][0]["reconnections"] == 1)
        self.wait_for_packets(self.folder / "key.flv", 30)
        run = self.end(sender)
        last = json.loads(run.stderr.splitlines()[-1])
        self.assertEqual(len(media.times(self.folder / "a.webm")), last["capture"]["frames"])


class CertificateTests(StreamTestCase):
    """Servers that nobody has vouched for."""

    WAITS = True
    LATER = True

    def test_the_key_of_a_stream_is_for_a_trusted_server_alone(self):
        made = media.command(
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.folder / "key.pem", "-out",
            self.folder / "cert.pem", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
        self.assertEqual(made.returncode, 0, made.stderr.decode(errors="replace"))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "cert.pem", self.folder / "key.pem")
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        heard, attempts = [], []

        def listen():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                attempts.append(1)
                try:
                    with context.wrap_socket(connection, server_side=True) as secure:
                        heard.append(secure.recv(4096))
                except OSError:
                    connection.close()

        threading.Thread(target=listen, daemon=True).start()
        url = f"rtmps://127.0.0.1:{listener.getsockname()[1]}/live/KEY"
        for arguments in (("--source", "noise", "--frames", "30", "-o", url), ("--input", url, "--frames", "3", "-o", "null")):
            with self.subTest(arguments=arguments):
                run = self.run_tool(*arguments)
                self.assertNotEqual(run.code, OK, str(run))
                self.assertIn("certificate is not trusted", run.stderr)
        self.assertGreaterEqual(len(attempts), 2)
        self.assertEqual(b"".join(heard), b"")
