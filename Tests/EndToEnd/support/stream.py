"""Streams over the network: runs of the tool that send or receive, and other programs as their peers."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from support import media
from support.mjpeg import free_port, wait_for_listener
from support.tool import OK, ToolTestCase

FOLDER = pathlib.Path(__file__).resolve().parent
LISTENING = re.compile(r"(?:connect to |\"url\":\")tcp://127\.0\.0\.1:(\d+)")
WAITING = re.compile(r"Waiting for a sender at port (\d+)")
# Noise would take more bits than there are, and most of its frames be dropped.
CLIP = ("--input", "clip.y4m", "--loop", "--bitrate", "1M")
# Pictures without an end, in H.264 with a key frame every half second.
PICTURES = ("-re", "-f", "lavfi", "-i", "testsrc=size=160x120:rate=30", "-pix_fmt", "yuv420p", "-c:v", "libx264",
            "-preset", "ultrafast", "-tune", "zerolatency", "-g", "15")


def free_udp_port():
    return free_port(socket.SOCK_DGRAM)


class StreamTestCase(ToolTestCase):
    """A test with a clip of 60 pictures to send."""

    def setUp(self):
        super().setUp()
        made = media.command(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=160x120:rate=30", "-frames:v", "60", "-pix_fmt",
            "yuv420p", self.folder / "clip.y4m")
        self.assertEqual(made.returncode, 0, made.stderr.decode(errors="replace"))

    # MARK: Runs of the tool

    def wait_for_port(self, running, pattern):
        deadline = time.monotonic() + 60
        while not (found := pattern.search(running.peek())):
            if running.process.poll() is not None or time.monotonic() > deadline:
                self.fail(f"no port: {running.finish(0)}")
            time.sleep(0.02)
        return int(found[1])

    def send(self, *options, query="listen", clip=CLIP):
        """A run that sends to all that connect, and its port."""
        sender = self.start(*clip, "-o", f"tcp://127.0.0.1:0?{query}", *options)
        return sender, self.wait_for_port(sender, LISTENING)

    def receive(self, *options, query="listen"):
        """A run that waits for a sender, and its port."""
        receiver = self.start("--input", f"tcp://127.0.0.1:0?{query}", "-o", "null", *options)
        return receiver, self.wait_for_port(receiver, WAITING)

    def end(self, running):
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        return run

    def wait_for_status(self, running, condition, limit=60):
        """Waits for a report of `--stats json` that fulfills a condition, among those from now on; returns it."""
        seen = len(running.peek())
        deadline = time.monotonic() + limit
        while True:
            lines = running.peek()[seen:].split("\n")[:-1]
            for line in lines:
                # There are other events, too.
                status = json.loads(line) if line.startswith("{") else {}
                if "outputs" in status and condition(status):
                    return status
            if running.process.poll() is not None or time.monotonic() > deadline:
                self.fail(f"no such status: {running.finish(0)}")
            time.sleep(0.05)

    # MARK: Peers

    def begin(self, *command, env=None, **options):
        """A program that runs beside the tool until the test ends."""
        command = [str(word) for word in command]
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **options}
        if command[0] == "cvlc" and os.geteuid() == 0:
            # It refuses to be run by root.
            os.chmod(self.folder, 0o777)
            command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
            env = {**os.environ, "HOME": "/nonexistent"}
        program = subprocess.Popen(command, cwd=self.folder, env=env, **options)
        self.addCleanup(self.kill, program)
        return program

    def kill(self, program):
        """Ends a program that was begun, at once."""
        program.kill()
        program.wait()
        if program.stdout:
            program.stdout.close()

    def begin_rtsp_server(self, port=0):
        """GStreamer's server with pictures at /live, and its port."""
        # Debian's own Python has the bindings.
        server = self.begin("/usr/bin/python3", FOLDER / "rtsp_server.py", port, stdout=subprocess.PIPE)
        words = server.stdout.readline().split()
        self.assertEqual(len(words), 2, "GStreamer's RTSP server has not started; `make setup-tests` installs it")
        return server, int(words[1])

    def begin_nginx(self, port):
        """nginx with its RTMP module; it records what is published to rtmp://127.0.0.1:PORT/live as NAME.flv."""
        user = "user root;" if os.geteuid() == 0 else ""
        (self.folder / "nginx.conf").write_text(f"""
            load_module /usr/lib/nginx/modules/ngx_rtmp_module.so;
            {user} daemon off; master_process off; pid {self.folder}/nginx.pid; error_log {self.folder}/nginx.log;
            events {{}}
            rtmp {{ server {{ listen 127.0.0.1:{port}; application live {{
                live on; record all; record_path {self.folder}; record_suffix .flv; }} }} }}
            """)
        server = self.begin("nginx", "-c", self.folder / "nginx.conf", "-p", self.folder)
        wait_for_listener(port)
        return server

    def frames(self, *arguments):
        """How many frames ffmpeg decodes, of 30."""
        result = media.command(
            "ffmpeg", "-v", "error", "-xerror", *arguments, "-frames:v", "30", "-fps_mode", "passthrough", "-f",
            "framehash", "-")
        self.assertEqual(result.returncode, 0, result.stderr.decode(errors="replace"))
        return len([line for line in result.stdout.decode().splitlines() if line and not line.startswith("#")])

    def wait_for_size(self, file, size, limit=60):
        """Waits until a file that another program writes has a size."""
        deadline = time.monotonic() + limit
        while not file.exists() or file.stat().st_size < size:
            self.assertLess(time.monotonic(), deadline, f"{file.name} does not grow to {size} bytes")
            time.sleep(0.05)

    def wait_for_packets(self, file, count, limit=60):
        """Waits until ffprobe finds packets in a file that another program writes."""
        deadline = time.monotonic() + limit
        while not file.exists() or len(media.probe(file)["packets"]) < count:
            self.assertLess(time.monotonic(), deadline, f"{file.name} does not get {count} packets")
            time.sleep(0.2)
