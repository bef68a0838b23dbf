"""RTP to other programs, which find in the session description what they need, and ask for key frames."""

import array
import json
import math
import random
import signal
import socket
import struct
import time

from support import media, numbered
from support.stream import StreamTestCase
from support.tool import BUSY, NO_INPUT, OK, USAGE

WIDTH, HEIGHT = 160, 120
NOISE = ("--source", "noise", "--preset", "160x120", "--fps", "30")


def free_ports(count):
    """The first of some successive ports of UDP that are free, and none of those that the system hands out."""
    while True:
        sockets = []
        try:
            first = random.randrange(10_000, 32_768 - count)
            for index in range(count):
                trial = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                sockets.append(trial)
                trial.bind(("127.0.0.1", first + index))
            return first
        except OSError:
            continue
        finally:
            for trial in sockets:
                trial.close()


class RTPTests(StreamTestCase):
    LATER = True

    def setUp(self):
        super().setUp()
        numbered.write(self.folder / "numbers.y4m", 240, WIDTH, HEIGHT)

    def send_rtp(self, *options, query="", interval="1", source=("--input", "numbers.y4m", "--loop")):
        """A run that sends the numbers, and its first port; its description is in stream.sdp."""
        port = free_ports(4)
        (self.folder / "stream.sdp").unlink(missing_ok=True)
        sender = self.start(
            *source, "--bitrate", "1M", "--keyframe-interval", interval, "--stats", "json",
            "-o", f"rtp://127.0.0.1:{port}?sdp=stream.sdp{query}", *options)
        sender.wait_for_file(self.folder / "stream.sdp")
        return sender, port

    def assertInOrder(self, found, count):
        """The number of pictures, and their order. On a busy machine a live encoder leaves one out now and then."""
        self.assertEqual(len(found), count, found)
        for first, second in zip(found, found[1:]):
            self.assertIn((second - first) % 240, range(1, 30), found)

    def output(self, run):
        return json.loads(run.stderr.splitlines()[-1])["outputs"][0]

    def read_with_ffmpeg(self, *arguments):
        result = media.command(
            "ffmpeg", "-v", "error", "-protocol_whitelist", "file,udp,rtp", "-i", self.folder / "stream.sdp", *arguments,
            "-")
        self.assertEqual(result.returncode, 0, result.stderr.decode(errors="replace"))
        return result.stdout

    def test_ffmpeg_reads_the_description(self):
        for codec in ("vp8", "h264"):
            with self.subTest(codec=codec):
                sender, _ = self.send_rtp(query=f"&codec={codec}")
                gray = self.read_with_ffmpeg(
                    "-frames:v", "40", "-fps_mode", "passthrough", "-pix_fmt", "gray", "-f", "rawvideo")
                self.assertInOrder(numbered.read(gray, WIDTH, HEIGHT), 40)
                run = self.end(sender)
                report = self.output(run)
                self.assertGreater(report["packetsSent"], 40)
                self.assertEqual(report["packetsUnsent"], 0, report)
                self.assertGreaterEqual(report["reportsSent"], 1)
                if codec == "h264":
                    self.assertIn("sprop-parameter-sets=", (self.folder / "stream.sdp").read_text())

    def test_gstreamer_reads_the_description(self):
        for codec, elements in (("vp8", ["rtpvp8depay", "!", "vp8dec"]),
                                ("h264", ["rtph264depay", "!", "h264parse", "!", "avdec_h264", "output-corrupt=false"])):
            with self.subTest(codec=codec):
                sender, _ = self.send_rtp(query=f"&codec={codec}")
                self.assertInOrder(self.read_with_gstreamer(
                    "filesrc", f"location={self.folder}/stream.sdp", "!", "sdpdemux", "!", *elements), 30)
                self.end(sender)

    def read_with_gstreamer(self, *pipeline):
        """The numbers of the first pictures that a pipeline decodes."""
        out = self.folder / "out.gray"
        # The one that ends the stream is not written.
        result = media.command(
            "gst-launch-1.0", "-q", *pipeline, "!", "videoconvert", "!", "video/x-raw,format=GRAY8", "!", "identity",
            "eos-after=31", "!", "filesink", f"location={out}")
        self.assertEqual(result.returncode, 0, (result.stdout + result.stderr).decode(errors="replace"))
        return numbered.read(out.read_bytes(), WIDTH, HEIGHT)

    def test_gstreamer_asks_for_a_key_frame(self):
        # There is no second key frame unless it is asked for, and the receiver comes after the first.
        local = free_ports(4)
        sender, port = self.send_rtp(query=f"&local={local}", interval="3600")
        self.wait_for_status(sender, lambda status: status["outputs"][0]["packetsSent"] > 10)
        found = self.read_with_gstreamer(
            "rtpbin", "name=bin", "rtp-profile=avpf", "udpsrc", f"port={port}", "address=127.0.0.1",
            "caps=application/x-rtp,media=(string)video,clock-rate=(int)90000,encoding-name=(string)VP8,"
            "payload=(int)96,rtcp-fb-nack-pli=(boolean)true", "!", "bin.recv_rtp_sink_0",
            "udpsrc", f"port={port + 1}", "address=127.0.0.1", "!", "bin.recv_rtcp_sink_0",
            "bin.send_rtcp_src_0", "!", "udpsink", "host=127.0.0.1", f"port={local + 1}", "sync=false", "async=false",
            "bin.", "!", "rtpvp8depay", "request-keyframe=true", "wait-for-keyframe=true", "!", "vp8dec")
        self.assertInOrder(found, 30)
        report = self.output(self.end(sender))
        self.assertGreaterEqual(report["keyFramesAsked"], 1, report)
        self.assertGreaterEqual(report["keyFrameRequests"], report["keyFramesAsked"])

    def test_sound(self):
        sender, port = self.send_rtp("--audio", "tone", "--tone-frequency", "440", source=NOISE)
        self.assertIn(f"m=audio {port + 2} RTP/AVPF 111", (self.folder / "stream.sdp").read_text())
        samples = array.array("f", self.read_with_ffmpeg(
            "-map", "0:a", "-t", "1", "-ac", "1", "-ar", "48000", "-f", "f32le"))
        self.assertGreater(len(samples), 40_000)
        # Behind the decoder's beginning: the amplitude at the tone, and at another.
        part = samples[-24_000:]

        def amplitude(frequency):
            step = 2 * math.pi * frequency / 48_000
            real = sum(value * math.cos(step * index) for index, value in enumerate(part))
            imaginary = sum(value * math.sin(step * index) for index, value in enumerate(part))
            return math.hypot(real, imaginary)

        self.assertGreater(amplitude(440), 50 * amplitude(1234))
        self.end(sender)

    def test_the_end_is_announced(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reports:
            for one in (receiver, reports):
                one.bind(("127.0.0.1", 0))
                one.settimeout(20)
            port, report_port = receiver.getsockname()[1], reports.getsockname()[1]
            sender = self.start(*NOISE, "-o", f"rtp://127.0.0.1:{port}?rtcp={report_port}&mtu=600&pt=100")
            sizes = []
            for _ in range(50):
                packet = receiver.recv(65536)
                sizes.append(len(packet))
                self.assertEqual((packet[0], packet[1] & 127), (0x80, 100))
            self.assertLessEqual(max(sizes), 600)
            first, address = reports.recvfrom(65536)
            self.assertEqual(first[:2], b"\x80\xc8")
            wall = int.from_bytes(first[8:12], "big") - 2_208_988_800
            self.assertLess(abs(wall - time.time()), 30, "the wall clock of the first report")
            # A flood of requests from garbage to key frames does not disturb it.
            source = first[4:8]
            for _ in range(1000):
                reports.sendto(b"\x81\xce\x00\x02\0\0\0\1" + source, address)
                reports.sendto(b"\x81\xcd\xff\xff" + bytes(20), address)
            sender.send(signal.SIGINT)
            run = sender.finish()
            self.assertEqual(run.code, OK, str(run))
            last = first
            reports.settimeout(5)
            while last[-8:-6] != b"\x81\xcb":
                last = reports.recv(65536)
            self.assertEqual(last[-4:], source)
            lines = run.stderr.splitlines()
            self.assertIn(f"m=video {port} RTP/AVPF 100", lines, "the description is printed")
            self.assertIn(f"a=rtcp:{report_port}", lines)
            self.assertRegex(run.stderr, rf"Sent \d+ packets, .*, to rtp://127\.0\.0\.1:{port}")

    def test_what_cannot_be(self):
        taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(taken.close)
        taken.bind(("127.0.0.1", 0))
        used = taken.getsockname()[1]
        (self.folder / "letter.txt").write_text("precious")
        for output, code, words in [
                ("rtp://no-such-host.invalid:5004", NO_INPUT, ["no-such-host.invalid"]),
                ("rtp://127.0.0.1", USAGE, ["port"]),
                ("rtp://127.0.0.1:5004?codek=vp8", USAGE, ["Did you mean codec?"]),
                (f"rtp://127.0.0.1:5004?from=127.0.0.1&local={used}", BUSY, [str(used)]),
                ("rtp://127.0.0.1:5004?from=192.0.2.1", NO_INPUT, ["192.0.2.1"]),
                ("rtp://127.0.0.1:5004?sdp=letter.txt", USAGE, ["letter.txt", "not a session description"]),
                ("rtp://127.0.0.1:5004?sdp=no/such/folder.sdp", NO_INPUT, ["no/such/folder.sdp"]),
        ]:
            with self.subTest(output=output):
                self.assertRefused(self.run_tool(*NOISE, "-o", output), code, *words)
        self.assertEqual((self.folder / "letter.txt").read_text(), "precious")
        run = self.run_tool(*NOISE, "--codec", "h264", "-o", "rtp://127.0.0.1:5004")
        self.assertRefused(run, USAGE, "--codec", "vp8")


class FloodTests(StreamTestCase):
    """A receiver that asks for all there is, a thousand times per second."""

    LATER = True
    BITRATE = 1_000_000

    def flood(self, make_message, seconds=2):
        """Sends messages, and reads what comes meanwhile."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(20):
                self.reports.sendto(make_message(), self.address)
            self.read()
            time.sleep(0.02)

    def read(self):
        while True:
            try:
                packet = self.receiver.recv(2000)
            except BlockingIOError:
                return
            number = int.from_bytes(packet[2:4], "big")
            if number in self.numbers:
                self.resent += len(packet)
            self.numbers.add(number)
            self.newest = number

    def message(self, kind, form, *words):
        """A message of RTCP, of 32-bit words behind the header."""
        return struct.pack(f">BBH{len(words)}I", 0x80 | form, kind, len(words), *words)

    def lost(self):
        """A request for the last thousand packets."""
        first = (self.newest - 1020) & 0xFFFF
        entries = [((first + 17 * index) & 0xFFFF) << 16 | 0xFFFF for index in range(60)]
        return self.message(205, 1, 1, self.source, *entries)

    def test_a_flood_of_requests(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as self.receiver, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as self.reports:
            for one in (self.receiver, self.reports):
                one.bind(("127.0.0.1", 0))
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            self.reports.settimeout(60)
            self.receiver.setblocking(False)
            self.numbers, self.resent, self.newest = set(), 0, 0
            begin = time.monotonic()
            sender = self.start(
                *NOISE, "--bitrate", str(self.BITRATE), "--keyframe-interval", "3600", "--stats", "json", "-o",
                "rtp://127.0.0.1:{}?rtcp={}".format(*(one.getsockname()[1] for one in (self.receiver, self.reports))))
            report, self.address = self.reports.recvfrom(2000)
            self.source = int.from_bytes(report[4:8], "big")
            self.flood(lambda: self.message(206, 1, 1, self.source))
            self.flood(self.lost)
            self.flood(lambda: self.message(201, 0, 1))
            # The stream goes on.
            self.numbers.clear()
            self.wait_for_status(sender, lambda status: not self.read() and len(self.numbers) > 30)
            output = json.loads(self.end(sender).stderr.splitlines()[-1])["outputs"][0]
            elapsed = time.monotonic() - begin
        # By time, whatever the machine does meanwhile: 200 messages per second, a key frame per 300 ms, half of the bitrate.
        self.assertGreater(output["messagesIgnored"], 100, output)
        self.assertGreater(output["keyFrameRequests"], 100, output)
        self.assertLessEqual(output["keyFrameRequests"], 200 * (elapsed + 1), output)
        self.assertGreater(output["keyFramesAsked"], 0, output)
        self.assertLessEqual(output["keyFramesAsked"], elapsed / 0.3 + 1, output)
        self.assertGreater(self.resent, 0, output)
        self.assertLessEqual(self.resent, (elapsed + 1) * self.BITRATE / 16, output)
