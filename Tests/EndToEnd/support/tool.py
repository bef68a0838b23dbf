"""Runs capturer-demo as a user would, and says what it did."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from dataclasses import dataclass

# The exit codes of the tool; <sysexits.h> has the names.
OK, USAGE, NO_INPUT, UNAVAILABLE, IO, BUSY, PERMISSION, INTERRUPTED = 0, 64, 66, 69, 74, 75, 77, 130

LIMIT = 120  # seconds after which a run counts as hung, on however busy a machine
MEMORY = 2 << 30  # bytes of address space that a run may take
# AddressSanitizer reserves terabytes of it.
ADDRESS_SPACE = "unlimited" if "ASAN_OPTIONS" in os.environ else MEMORY


def path():
    named = os.environ.get("CAPTURER_DEMO")
    if not named or not os.access(named, os.X_OK):
        raise RuntimeError(f"CAPTURER_DEMO must name the tool to test; it is {named!r}. Try `make end-to-end`.")
    return str(pathlib.Path(named).resolve())


@dataclass
class Run:
    """What one run of the tool did."""

    arguments: list
    code: int  # negative: the signal that ended it
    stdout: bytes
    stderr: str
    seconds: float
    processor: float  # seconds of processor time
    peak: int  # bytes of resident memory

    def __str__(self):
        return f"capturer-demo {' '.join(self.arguments)}\nexit code {self.code}, stderr:\n{self.stderr[-2000:]}"


def environment(**extra):
    """The environment of a program that is not in a terminal, without the tester's own wishes."""
    kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "CLICOLOR", "COLUMNS"}}
    # A crash must be seen as the signal it is, at once.
    return {**kept, "SWIFT_BACKTRACE": "enable=no", **extra}


class Running:
    """A run that has begun. Its standard output goes to a file unless told otherwise."""

    def __init__(self, *arguments, folder, stdin=subprocess.DEVNULL, stdout=None, env=None, prefix=()):
        self.arguments = [str(argument) for argument in arguments]
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [*prefix, "prlimit", f"--as={ADDRESS_SPACE}", "--core=0", path(), *self.arguments], cwd=folder, stdin=stdin, stdout=self.out if stdout is None else stdout,
            stderr=self.err, env=env or environment())

    def send(self, number):
        self.process.send_signal(number)

    def peek(self):
        """What it has written to standard error so far."""
        return os.pread(self.err.fileno(), 1 << 20, 0).decode(errors="replace")

    def peek_at_end(self):
        """The last of what it has written to standard error: enough for the newest report, however long it runs."""
        size = os.fstat(self.err.fileno()).st_size
        return os.pread(self.err.fileno(), 1 << 18, max(0, size - (1 << 18))).decode(errors="replace")

    def wait_for_file(self, file, size=1, limit=60):
        """Waits until a file it writes has grown to a size."""
        deadline = time.monotonic() + limit
        while not (file.exists() and file.stat().st_size >= size):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{file.name} did not grow to {size} bytes:\n{self.finish(0)}")
            time.sleep(0.01)

    def finish(self, limit=LIMIT):
        """Waits for the end; kills it and fails when that takes too long."""
        deadline = time.monotonic() + limit
        timed_out = False
        while self.process.returncode is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                self.peak = usage.ru_maxrss * 1024
                self.processor = usage.ru_utime + usage.ru_stime
            elif time.monotonic() > deadline and not timed_out:
                timed_out = True
                os.kill(self.process.pid, signal.SIGKILL)
            else:
                time.sleep(0.005)
        run = Run(
            self.arguments, self.process.returncode, os.pread(self.out.fileno(), 1 << 28, 0), self.peek(),
            time.monotonic() - self.began, getattr(self, "processor", 0), getattr(self, "peak", 0))
        self.out.close()
        self.err.close()
        if timed_out:
            raise AssertionError(f"still running after {limit} s: {run}")
        return run


class ToolTestCase(unittest.TestCase):
    """A test with an empty folder of its own, in which the tool runs."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="capturer-demo-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def start(self, *arguments, **options):
        running = Running(*arguments, folder=self.folder, **options)

        def end():
            if running.process.returncode is None:
                running.process.kill()
                running.process.wait()

        self.addCleanup(end)
        return running

    def wait_for_main(self, running):
        """Until the process has blocked SIGTERM, which is what it does first."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with open(f"/proc/{running.process.pid}/status") as status:
                blocked = next(line for line in status if line.startswith("SigBlk:"))
            if int(blocked.split()[1], 16) & 1 << (signal.SIGTERM - 1):
                return
            time.sleep(0.001)
        self.fail("it does not block SIGTERM")

    def run_tool(self, *arguments, limit=LIMIT, **options):
        return self.start(*arguments, **options).finish(limit)

    def succeed(self, *arguments, **options):
        run = self.run_tool(*arguments, **options)
        self.assertEqual(run.code, OK, str(run))
        return run

    def assertRefused(self, run, code, *words):
        """It ended with this code and one plain sentence that has these words."""
        self.assertEqual(run.code, code, str(run))
        self.assertSentence(run, *words)
        self.assertEqual(run.stdout, b"", f"an error writes nothing to standard output: {run}")

    def assertSentence(self, run, *words):
        """Standard error's last line is a sentence for people that has these words; it is its only error."""
        self.assertNotRegex(run.stderr, r"Fatal error|Stack dump|Crash|precondition|0x[0-9a-f]{8}", str(run))
        lines = [line for line in run.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE)] or lines[-1:]
        self.assertEqual(len(errors), 1, f"one sentence: {run}")
        self.assertGreater(len(errors[0]), 15, f"a sentence: {run}")
        for word in words:
            self.assertIn(word, errors[0], str(run))

    def assertOneLine(self, run):
        self.assertEqual(len(run.stderr.splitlines()), 1, f"one line: {run}")
