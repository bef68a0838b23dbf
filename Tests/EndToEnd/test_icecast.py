"""Publishing to a real Icecast: listeners, faults, and a server that takes nothing."""

import json
import signal
import socket
import subprocess
import threading
import time

from support import media
from support.icecast import Icecast
from support.tool import BUSY, IO, NO_INPUT, OK, PERMISSION, USAGE, ToolTestCase


class IcecastTestCase(ToolTestCase):
    WAITS = True

    def setUp(self):
        super().setUp()
        self.server = Icecast(self.folder)
        self.addCleanup(self.server.end)

    def address(self, mount="live.webm", password="hackme", port=None):
        return f"icecast://source:{password}@127.0.0.1:{port or self.server.port}/{mount}"

    def publish(self, *options, mount="live.webm", sources=("--source", "pattern", "--preset", "160x120", "--audio", "tone")):
        running = self.start(*sources, "-o", self.address(mount), *options)
        self.await_mount(mount.partition("?")[0], running)
        return running

    def await_mount(self, mount, running=None, server=None, limit=30):
        server = server or self.server
        deadline = time.monotonic() + limit
        while mount not in server.mounts():
            if time.monotonic() > deadline or (running and running.process.poll() is not None):
                self.fail(f"{mount} has no source:\n{running.finish(0) if running else ''}")
            time.sleep(0.1)

    def end(self, running):
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        return run

    def codecs(self, url):
        """What ffprobe finds in a mount."""
        told = subprocess.run(
            ["ffprobe", "-v", "error", "-show_streams", "-of", "json", url], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, timeout=60, check=True).stdout
        return {stream["codec_name"] for stream in json.loads(told)["streams"]}

    def listen(self, url, seconds=3):
        """Decodes a mount as a listener that comes now; returns the numbers of frames and of errors."""
        run = subprocess.run(
            ["ffmpeg", "-v", "warning", "-t", str(seconds), "-i", url, "-map", "0:v?", "-f", "framemd5", "-"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=90, check=True)
        frames = [line for line in run.stdout.splitlines() if line and not line.startswith("#")]
        return len(frames), run.stderr


class PublishingTests(IcecastTestCase):
    LATER = True

    def test_listeners_at_any_time(self):
        running = self.publish(mount="live.webm?name=My%20camera&description=Noise&genre=Test")
        url = self.server.url("live.webm")
        self.assertEqual(self.codecs(url), {"vp8", "opus"})
        state = self.server.mounts()["live.webm"]
        self.assertEqual((state["server_name"], state["server_description"], state["genre"]), ("My camera", "Noise", "Test"))
        self.assertEqual(state["server_type"], "video/webm")
        # Those that come later begin with a key frame, which is never older than about two seconds.
        for _ in range(2):
            frames, errors = self.listen(url)
            self.assertGreater(frames, 30)
            self.assertEqual(errors, "")
        run = self.end(running)
        self.assertNotIn("hackme", run.stderr)
        self.assertNotIn("packets were dropped", run.stderr)

    def test_sound_alone(self):
        running = self.publish(mount="radio.webm?audio", sources=("--audio", "tone"))
        self.assertEqual(self.codecs(self.server.url("radio.webm")), {"opus"})
        self.assertEqual(self.server.mounts()["radio.webm"]["server_type"], "audio/webm")
        self.end(running)

    def test_a_source_that_gives_nothing_for_a_while(self):
        running = self.start(
            "--input", "-", "--stats", "json", "-o", self.address("pipe.webm"), stdin=subprocess.PIPE)

        def write(frames, header=b""):
            running.process.stdin.write(header)
            for number in range(frames):
                running.process.stdin.write(b"FRAME\n" + bytes([number % 256]) * (64 * 48 * 3 // 2))
                running.process.stdin.flush()
                time.sleep(0.1)

        write(10, b"YUV4MPEG2 W64 H48 F10:1 C420\n")
        self.await_mount("pipe.webm", running)
        # Twice what the server waits for a source that sends nothing.
        time.sleep(6)
        self.assertIn("pipe.webm", self.server.mounts())
        write(10)
        running.process.stdin.close()
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        output = json.loads([line for line in run.stderr.splitlines() if line.startswith("{")][-1])["outputs"][0]
        self.assertEqual(output["reconnections"], 0, output)
        # The last picture comes again where the end is seen late.
        self.assertIn(output["packets"], (20, 21), output)

    def test_a_server_that_is_restarted(self):
        running = self.publish("-o", "whole.webm")
        self.server.process.kill()
        self.server.process.wait()
        # Long enough that more than one attempt fails.
        time.sleep(2)
        self.server.begin_again(
            lambda: self.server.wait(lambda: self.server.answers("/live.webm"), "live.webm has no source"))
        self.await_mount("live.webm", running)
        frames, errors = self.listen(self.server.url("live.webm"))
        self.assertGreater(frames, 30)
        self.assertEqual(errors, "")
        run = self.end(running)
        self.assertIn("connection was lost", run.stderr)
        # What goes to the file is not touched by it.
        self.assertEqual(subprocess.run(
            ["ffmpeg", "-v", "error", "-i", str(self.folder / "whole.webm"), "-map", "0:v", "-f", "framemd5", "-"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr, b"")

    def test_refusals(self):
        noise = ("--source", "noise", "--preset", "160x120", "--duration", "2")
        run = self.run_tool(*noise, "-o", self.address(password="hunter2"))
        self.assertRefused(run, PERMISSION, "password")
        self.assertNotIn("hunter2", run.stderr)
        # Where peers are tried again, the sending thread is refused; the file goes on, and the end is at once.
        run = self.run_tool(*noise, "-o", self.address(password="hunter2"), "-o", "beside.webm", "--keep-going")
        self.assertEqual(run.code, IO, run)
        self.assertIn("password", run.stderr)
        self.assertLess(run.seconds, 8)
        self.assertGreater(float(media.probe(self.folder / "beside.webm")["format"]["duration"]), 1.5)
        nameless = f"icecast://127.0.0.1:{self.server.port}/live.webm"
        self.assertRefused(self.run_tool(*noise, "-o", nameless), PERMISSION, "asks for a password")
        running = self.publish()
        self.assertRefused(self.run_tool(*noise, "-o", self.address()), BUSY, "Another source")
        self.end(running)
        self.assertRefused(self.run_tool(*noise, "-o", self.address(port=1)), NO_INPUT, "Nothing listens")
        for address, word in [("icecast://h:8000", "mount"), ("icecasts://u:hunter2@h/a", "TLS"),
                              ("icecast://u:hunter2@h/a?nmae=x", "name"), ("icecast://u:hunter2@h:99999/a", "port")]:
            run = self.run_tool(*noise, "-o", address)
            self.assertRefused(run, USAGE, word)
            self.assertNotIn("hunter2", run.stderr)


class StallTests(ToolTestCase):
    """A server of the test's own."""

    LATER = True

    def serve(self, answer):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        kept = []

        def accept():
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                kept.append(client)
                request = b""
                while b"\r\n\r\n" not in request:
                    request += client.recv(4096)
                client.sendall(answer)

        threading.Thread(target=accept, daemon=True).start()
        self.addCleanup(lambda: [client.close() for client in kept])
        return f"icecast://source:hackme@127.0.0.1:{listener.getsockname()[1]}/live.webm"

    def frames(self, name):
        told = subprocess.run(
            ["ffprobe", "-v", "error", "-count_packets", "-show_entries", "stream=nb_read_packets", "-of", "csv=p=0",
             str(self.folder / name)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True).stdout
        return int(told)

    def test_a_server_that_takes_nothing_delays_no_file(self):
        address = self.serve(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\n")
        run = self.run_tool(
            "--source", "noise", "--preset", "640x480", "--fps", "30", "--frames", "150", "--bitrate", "20M", "-o",
            address, "-o", "whole.webm", limit=60)
        # Its error ends the run's success, but not the file.
        self.assertEqual(self.frames("whole.webm"), 150, str(run))
        self.assertNotIn("hackme", run.stderr)

    def test_answers_that_are_none(self):
        noise = ("--source", "noise", "--preset", "160x120", "--duration", "2")
        for answer, word in [(b"\x00garbage\r\n\r\n", "not HTTP"), (b"HTTP/1.0 500 Oops\r\n\r\n<b>broken</b>", "500")]:
            with self.subTest(word):
                run = self.run_tool(*noise, "-o", self.serve(answer))
                self.assertNotEqual(run.code, OK)
                self.assertSentence(run, word)
