"""RTSP, RTMP, SRT and UDP as inputs, from real servers: they play, come back after a restart, and fail in a sentence."""

import json
import os
import socket
import threading

from support import media
from support.mjpeg import free_port, wait_for_listener
from support.stream import PICTURES, StreamTestCase, free_udp_port
from support.tool import IO, NO_INPUT, OK


class InputTestCase(StreamTestCase):
    def assertPlays(self, url, frames=30):
        run = self.succeed("--input", url, "--frames", str(frames), "-o", "a.webm", "--stats", "json")
        last = json.loads(run.stderr.splitlines()[-1])
        self.assertEqual((last["capture"]["frames"], last["width"], last["height"]), (frames, 160, 120))
        self.assertEqual(len(media.times(self.folder / "a.webm")), frames)
        return last

    def assertSurvives(self, url, peer, begin):
        """A recording goes on in the same file when its sender is killed and comes back.

        `peer` ends the first sender, `begin` starts another at the same address.
        """
        running = self.start("--input", url, "-o", "a.webm", "--stats", "json")
        self.wait_for_status(running, lambda status: status["capture"]["frames"] >= 20)
        peer()
        before = self.wait_for_status(running, lambda status: status["interrupted"])["capture"]["frames"]
        begin()
        self.wait_for_status(
            running, lambda status: not status["interrupted"] and status["capture"]["frames"] >= before + 20)
        last = json.loads(self.end(running).stderr.splitlines()[-1])
        times = media.times(self.folder / "a.webm")
        # The last picture again, where no frame came shortly before the end, is a refinement.
        self.assertEqual(len(times), last["capture"]["frames"] + last["encoders"][0]["refinements"])
        self.assertEqual(times, sorted(times), "times never go back over the gap")
        self.assertEqual(media.decode(self.folder / "a.webm"), (len(times), ""))

    def serve_garbage(self, kind=socket.SOCK_STREAM):
        """A server of random bytes at a port that the system picks."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    try:
                        connection.sendall(os.urandom(200_000))
                    except OSError:
                        pass  # It has seen enough.

        threading.Thread(target=serve, daemon=True).start()
        return listener.getsockname()[1]


class RTSPTests(InputTestCase):
    WAITS = True

    def test_plays(self):
        _, port = self.begin_rtsp_server()
        self.assertPlays(f"rtsp://127.0.0.1:{port}/live")

    def test_plays_what_vlc_serves(self):
        made = media.command(
            "ffmpeg", "-v", "error", "-i", self.folder / "clip.y4m", "-c:v", "libx264", "-preset", "ultrafast", "-g", "15",
            self.folder / "clip.mp4")
        self.assertEqual(made.returncode, 0, made.stderr.decode(errors="replace"))
        port = free_port()
        self.begin(
            "cvlc", "-I", "dummy", "--loop", "--no-audio", "clip.mp4", "--sout",
            f"#rtp{{sdp=rtsp://127.0.0.1:{port}/live}}", "--rtsp-host", "127.0.0.1")
        wait_for_listener(port)
        self.assertPlays(f"rtsp://127.0.0.1:{port}/live")

    def test_two_at_once(self):
        _, port = self.begin_rtsp_server()
        other = self.start("--input", f"rtsp://127.0.0.1:{port}/live", "-o", "null", "--frames", "60")
        self.assertPlays(f"rtsp://127.0.0.1:{port}/live")
        self.assertEqual(other.finish().code, OK)

    def test_a_server_that_restarts(self):
        server, port = self.begin_rtsp_server()
        self.assertSurvives(
            f"rtsp://127.0.0.1:{port}/live", lambda: self.kill(server), lambda: self.begin_rtsp_server(port))

    def test_what_cannot_be(self):
        _, port = self.begin_rtsp_server()
        for url, words in [(f"rtsp://127.0.0.1:{port}/nothing", ["404"]),
                           (f"rtsp://127.0.0.1:{free_port()}/live", ["No server answers there"]),
                           (f"rtsp://127.0.0.1:{self.serve_garbage()}/live", ["127.0.0.1"]),
                           ("rtsp://no-such-host.invalid/live", ["no-such-host.invalid"])]:
            with self.subTest(url=url):
                self.assertRefused(self.run_tool("--input", url, "-o", "null"), NO_INPUT, *words)


class RTMPTests(InputTestCase):
    WAITS = True
    LATER = True

    def begin_server(self, port):
        """nginx, to which ffmpeg publishes."""
        server = self.begin_nginx(port)
        (self.folder / "key.flv").unlink(missing_ok=True)
        publisher = self.begin("ffmpeg", "-v", "error", *PICTURES, "-f", "flv", f"rtmp://127.0.0.1:{port}/live/key")
        self.wait_for_packets(self.folder / "key.flv", 5)
        return server, publisher

    def test_plays(self):
        port = free_port()
        self.begin_server(port)
        self.assertPlays(f"rtmp://127.0.0.1:{port}/live/key")

    def test_a_server_that_restarts(self):
        port = free_port()
        programs = self.begin_server(port)
        self.assertSurvives(
            f"rtmp://127.0.0.1:{port}/live/key", lambda: [self.kill(program) for program in programs],
            lambda: self.begin_server(port))

    def test_what_cannot_be(self):
        port = free_port()
        self.begin_nginx(port)
        for url, words in [(f"rtmp://127.0.0.1:{port}/nothing/key", ["127.0.0.1"]),
                           (f"rtmp://127.0.0.1:{free_port()}/live/key", ["No server answers there"]),
                           (f"rtmp://127.0.0.1:{self.serve_garbage()}/live/key", ["127.0.0.1"])]:
            with self.subTest(url=url):
                self.assertRefused(self.run_tool("--input", url, "-o", "null"), NO_INPUT, *words)


class SRTTests(InputTestCase):
    WAITS = True
    LATER = True

    def begin_sender(self, port):
        """ffmpeg sends to srt-live-transmit, which waits for callers."""
        between = free_udp_port()
        transmitter = self.begin(
            "srt-live-transmit", "-q", "-a", "yes", f"udp://127.0.0.1:{between}",
            f"srt://127.0.0.1:{port}?mode=listener")
        wait_for_listener(port, "udp")
        pictures = self.begin(
            "ffmpeg", "-v", "error", *PICTURES, "-f", "mpegts", f"udp://127.0.0.1:{between}?pkt_size=1316")
        return transmitter, pictures

    def test_plays_and_survives_a_restart(self):
        port = free_udp_port()
        programs = self.begin_sender(port)
        self.assertSurvives(
            f"srt://127.0.0.1:{port}", lambda: [self.kill(program) for program in programs],
            lambda: self.begin_sender(port))

    def test_nobody_there(self):
        self.assertRefused(
            self.run_tool("--input", f"srt://127.0.0.1:{free_udp_port()}", "-o", "null"), NO_INPUT, "127.0.0.1",
            "No server answers there")


class SecretTests(InputTestCase):
    WAITS = True

    def test_no_message_shows_them(self):
        port = free_port()
        for url in (f"rtsp://bob:s3cret@127.0.0.1:{port}/live", f"rtmp://127.0.0.1:{port}/live/s3cret",
                    f"srt://127.0.0.1:{free_udp_port()}?passphrase=s3cret-s3cret", f"rtsp://127.0.0.1:{port}/a?token=s3cret"):
            with self.subTest(url=url):
                run = self.run_tool("--input", url, "-o", "null", "--stats", "json")
                self.assertEqual(run.code, NO_INPUT, str(run))
                self.assertIn("127.0.0.1", run.stderr)
                self.assertNotIn("s3cret", run.stderr)


class UDPTests(InputTestCase):
    WAITS = True
    LATER = True

    def begin_sender(self, port):
        return self.begin("ffmpeg", "-v", "error", *PICTURES, "-f", "mpegts", f"udp://127.0.0.1:{port}?pkt_size=1316")

    def test_plays_and_survives_a_restart(self):
        port = free_udp_port()
        sender = self.begin_sender(port)
        self.assertSurvives(
            f"udp://127.0.0.1:{port}", lambda: self.kill(sender), lambda: self.begin_sender(port))

    def test_nobody_sends(self):
        run = self.run_tool("--input", f"udp://127.0.0.1:{free_udp_port()}", "-o", "null")
        self.assertRefused(run, IO, "Nothing has come for 10 s")

    def test_garbage(self):
        port = free_udp_port()
        isOver = threading.Event()

        def send():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                while not isOver.wait(0.005):
                    sender.sendto(os.urandom(1316), ("127.0.0.1", port))

        thread = threading.Thread(target=send)
        thread.start()
        try:
            run = self.run_tool("--input", f"udp://127.0.0.1:{port}", "-o", "null")
        finally:
            isOver.set()
            thread.join()
        self.assertRefused(run, NO_INPUT, f"127.0.0.1:{port}")
