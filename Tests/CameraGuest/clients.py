"""The programs that capture, side by side: how each is run, and how its frames are counted while it runs."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from typing import Callable

VIVID, WEBCAM = "vivid", "webcam"  # NV12 640x360 (uStreamer: YUYV), MJPEG 640x480; both at 30 fps
SIZE = {VIVID: (640, 360), WEBCAM: (640, 480)}

# A line that has such a word is taken for a message about a fault.
TROUBLE = re.compile(
    r"error|fail|no such|invalid|lost|unable|can ?not|could not|can't|unplug|corrupt|interrupt|stopp|damaged|returned|"
    r"timeout|timed out", re.IGNORECASE)

# Addresses and times, which differ from run to run
VARYING = re.compile(r" @ 0x[0-9a-f]+|\[\d+\.\d+ +(?=\w+\])")


def count_matches(pattern):
    compiled = re.compile(pattern)
    return lambda text: len(compiled.findall(text))


def last_number(pattern):
    """The last of the running totals; a program that starts anew in the middle would not be noticed."""
    compiled = re.compile(pattern)
    return lambda text: int((compiled.findall(text) or [0])[-1])


@dataclass(frozen=True)
class Client:
    name: str
    version: tuple  # a command
    command: Callable  # of camera, node
    frames: Callable  # of its output so far
    noise: re.Pattern = re.compile("$^")  # lines of its output that only sound like trouble
    period: float = 0  # seconds from one report of its frames to the next


def v4l2_ctl(camera, node):
    width, height = SIZE[camera]
    pixels = "NV12" if camera == VIVID else "MJPG"
    return ["v4l2-ctl", "-d", node, f"--set-fmt-video=width={width},height={height},pixelformat={pixels}",
            "--set-parm=30", "--stream-mmap"]


def ffmpeg(camera, node):
    width, height = SIZE[camera]
    pixels = "nv12" if camera == VIVID else "mjpeg"
    return ["ffmpeg", "-nostdin", "-v", "warning", "-progress", "pipe:1", "-stats_period", "0.1", "-f", "v4l2",
            "-input_format", pixels, "-framerate", "30", "-video_size", f"{width}x{height}", "-i", node,
            "-c", "copy", "-f", "null", "-"]


def gstreamer(camera, node):
    width, height = SIZE[camera]
    kind = "video/x-raw,format=NV12" if camera == VIVID else "image/jpeg"
    return ["gst-launch-1.0", "-v", "v4l2src", f"device={node}", "!",
            f"{kind},width={width},height={height},framerate=30/1", "!", "fakesink", "silent=false"]


def ustreamer(camera, node):
    width, height = SIZE[camera]
    return ["ustreamer", "--debug", f"--device={node}", f"--resolution={width}x{height}", "--desired-fps=30",
            f"--format={'YUYV' if camera == VIVID else 'MJPEG'}", "--host=127.0.0.1", "--port=8080"]


def ours(camera, node):
    width, height = SIZE[camera]
    output = os.path.join(tempfile.mkdtemp(prefix="faults-"), "recording.webm")
    return [os.environ["CAPTURER_DEMO"], "--source", "camera", "--device", node, "--size", f"{width}x{height}",
            "--fps", "30",
            "--capture-format", "NV12" if camera == VIVID else "MJPG", "-o", output, "--stats", "json"]


def captured(text):
    """The count of captured frames in the last whole line of statistics."""
    for line in reversed(text.splitlines()):
        try:
            return json.loads(line)["capture"]["frames"]
        except (ValueError, KeyError, TypeError):
            continue
    return 0


CLIENTS = (
    Client("v4l2-ctl", ("v4l2-ctl", "--version"), v4l2_ctl, count_matches("<")),
    Client("ffmpeg", ("ffmpeg", "-version"), ffmpeg, last_number(r"frame=(\d+)")),
    Client("GStreamer", ("gst-launch-1.0", "--version"), gstreamer, count_matches("last-message = chain"),
           re.compile("last-message")),
    Client("uStreamer", ("ustreamer", "--version"), ustreamer, count_matches("Grabbed new frame"),
           re.compile("-- (DEBUG|VERB|PERF|INFO)")),
)
OURS = Client("ours", (os.environ.get("CAPTURER_DEMO", "capturer-demo"), "--version"), ours, captured,
              re.compile('"event":"(start|status|summary)"'), period=1)


class Running:
    """A client at work."""

    def __init__(self, client, camera, node):
        self.client = client
        self.output = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            client.command(camera, node), stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output)
        self.last, self.moved, self.longest = 0, time.monotonic(), 0

    def text(self):
        return os.pread(self.output.fileno(), 1 << 26, 0).decode(errors="replace")

    def alive(self):
        return self.process.poll() is None

    def frames(self):
        """Counts; and notes the longest time without a new frame."""
        now, count = time.monotonic(), self.client.frames(self.text())
        if count != self.last:
            self.last, self.moved = count, now
        self.longest = max(self.longest, now - self.moved)
        return count

    def gap(self):
        """The longest time without a new frame; 0 when its reports are too rare to show one."""
        return self.longest if self.longest > self.client.period + 0.1 else 0

    def watch(self, seconds, enough=lambda: False):
        """Lets time pass, while the client lives and there is not enough."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.alive():
            self.frames()
            if enough():
                return
            time.sleep(0.05)

    def message(self, since):
        """The first thing it said about what went wrong, or nothing."""
        lines = [line.strip().lstrip("<") for line in self.text()[since:].replace("\r", "\n").splitlines()]
        found = next((line for line in lines if TROUBLE.search(line) and not self.client.noise.search(line)), "")
        if found.startswith("{"):
            found = json.loads(found).get("message", found)
        return VARYING.sub("", found)

    def end(self):
        if self.alive():
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        said = self.text()
        self.output.close()
        return said


@dataclass
class Verdict:
    """What a client did about a fault."""

    kind: str
    code: int | None = None
    gap: float = 0  # seconds without a frame
    message: str = ""
    ending: int | None = None  # the exit code, also of one that was told to end
    arguments: tuple = ()
    said: str = ""  # all of its output

    def __str__(self):
        if self.kind == SURVIVES:
            return f"{self.kind} ({self.gap:.1f} s gap)" if self.gap >= 0.5 else self.kind
        return self.kind if self.code is None else f"{self.kind} (code {self.code})"


SURVIVES, EXITS, EXITS_SILENTLY, HANGS = "survives", "exits with a message", "exits silently", "hangs"

START, RECOVERY, ALIVE, PULSE = 10, 12, 10, 2  # seconds to start, to recover; frames in seconds that show life


def judge(client, fault, camera, node):
    """Runs a client through a fault. `camera` is a vivid.Camera or a RemoteWebcam, fresh and plugged in."""
    fault.before(camera)
    running = Running(client, fault.on, node)
    try:
        verdict = observe(running, fault, camera)
    finally:
        said = running.end()
    return replace(
        verdict, ending=running.process.returncode, arguments=tuple(running.process.args), said=said)


def observe(running, fault, camera):
    """Lets the fault come and go, and watches."""
    before = 0
    running.watch(START, lambda: running.last >= ALIVE)
    if running.last < ALIVE and not fault.at_start:
        raise RuntimeError(f"{running.client.name} gives no frames even before '{fault.title}': {running.text()[-500:]}")
    if not fault.at_start:
        running.longest, running.moved, before = 0, time.monotonic(), len(running.text())
    for _ in range(fault.again):
        fault.inject(camera)
        running.watch(0.05)
    running.watch(fault.lasts)
    fault.cure(camera)
    flowing = pulse(running)
    if not running.alive():
        message = running.message(before)
        return Verdict(EXITS if message else EXITS_SILENTLY, running.process.returncode, message=message)
    return Verdict(SURVIVES if flowing else HANGS, gap=running.gap(), message=running.message(before))


def pulse(running):
    """Whether frames flow again before the time to recover is over."""
    deadline = time.monotonic() + RECOVERY
    while time.monotonic() < deadline and running.alive():
        before = running.frames()
        running.watch(PULSE)
        if running.frames() - before >= ALIVE:
            return running.alive()
    return False
