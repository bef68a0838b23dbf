"""H.264 over TCP: to other programs, from them, and between two runs of the tool."""

import json
import signal
import socket
import time

from support import media
from support.mjpeg import free_port
from support.stream import CLIP, StreamTestCase
from support.tool import BUSY, IO, NO_INPUT, OK, USAGE

NOISE = ("--source", "noise", "--preset", "160x120", "--fps", "30")
# An access unit delimiter and the parameter sets behind it.
BEGINNING = b"\0\0\0\1\x09\xf0\0\0\0\1\x67"


class TCPTests(StreamTestCase):
    WAITS = True
    LATER = True

    def test_players_read_it(self):
        sender, port = self.send()
        # Two, one after the other: the second begins with a key frame of its own.
        for _ in range(2):
            self.assertEqual(self.frames("-f", "h264", "-i", f"tcp://127.0.0.1:{port}"), 30)
        stream = json.loads(media.command(
            "ffprobe", "-v", "error", "-f", "h264", "-read_intervals", "%+#5", "-show_entries",
            "stream=codec_name,profile,width,height", "-of", "json", f"tcp://127.0.0.1:{port}").stdout)["streams"][0]
        self.assertEqual((stream["codec_name"], stream["width"], stream["height"]), ("h264", 160, 120))
        run = self.end(sender)
        self.assertRegex(run.stderr, r"Sent \d+ packets, .*, to 3 receivers of tcp://127\.0\.0\.1:\d+")

    def test_matroska_with_times(self):
        for codec in ("h264", "vp8"):
            with self.subTest(codec=codec):
                sender, port = self.send("--codec", codec, query="listen&format=matroska")
                self.assertEqual(self.frames("-f", "matroska", "-i", f"tcp://127.0.0.1:{port}"), 30)
                self.end(sender)

    def test_from_the_tool_to_the_tool(self):
        sender, port = self.send()
        run = self.succeed(
            "--input", f"tcp://127.0.0.1:{port}", "--frames", "30", "-o", "null", "-o", "a.webm", "--stats", "json")
        last = json.loads(run.stderr.splitlines()[-1])
        self.assertEqual(last["capture"]["frames"], 30, str(run))
        self.assertEqual(len(media.times(self.folder / "a.webm")), 30)
        self.end(sender)

    def test_the_receiver_listens(self):
        for options, query in [((), "listen"), (("--stream-format", "h264"), "listen"),
                               (("--codec", "vp8"), "listen&format=matroska")]:
            with self.subTest(options=options, query=query):
                theirs, ours = (options, ()) if options[:1] == ("--stream-format",) else ((), options)
                receiver, port = self.receive(*theirs, "--frames", "20", "--stats", "json")
                wanted = query.replace("listen&", "")
                sender = self.start(
                    *CLIP, *ours, "-o", f"tcp://127.0.0.1:{port}" + ("" if wanted == "listen" else f"?{wanted}"))
                run = receiver.finish()
                self.assertEqual(run.code, OK, str(run))
                self.assertEqual(json.loads(run.stderr.splitlines()[-1])["capture"]["frames"], 20)
                deadline = time.monotonic() + 60
                while "no longer receives the stream" not in sender.peek():
                    self.assertLess(time.monotonic(), deadline, sender.peek())
                    time.sleep(0.02)
                # What it was to send to is gone at the end, which a script must not take for success.
                sender.send(signal.SIGINT)
                run = sender.finish()
                self.assertEqual(run.code, IO, str(run))
                self.assertIn("There was no receiver at the end", run.stderr)

    def test_ffmpeg_sends(self):
        for container in ("h264", "mpegts", "matroska"):
            with self.subTest(container=container):
                receiver, port = self.receive("--frames", "25", "--stats", "json")
                self.begin(
                    "ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc=size=160x120:rate=30", "-c:v",
                    "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "30", "-f", container,
                    f"tcp://127.0.0.1:{port}")
                run = receiver.finish()
                self.assertEqual(run.code, OK, str(run))
                last = json.loads(run.stderr.splitlines()[-1])
                self.assertEqual(last["capture"]["frames"], 25)
                self.assertEqual((last["width"], last["height"]), (160, 120))

    def test_a_receiver_vanishes(self):
        sender, port = self.send("--stats", "json")
        stays = socket.create_connection(("127.0.0.1", port), 20)
        for _ in range(8):
            with socket.create_connection(("127.0.0.1", port), 20) as vanishes:
                self.assertTrue(vanishes.recv(1000).startswith(BEGINNING[:6]))
                # A reset in place of an end.
                vanishes.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        with stays:
            read = b""
            while len(read) < 100_000:
                block = stays.recv(65536)
                self.assertTrue(block)
                read += block
        self.assertTrue(read.startswith(BEGINNING))
        output = json.loads(self.end(sender).stderr.splitlines()[-1])["outputs"][0]
        self.assertEqual(output["connections"], 9, output)
        self.assertGreater(output["keyFrameRequests"], 0)

    def test_a_stop_while_nobody_is_there(self):
        receiver, _ = self.receive()
        receiver.send(signal.SIGINT)
        run = receiver.finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertIn("Ended before the first frame", run.stderr)

    def test_what_cannot_be(self):
        port = free_port()
        taken = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(taken.close)
        used = taken.getsockname()[1]
        for options, code, words in [
                ((*NOISE, "-o", "tcp://no-such-host.invalid:9000"), NO_INPUT, ["no-such-host.invalid"]),
                ((*NOISE, "-o", f"tcp://127.0.0.1:{port}"), NO_INPUT, [f"127.0.0.1:{port}"]),
                ((*NOISE, "-o", f"tcp://127.0.0.1:{used}?listen"), BUSY, [str(used)]),
                ((*NOISE, "-o", "tcp://127.0.0.1"), USAGE, ["port"]),
                ((*NOISE, "-o", "tcp://127.0.0.1:1?lisen"), USAGE, ["Did you mean listen?"]),
                ((*NOISE, "-o", f"tcp://127.0.0.1:{port}", "--codec", "vp8"), USAGE, ["--codec", "h264"]),
                (("--input", "tcp://no-such-host.invalid:9000", "-o", "null"), NO_INPUT, ["no-such-host.invalid"]),
                (("--input", f"tcp://127.0.0.1:{port}", "-o", "null"), NO_INPUT, [f"127.0.0.1:{port}"]),
                (("--input", f"tcp://127.0.0.1:{used}?listen", "-o", "null"), BUSY, [str(used)]),
                (("--input", "tcp://127.0.0.1:0", "-o", "null"), USAGE, ["Port 0"]),
                (("--input", "tcp://h:1?format=avi", "-o", "null"), USAGE, ["format avi"]),
                (("--input", "rtsp://h/1", "--stream-format", "h264", "-o", "null"), USAGE, ["tcp:// only"])]:
            with self.subTest(options=options):
                self.assertRefused(self.run_tool(*options), code, *words)

    def test_strangers_end_nothing(self):
        # A port scan, before the sender that is waited for.
        receiver, port = self.receive("--frames", "20", "--stats", "json")
        for content in (b"GET / HTTP/1.1\r\nHost: there\r\n\r\n" * 4000, b""):
            with socket.create_connection(("127.0.0.1", port), 20) as stranger:
                try:
                    stranger.sendall(content)
                except OSError:
                    pass  # It has seen enough.
        self.start(*CLIP, "-o", f"tcp://127.0.0.1:{port}")
        run = receiver.finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertEqual(run.stderr.count("A connection brought no picture"), 2, str(run))

    def test_garbage_is_no_video(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            run = self.start("--input", f"tcp://127.0.0.1:{server.getsockname()[1]}", "-o", "null")
            with server.accept()[0] as sender:
                sender.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                self.assertRefused(run.finish(), NO_INPUT, "127.0.0.1", "not H.264")
