"""What goes wrong with streams over TCP: receivers and senders that stall, vanish or send garbage, and full disks."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time

from support import media
from support.stream import CLIP, LISTENING, StreamTestCase
from support.tool import IO

SMALL = 65536
# What takes all of the bitrate that is asked for.
BUSY = ("--input", "busy.y4m", "--loop", "--bitrate", "2M")


class Reader:
    """A receiver that takes a number of bytes per second; all of them with None, and nothing with 0."""

    def __init__(self, port, rate=None):
        self.socket = socket.socket()
        # Else the kernel takes megabytes for it.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        self.socket.connect(("127.0.0.1", port))
        self.rate = rate
        self.count = 0
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        while True:
            if self.rate is not None:
                time.sleep(0.02)
            size = SMALL if self.rate is None else int(self.rate / 50)
            if size == 0:
                continue
            try:
                block = self.socket.recv(size)
            except OSError:
                return
            if not block:
                return
            self.count += len(block)

    def close(self, reset=False):
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()


class BusyTestCase(StreamTestCase):
    """A test with a clip that takes all of the bitrate that is asked for."""

    def setUp(self):
        super().setUp()
        made = media.command(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=30,noise=alls=25:allf=t",
            "-frames:v", "60", "-pix_fmt", "yuv420p", self.folder / "busy.y4m")
        self.assertEqual(made.returncode, 0, made.stderr.decode(errors="replace"))


class CongestionTests(BusyTestCase):
    LATER = True

    def begin_sender(self):
        return self.send("--stats", "json", clip=BUSY)

    def test_the_only_receiver_is_slow(self):
        """The encoder is slowed down to what it takes, and made faster again when it takes more."""
        sender, port = self.begin_sender()
        slow = Reader(port, rate=60_000)
        self.addCleanup(slow.close)
        status = self.wait_for_status(sender, lambda status: status["outputs"][0]["bitrateLimit"])
        self.assertLess(status["outputs"][0]["bitrateLimit"], 1_200_000, "of 480,000 bits per second")
        # What is encoded is what it takes, without further losses.
        self.wait_for_status(
            sender, lambda status: status["outputs"][0]["bitrateLimit"]
            and status["encoders"][0]["bitsPerSecondMeasured"] < 700_000)
        low = self.wait_for_status(sender, lambda status: status["outputs"][0]["bitrateLimit"])
        slow.rate = None
        self.wait_for_status(
            sender, lambda status: (status["outputs"][0]["bitrateLimit"] or 2_000_000)
            > low["outputs"][0]["bitrateLimit"] * 1.3)
        self.end(sender)

    def test_a_slow_receiver_beside_a_good_one(self):
        sender, port = self.begin_sender()
        good, slow = Reader(port), Reader(port, rate=0)
        self.addCleanup(good.close)
        self.addCleanup(slow.close)
        status = self.wait_for_status(sender, lambda status: status["outputs"][0]["gaps"] > 0)
        output = status["outputs"][0]
        self.assertIsNone(output["bitrateLimit"], output)
        self.assertGreater(output["packetsDropped"], 0)
        self.assertGreater(output["bitrateReductions"], 0)
        last = json.loads(self.end(sender).stderr.splitlines()[-1])
        self.assertGreater(good.count, 0.8 * last["encoders"][0]["bytes"])


class FaultTests(BusyTestCase):
    LATER = True

    def kept(self, process):
        """The descriptors and threads of the tool; prlimit has become it."""
        return len(os.listdir(f"/proc/{process.pid}/fd")), len(os.listdir(f"/proc/{process.pid}/task"))

    def test_a_thousand_receivers(self):
        """They vanish at any byte, and leave nothing behind; a file and another receiver get everything."""
        sender = self.start(
            *CLIP, "-o", "tcp://127.0.0.1:0?listen", "-o", "a.mp4", "--codec", "h264", "--stats", "json")
        port = self.wait_for_port(sender, LISTENING)
        steady = Reader(port)
        self.addCleanup(steady.close)
        self.wait_for_status(sender, lambda status: status["outputs"][0]["receivers"] == 1)
        before = self.kept(sender.process)
        choice = random.Random(1)
        for number in range(1000):
            with socket.create_connection(("127.0.0.1", port), 20) as receiver:
                # Those that read wait a quarter of a second for a key frame.
                if number % 24 == 0:
                    receiver.recv(choice.randrange(1, 5000))
                if number % 3:
                    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        status = self.wait_for_status(
            sender, lambda status: (output := status["outputs"][0])["receivers"] == 1
            and output["connections"] + output["receiversRejected"] == 1001)
        self.assertLess(status["outputs"][0]["receiversRejected"], 1000)
        descriptors, threads = self.kept(sender.process)
        self.assertEqual(descriptors, before[0])
        self.assertLessEqual(threads, before[1])
        last = json.loads(self.end(sender).stderr.splitlines()[-1])
        frames, errors = media.decode(self.folder / "a.mp4")
        encoder = next(encoder for encoder in last["encoders"])
        self.assertEqual((errors, last["outputs"][0]["failed"]), ("", False))
        self.assertGreater(frames, 0.9 * encoder["packets"] - 5)
        self.assertGreater(steady.count, 100_000)

    def test_a_sender_that_is_killed(self):
        """A recording of what comes goes on with the next sender, and is whole."""
        receiver = self.start("--input", "tcp://127.0.0.1:0?listen", "-o", "a.webm", "--stats", "json")
        port = self.wait_for_port(receiver, re.compile(r"Waiting for a sender at port (\d+)"))
        frames = 0
        for turn in range(4):
            sender = self.start(*CLIP, "-o", f"tcp://127.0.0.1:{port}")
            status = self.wait_for_status(
                receiver, lambda status: not status["interrupted"] and status["capture"]["frames"] > frames + 10)
            frames = status["capture"]["frames"]
            if turn < 3:
                sender.process.kill()
                sender.finish()
                self.wait_for_status(receiver, lambda status: status["interrupted"])
        last = json.loads(self.end(receiver).stderr.splitlines()[-1])
        # The last picture again, where no frame came shortly before the end, is a refinement.
        frames = last["capture"]["frames"] + last["encoders"][0]["refinements"]
        self.assertEqual(media.decode(self.folder / "a.webm"), (frames, ""))

    def test_garbage_between_two_senders(self):
        """Once there was video, garbage is an interruption like any other."""
        receiver = self.start("--input", "tcp://127.0.0.1:0?listen", "-o", "null", "--stats", "json")
        port = self.wait_for_port(receiver, re.compile(r"Waiting for a sender at port (\d+)"))
        for turn in range(3):
            sender = self.start(*CLIP, "-o", f"tcp://127.0.0.1:{port}")
            status = self.wait_for_status(
                receiver, lambda status: not status["interrupted"]
                and status["capture"]["frames"] >= (turn + 1) * 20)
            if turn == 2:
                break
            sender.process.kill()
            sender.finish()
            for garbage in b"", b"\0" * 100_000, b"GET / HTTP/1.1\r\n\r\n" * 1000, random.Random(turn).randbytes(200_000):
                with socket.create_connection(("127.0.0.1", port), 20) as connection:
                    try:
                        connection.sendall(garbage)
                    except OSError:
                        pass  # It has seen enough.
        self.end(receiver)

    def test_a_full_disk_harms_no_receiver(self):
        if os.geteuid() != 0:
            self.skipTest("mounting a small disk needs root")
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = media.command("mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk)
        if mounted.returncode:
            self.skipTest(f"no small disk: {mounted.stderr.decode(errors='replace')}")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], check=False)
        sender = self.start(
            *BUSY, "-o", "tcp://127.0.0.1:0?listen", "-o", disk / "a.mp4", "--codec", "h264", "--keep-going", "--stats",
            "json")
        port = self.wait_for_port(sender, LISTENING)
        reader = Reader(port)
        self.addCleanup(reader.close)
        self.wait_for_status(sender, lambda status: status["outputs"][1]["failed"])
        self.assertIn("a.mp4", sender.peek())
        count = reader.count
        deadline = time.monotonic() + 60
        while reader.count < count + 300_000:
            self.assertLess(time.monotonic(), deadline, f"the receiver gets no more: {sender.peek()[-3000:]}")
            time.sleep(0.05)
        sender.send(signal.SIGINT)
        run = sender.finish()
        self.assertEqual(run.code, IO, str(run))
        # What was written up to the last fragment plays.
        frames, _ = media.decode(disk / "a.mp4")
        self.assertGreater(frames, 0)
