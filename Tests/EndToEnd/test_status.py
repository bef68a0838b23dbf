"""What the tool says while it runs: on a terminal, elsewhere, and to other programs."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from support import tool
from support.tool import ToolTestCase

RECORD = ("--source", "noise", "--preset", "320x240", "--frames", 60, "--output", "a.webm", "--force")
COLOR = re.compile(rb"\x1b\[[0-9;]*m")
# Moves within a line and erasing are no colours; they rewrite the status.
CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


def numbers(value):
    """All numbers anywhere in a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


class StatisticsTests(ToolTestCase):
    WAITS = True

    def test_json_lines(self):
        run = self.succeed(*RECORD, "--stats", "json")
        self.assertEqual(run.stdout, b"", "standard output is for data")
        lines = [json.loads(line) for line in run.stderr.splitlines()]
        self.assertGreaterEqual(len(lines), 2, "some while it runs and one at the end")
        self.assertEqual(len({line["version"] for line in lines}), 1)
        self.assertIn(60, numbers(lines[-1]), "the last counts all frames")

    def test_plain_lines_elsewhere(self):
        run = self.succeed(*RECORD)
        self.assertEqual(run.stdout, b"")
        self.assertNotIn("\r", run.stderr)
        self.assertNotIn("\x1b", run.stderr)
        self.assertGreaterEqual(len(run.stderr.splitlines()), 2)
        self.assertIn("320x240", run.stderr)
        self.assertIn("a.webm", run.stderr)

    def test_none_and_quiet(self):
        self.assertEqual(self.succeed(*RECORD, "--quiet").stderr, "")
        self.assertNotRegex(self.succeed(*RECORD, "--stats", "none").stderr.split("a.webm")[0], r"\d fps")

    def test_standard_output_is_data_only(self):
        run = self.succeed("--source", "noise", "--size", "64x48", "--frames", 5, "--output", "-", "--stats", "text")
        self.assertEqual(run.stdout[:4], b"\x1a\x45\xdf\xa3")


class Terminal:
    """A terminal of 80 × 24 in which the tool runs."""

    def __init__(self, *arguments, folder, **environment):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [tool.path(), *map(str, arguments)], cwd=folder, stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True, env=tool.environment(TERM="xterm-256color", **environment))
        os.close(slave)
        self.output = b""

    def read(self, seconds):
        """Reads for so long, or until the program has gone."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not select.select([self.master], [], [], 0.05)[0]:
                if self.process.poll() is not None:
                    break
                continue
            try:
                self.output += os.read(self.master, 1 << 16)
            except OSError:
                break  # the terminal's other end was closed
        return self.output

    def read_until(self, condition, limit=60):
        """Reads until the condition holds, or the program has gone."""
        deadline = time.monotonic() + limit
        while not condition() and self.process.poll() is None and time.monotonic() < deadline:
            self.read(0.1)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


class TerminalTests(ToolTestCase):
    WAITS = True

    def open(self, *arguments, **environment):
        terminal = Terminal(*arguments, folder=self.folder, **environment)
        self.addCleanup(terminal.close)
        return terminal

    def test_one_line_is_rewritten(self):
        terminal = self.open("--source", "noise", "--preset", "320x240", "--output", "a.webm")
        terminal.read_until(lambda: terminal.output.count(b"fps") > 3)
        while_running = terminal.output
        terminal.process.send_signal(signal.SIGINT)
        terminal.read(60)
        self.assertEqual(terminal.process.wait(60), 0)
        # What was on the screen before the end: one status line, written over and over.
        rows = re.split(rb"\r\n", while_running)
        self.assertLessEqual(len(rows), 4, while_running)
        rewrites = [part for part in re.split(rb"\r(?!\n)", rows[-1]) if CONTROL.sub(b"", part).strip()]
        self.assertGreaterEqual(len(rewrites), 2, while_running)
        for part in rewrites:
            self.assertLess(len(CONTROL.sub(b"", part).decode()), 80, "wider than the terminal")
        self.assertIn(b"a.webm", terminal.output)

    def test_no_color(self):
        terminal = self.open(*RECORD, NO_COLOR="1")
        terminal.read(8)
        self.assertIsNone(COLOR.search(terminal.output), terminal.output)
        self.assertIn(b"\r", terminal.output)

    def test_preview_shows_the_picture_and_leaves_the_terminal_as_it_was(self):
        for number in (None, signal.SIGINT):
            with self.subTest(signal=number):
                terminal = self.open(*RECORD, "--preview")
                terminal.read_until(lambda: re.search("[▀▄]".encode(), terminal.output))
                if number:
                    terminal.process.send_signal(number)
                terminal.read(60)
                self.assertEqual(terminal.process.wait(60), 0)
                self.assertRegex(terminal.output, "[▀▄]".encode())
                self.assertRegex(terminal.output, rb"\x1b\[[0-9;]*[34]8;(2|5);")
                for hidden, shown in ((b"\x1b[?25l", b"\x1b[?25h"), (b"\x1b[?1049h", b"\x1b[?1049l")):
                    self.assertGreaterEqual(terminal.output.rfind(shown), terminal.output.rfind(hidden))
                self.assertGreater(terminal.output.rfind(b"\x1b[0m"), terminal.output.rfind(b"8;2;"))
