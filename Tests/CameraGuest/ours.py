"""Our tool at a camera: runs it, reads what it says, and looks at what it has written."""

import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import vivid
from webcam.remote import RemoteWebcam

OK, USAGE, NO_INPUT, IO, BUSY, PERMISSION = 0, 64, 66, 74, 75, 77
TICKS = os.sysconf("SC_CLK_TCK")


def parse(text):
    """The objects among the lines of its standard error."""
    found = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def messages(events, kinds=("notice", "warning", "error")):
    return [event["message"] for event in events if event["event"] in kinds]


def summary(events):
    found = [event for event in events if event["event"] == "summary"]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} summaries: {events[-3:]}")
    return found[0]


def packet_times(file):
    """The times of a recording's frames in seconds, as ffprobe reads them; fails when it complains."""
    answer = subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", "packet=pts_time", "-of", "csv=p=0", str(file)],
        capture_output=True, text=True, timeout=60)
    if answer.stderr:
        raise AssertionError(f"ffprobe: {answer.stderr}")
    return [float(line.strip(",")) for line in answer.stdout.split()]


def decoded_frames(file):
    """How many frames libvpx's own tool decodes."""
    answer = subprocess.run(["vpxdec", "--md5", "--progress", str(file)], capture_output=True, text=True, timeout=60)
    if answer.returncode != 0:
        raise AssertionError(f"vpxdec: {answer.stderr}")
    return int(re.findall(r"(\d+) decoded frames", answer.stderr)[-1])


def longest_hole(times):
    return max((after - before for before, after in zip(times, times[1:])), default=0)


@functools.cache
def tool_for_everyone():
    """The tool where other users find it too: the folder that it was built in may be closed to them."""
    folder = tempfile.mkdtemp(prefix="tool-")
    os.chmod(folder, 0o755)
    return shutil.copy(os.environ["CAPTURER_DEMO"], folder)


class Running:
    """A run of the tool that has begun; what it says goes to a file. `prefix`: a program that starts it."""

    def __init__(self, *arguments, folder, prefix=()):
        self.arguments = [str(argument) for argument in arguments]
        self.err = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [*prefix, tool_for_everyone() if prefix else os.environ["CAPTURER_DEMO"], *self.arguments], cwd=folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.err,
            env={**os.environ, "SWIFT_BACKTRACE": "enable=no"})

    def text(self):
        return os.pread(self.err.fileno(), 1 << 26, 0).decode(errors="replace")

    def events(self):
        return parse(self.text())

    def messages(self):
        return messages(self.events())

    def frames(self):
        """Captured frames, by the last line of statistics."""
        return next((event["capture"]["frames"] for event in reversed(self.events()) if "capture" in event), 0)

    def wait_for(self, condition, what, limit=15):
        deadline = time.monotonic() + limit
        while not condition():
            if self.process.poll() is not None:
                raise AssertionError(f"ended with {self.process.returncode} before {what}:\n{self.text()[-2000:]}")
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {limit} s in vain for {what}:\n{self.text()[-2000:]}")
            time.sleep(0.01)

    def wait_for_frames(self, more=5, limit=15):
        """Until so many more frames are told of; told of is only each second."""
        before = self.frames()
        self.wait_for(lambda: self.frames() >= before + more, f"{more} frames after {before}", limit)

    def wait_for_message(self, words, limit=15):
        self.wait_for(lambda: any(words in message for message in self.messages()), repr(words), limit)

    # What the system knows of it

    def nodes(self):
        """The video nodes that it has open."""
        folder = f"/proc/{self.process.pid}/fd"
        found = []
        for name in os.listdir(folder):
            try:
                target = os.readlink(f"{folder}/{name}")
            except OSError:
                continue
            if target.startswith("/dev/video"):
                found.append(target)
        return found

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory(self):
        """Resident bytes."""
        return int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def processor_time(self):
        """Seconds."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    # The end

    def interrupt(self, limit=10):
        """Ctrl-C; returns how long it took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.finish(limit)
        return time.monotonic() - began

    def finish(self, limit=60):
        """Waits for the end; the exit code."""
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {limit} s:\n{self.text()[-2000:]}") from None

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class CameraTestCase(unittest.TestCase):
    """A test with an empty folder, in which our tool runs."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ours-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.camera = vivid.Camera()

    def fresh_camera(self):
        """vivid as after the start."""
        self.camera.reset()
        return self.camera

    def plugged_webcam(self, **options):
        return self.enterContext(RemoteWebcam(**options))

    def start(self, *arguments, prefix=()):
        """A run at a camera that tells statistics as JSON."""
        running = Running("--source", "camera", "--stats", "json", *arguments, folder=self.folder, prefix=prefix)
        self.addCleanup(running.end)
        return running

    def run_tool(self, *arguments, limit=60):
        running = self.start(*arguments)
        running.finish(limit)
        return running

    def succeed(self, *arguments, limit=60):
        running = self.run_tool(*arguments, limit=limit)
        self.assertEqual(running.process.returncode, OK, running.text())
        return running

    def assertWhole(self, file, frames=None):
        """A recording that others can read, whose times increase; returns them.

        `frames` is their number, or a run's summary: then the last picture again at the end counts too.
        """
        if isinstance(frames, dict):
            frames = frames["capture"]["frames"] + frames["encoders"][0]["refinements"]
        times = packet_times(file)
        self.assertGreater(len(times), 0)
        self.assertTrue(all(before < after for before, after in zip(times, times[1:])), f"times increase: {times}")
        self.assertEqual(decoded_frames(file), len(times))
        if frames is not None:
            self.assertEqual(len(times), frames)
        return times
