"""An output that has stalled (a pipe, a FIFO, a terminal that is not read) stops neither the others nor the end."""

import fcntl
import os
import pty
import resource
import signal
import struct
import subprocess
import termios
import time

from support import matroska, media
from support.tool import INTERRUPTED, IO, OK, ToolTestCase

NOISE = ("--source", "noise", "--size", "320x240")


class StalledOutputTests(ToolTestCase):
    LATER = True

    def pipe(self):
        """A pipe that is not read: its end for writing."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.reader = reader
        return writer

    def start_stalled(self, *arguments):
        writer = self.pipe()
        running = self.start(*NOISE, *arguments, stdout=writer)
        os.close(writer)
        return running

    def assertWhole(self, name, frames=None):
        found = matroska.outline(self.folder / name)
        self.assertTrue(found.is_segment_sized, "the output that did not stall was completed")
        self.assertEqual(media.decode(self.folder / name), (found.whole_blocks, ""))
        if frames is not None:
            self.assertEqual(found.whole_blocks, frames)

    def test_the_others_go_on(self):
        for name in ("fifo", "fifo.mkv"):
            os.mkfifo(self.folder / name)
            self.addCleanup(os.close, os.open(self.folder / name, os.O_RDONLY | os.O_NONBLOCK))
        running = self.start_stalled(
            "-o", "y4m:-", "-o", "webm:fifo", "-o", "fifo.mkv", "-o", "a.webm", "--bitrate", "4M", "--keep-going", "--frames", 100)
        run = running.finish(40)
        self.assertEqual(run.code, IO, str(run))
        errors = [line for line in run.stderr.splitlines() if line.startswith("error:")]
        self.assertEqual(len(errors), 3, str(run))
        for name in ("standard output", "fifo", "fifo.mkv"):
            self.assertTrue(any(name in line and "5.0 seconds" in line for line in errors), str(run))
        self.assertWhole("a.webm", frames=100)

    def test_the_run_ends_unless_it_is_to_go_on(self):
        run = self.start_stalled("-o", "y4m:-", "-o", "a.webm").finish()
        self.assertEqual(run.code, IO, str(run))
        self.assertSentence(run, "standard output", "taken nothing", "bytes")
        self.assertWhole("a.webm")

    def test_a_single_output_waits_for_its_reader(self):
        running = self.start_stalled("-o", "y4m:-", "--fps", "max", "--frames", 20)
        time.sleep(6)
        with open(os.dup(self.reader), "rb") as pipe:
            data = pipe.read()
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        file = self.folder / "copy.y4m"
        file.write_bytes(data)
        self.assertEqual(len(media.y4m_frames(file)[1]), 20)

    def test_a_stop_gives_it_up(self):
        for frames in ((), ("--frames", 3)):
            with self.subTest(frames=frames):
                running = self.start_stalled("-o", "y4m:-", *frames)
                time.sleep(1.5)
                running.send(signal.SIGINT)
                began = time.monotonic()
                run = running.finish()
                self.assertEqual(run.code, IO, str(run))
                self.assertGreater(time.monotonic() - began, 2.5, "the reader is given some time")
                self.assertSentence(run, "standard output", "not written")

    def test_a_signal_that_comes_twice(self):
        """As `timeout` sends it: to the process, and to its group. It is one wish to stop."""
        running = self.start_stalled("-o", "y4m:-")
        time.sleep(1.5)
        running.send(signal.SIGTERM)
        time.sleep(0.02)
        running.send(signal.SIGTERM)
        run = running.finish()
        self.assertEqual(run.code, IO, str(run))

    def test_a_slow_reader_loses_nothing(self):
        """All of it takes longer than the reader of one of several outputs may pause."""
        running = self.start_stalled("-o", "y4m:-", "-o", "null", "--fps", "max", "--frames", 12)
        data = b""
        while part := os.read(self.reader, 20_000):
            data += part
            time.sleep(0.1)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertGreater(run.seconds, 6)
        file = self.folder / "copy.y4m"
        file.write_bytes(data)
        self.assertEqual(len(media.y4m_frames(file)[1]), 12)

    def test_a_fifo_without_a_reader(self):
        os.mkfifo(self.folder / "fifo")
        running = self.start(*NOISE, "-o", "a.webm", "-o", "y4m:fifo")
        running.wait_for_file(self.folder / "a.webm", size=0)
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertIn("nothing was captured", run.stderr)
        self.assertFalse((self.folder / "a.webm").exists())


class ClosedStreamTests(ToolTestCase):
    def shell(self, *arguments, redirections):
        from support.tool import environment, path
        return subprocess.run(
            ["sh", "-c", f'exec "$0" "$@" {redirections}', path(), *map(str, arguments)], cwd=self.folder,
            env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)

    def test_messages_do_not_get_into_a_file(self):
        run = self.shell(*NOISE, "--frames", 30, "-o", "r.webm", "--stats", "json", redirections="2>&-")
        self.assertEqual(run.returncode, OK)
        self.assertEqual(media.decode(self.folder / "r.webm"), (30, ""))

    def test_two_outputs_are_not_mixed(self):
        run = self.shell(*NOISE, "--frames", 5, "-o", "-", "-o", "c.webm", redirections=">&-")
        self.assertEqual(run.returncode, IO, run.stderr)
        self.assertIn(b"standard output", run.stderr)
        self.assertFalse((self.folder / "c.webm").exists())

    def test_all_are_closed(self):
        run = self.shell(*NOISE, "--frames", 30, "-o", "r.webm", redirections="<&- >&- 2>&-")
        self.assertEqual(run.returncode, OK)
        self.assertEqual(media.decode(self.folder / "r.webm"), (30, ""))


class TerminalTests(ToolTestCase):
    LATER = True

    def terminal(self):
        """A terminal whose other end is not read."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        return ours, theirs

    def test_a_preview_that_is_not_read(self):
        from support.tool import environment, path
        for options in (("--preview",), ()):
            with self.subTest(options=options):
                ours, theirs = self.terminal()
                file = self.folder / "a.webm"
                process = subprocess.Popen(
                    [path(), *NOISE, *options, "-f", "-o", str(file)], stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=theirs, env=environment(TERM="xterm-256color"))
                self.addCleanup(process.kill)
                os.close(theirs)
                time.sleep(3)
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(60), OK)
                found = matroska.outline(file)
                self.assertTrue(found.is_segment_sized)
                self.assertEqual(media.decode(file), (found.whole_blocks, ""))


class EarlyEndTests(ToolTestCase):
    def test_a_signal_at_once(self):
        """Held back until the tool takes signals; how far it had come by then is a matter of chance."""
        for delay in (0.01, 0.03, 0.06, 0.1, 0.2):
            with self.subTest(delay=delay):
                ready, told = os.pipe()
                running = self.start("--input", "-", "-o", "a.webm", stdin=ready)
                os.close(ready)
                self.wait_for_main(running)
                time.sleep(delay)
                running.send(signal.SIGTERM)
                run = running.finish()
                os.close(told)
                self.assertEqual(run.code, OK, str(run))
                self.assertIn("nothing was captured", run.stderr)
                self.assertFalse((self.folder / "a.webm").exists())

    def test_a_second_signal_ends_it_at_once(self):
        ready, told = os.pipe()
        self.addCleanup(os.close, told)
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        running = self.start(*NOISE, "-o", "y4m:-", stdin=ready, stdout=writer)
        os.close(ready)
        os.close(writer)
        self.wait_for_main(running)
        time.sleep(1)
        running.send(signal.SIGINT)
        # The output has three seconds.
        time.sleep(1)
        running.send(signal.SIGINT)
        self.assertEqual(running.finish().code, INTERRUPTED)

    def test_a_size_limit(self):
        """`ulimit -f`: what was written up to there is complete."""
        from support.tool import environment, path
        file = self.folder / "a.webm"
        run = subprocess.run(
            [path(), *NOISE, "-o", str(file), "--bitrate", "4M"], env=environment(), stderr=subprocess.PIPE,
            timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)))
        self.assertEqual(run.returncode, IO, run.stderr)
        self.assertIn(b"ulimit -f", run.stderr)
        found = matroska.outline(file)
        self.assertGreater(found.whole_blocks, 0)
        self.assertEqual(media.decode(file), (found.whole_blocks, ""))
