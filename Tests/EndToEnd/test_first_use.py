"""What a new user, with the habits of other programs, would stumble over."""

import json
import os
import pathlib
import pty
import shutil
import socket
import subprocess
import unittest

from support import media
from support.tool import NO_INPUT, OK, USAGE, ToolTestCase, environment, path


class TrapTests(ToolTestCase):
    WAITS = True

    def test_without_arguments_it_says_what_there_is(self):
        run = self.run_tool()
        self.assertEqual(run.code, USAGE)
        self.assertIn("--source noise", run.stderr)
        self.assertLessEqual(len(run.stderr.splitlines()), 12)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_second_recording_gets_a_number(self):
        for name in ("capture.webm", "capture-2.webm", "capture-3.webm"):
            run = self.run_tool("--source", "noise", "--size", "64x48", "--frames", "2")
            self.assertEqual(run.code, OK, run)
            self.assertIn(name, run.stderr)
            self.assertTrue((self.folder / name).exists())

    def test_a_preview_writes_no_file(self):
        self.run_tool("--source", "noise", "--size", "64x48", "--frames", "2", "--preview")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_an_error_of_the_input_comes_before_one_of_the_output(self):
        (self.folder / "taken.webm").write_bytes(b"")
        run = self.run_tool("--input", "no-such.mp4", "-o", "taken.webm")
        self.assertRefused(run, NO_INPUT)
        self.assertIn("no-such.mp4", run.stderr)

    def test_a_terminal_gets_no_media(self):
        ours, theirs = pty.openpty()
        try:
            done = subprocess.run([path(), "--source", "noise", "--frames", "2", "-o", "-"], stdout=theirs,
                                  stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60, check=False)
        finally:
            os.close(ours)
            os.close(theirs)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn(b"terminal", done.stderr)

    def test_a_number_in_the_name_of_one_file(self):
        run = self.run_tool("--source", "noise", "--frames", "2", "-o", "clip-%03d.webm")
        self.assertRefused(run, USAGE)
        self.assertIn("%", run.stderr)


class KeyTests(ToolTestCase):
    WAITS = True

    def test_q_ends_a_recording(self):
        ours, theirs = pty.openpty()
        with subprocess.Popen([path(), "--source", "noise", "--size", "64x48", "-o", "a.webm"], cwd=self.folder,
                              stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs, start_new_session=True) as tool:
            os.close(theirs)
            try:
                shown = b""
                # The line at the beginning says that there is such a key.
                while b"Ctrl-C or q" not in shown:
                    shown += os.read(ours, 4096)
                os.write(ours, b"q")
                while True:
                    try:
                        shown += os.read(ours, 4096)
                    except OSError:  # the other end is closed
                        break
                self.assertEqual(tool.wait(10), OK, shown)
            finally:
                tool.kill()
                os.close(ours)
        self.assertIn(b"Captured", shown)


class HabitTests(ToolTestCase):
    WAITS = True

    def test_values_as_people_write_them(self):
        run = self.run_tool("--source", "noise", "--size", "64x48", "--fps", "50fps", "--bitrate", "2Mbps",
                            "--duration", "00:00:01", "-o", "a.webm")
        self.assertEqual(run.code, OK, run)
        self.assertIn("64x48 NV12 at 50 fps", run.stderr)
        # As many as come in a second, if the machine is not busy.
        self.assertRegex(run.stderr, r"Captured \d+ frames? in \d+\.\d s")
        self.assertLess(media.times(self.folder / "a.webm")[-1], 1.1)
        self.assertIn("target 2.00 Mb/s", run.stderr)

    def test_a_file_needs_no_option(self):
        media.make_y4m(self.folder / "clip.y4m")
        for arguments in (["clip.y4m"], ["-i", "clip.y4m"]):
            run = self.run_tool(*arguments, "--fps", "max", "-o", "null")
            self.assertEqual(run.code, OK, run)
            self.assertRegex(run.stderr, r"in \d+\.\d s \(\d+\.\dx\)")

    def test_two_inputs(self):
        run = self.run_tool("a.y4m", "-i", "b.y4m", "-o", "null")
        self.assertRefused(run, USAGE)

    def test_names_of_other_programs(self):
        for words, here in ((["--serve-password", "x"], "--serve-login"), (["-t", "5"], "--duration"),
                            (["--framerate", "30"], "--fps"), (["--resolution", "vga"], "--size"),
                            (["-y"], "--force")):
            with self.subTest(words=words):
                run = self.run_tool("--source", "noise", *words)
                self.assertRefused(run, USAGE)
                self.assertIn(here, run.stderr)


class ReportTests(ToolTestCase):
    LATER = True

    def test_what_was_not_lost_is_not_mentioned(self):
        run = self.run_tool("--source", "noise", "--size", "64x48", "--fps", "max", "--frames", "20", "-o", "null")
        self.assertEqual(run.code, OK, run)
        self.assertNotIn("lost", run.stderr)

    def test_what_the_machine_was_too_slow_for(self):
        run = self.run_tool("--source", "noise", "--size", "1080p", "--fps", "240", "--duration", "2", "-o", "a.webm")
        self.assertEqual(run.code, OK, run)
        self.assertRegex(run.stderr, r", \d+ left out since this machine was too slow")
        self.assertNotIn("lost at the source", run.stderr)

    def test_a_run_lasts_as_long_as_it_was_to(self):
        run = self.run_tool("--source", "noise", "--size", "64x48", "--fps", "10", "--duration", "2", "-o", "a.webm")
        self.assertEqual(run.code, OK, run)
        # A busy machine takes a little longer for the last one.
        self.assertRegex(run.stderr, r"Captured 20 frames in 2\.\d s \(10\.0 fps\)")

    def test_statistics_in_a_file_beside_the_text(self):
        run = self.run_tool("--source", "noise", "--size", "64x48", "--duration", "1500ms", "-o", "null",
                            "--stats-file", "stats.json")
        self.assertEqual(run.code, OK, run)
        self.assertIn("Captured", run.stderr)
        events = [json.loads(line)["event"] for line in (self.folder / "stats.json").read_text().splitlines()]
        self.assertEqual((events[0], events[-1]), ("start", "summary"))
        self.assertIn("status", events)

    def test_a_target_that_cannot_be_held(self):
        run = self.run_tool("--source", "noise", "--size", "320x240", "--bitrate", "100k", "--duration", "12",
                            "-o", "a.webm")
        self.assertEqual(run.code, OK, run)
        self.assertIn("raise --bitrate", run.stderr)
        self.assertEqual(run.stderr.count("warning:"), 1, run.stderr)


class ServiceTests(ToolTestCase):
    WAITS = True

    def lines_to_the_service_manager(self, **variables):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(self.folder / "notify"))
            manager.setblocking(False)
            run = self.run_tool(
                "--source", "noise", "--size", "64x48", "--duration", "1", "-o", "null", "--quiet",
                env=environment(NOTIFY_SOCKET=str(self.folder / "notify"), **variables))
            self.assertEqual(run.code, OK, run)
            lines = []
            while True:
                try:
                    lines += manager.recv(65536).decode().splitlines()
                except BlockingIOError:
                    return lines

    def test_systemd_is_told(self):
        lines = self.lines_to_the_service_manager()
        self.assertEqual((lines[0], lines[-1]), ("READY=1", "STOPPING=1"))
        self.assertTrue(any(line.startswith("STATUS=00:0") for line in lines), lines)
        self.assertNotIn("WATCHDOG=1", lines)

    def test_the_watchdog_is_fed_while_frames_come(self):
        self.assertGreaterEqual(self.lines_to_the_service_manager(WATCHDOG_USEC="200000").count("WATCHDOG=1"), 3)

    def test_the_watchdog_of_another_process(self):
        self.assertNotIn("WATCHDOG=1", self.lines_to_the_service_manager(WATCHDOG_USEC="200000", WATCHDOG_PID="1"))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd here")
    def test_the_example_unit_is_valid(self):
        unit = pathlib.Path(__file__).resolve().parents[2] / "Examples/service/capturer-demo.service"
        text = unit.read_text().replace("/usr/local/bin/capturer-demo", path())
        (self.folder / unit.name).write_text(text)
        done = subprocess.run(["systemd-analyze", "verify", self.folder / unit.name], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_is_installed(self):
        project = pathlib.Path(__file__).resolve().parents[2]
        subprocess.run(["make", "--silent", "install", f"TOOL={path()}", f"DESTDIR={self.folder}", "PREFIX=/usr"],
                       cwd=project, check=True, capture_output=True, timeout=60)
        installed = {str(file.relative_to(self.folder)) for file in self.folder.rglob("*") if file.is_file()}
        self.assertEqual(installed, {
            "usr/bin/capturer-demo", "usr/share/man/man1/capturer-demo.1",
            "usr/share/bash-completion/completions/capturer-demo", "usr/share/zsh/site-functions/_capturer-demo",
            "usr/share/fish/vendor_completions.d/capturer-demo.fish"})
        self.assertTrue(all((self.folder / file).stat().st_size for file in installed))


class StartTests(ToolTestCase):
    """Large libraries are loaded when they are first used."""

    NEEDS = pathlib.Path(f"{path()}.needs.so")

    def setUp(self):
        super().setUp()
        if not self.NEEDS.exists():
            self.skipTest("this tool was not built by scripts/tool, and loads all at the start")

    def late(self):
        """The names of the libraries."""
        text = media.command("objdump", "-p", self.NEEDS).stdout.decode()
        return {line.split()[1] for line in text.splitlines() if "NEEDED" in line and "libc." not in line}

    def test_a_recording_loads_what_it_uses(self):
        running = self.start("--source", "noise", "--size", "64x48", "-o", "a.webm")
        running.wait_for_file(self.folder / "a.webm", 1000)
        loaded = {line.split("/")[-1].strip() for line in open(f"/proc/{running.process.pid}/maps") if ".so" in line}
        running.send(2)
        self.assertEqual(running.finish().code, OK)
        self.assertGreater(len(self.late()), 10)
        names = [name for name in self.late() if any(found.startswith(name.split(".so")[0] + ".") for found in loaded)]
        self.assertEqual(names, [])

    def test_a_library_that_is_missing_is_named(self):
        name = next(name for name in self.late() if name.startswith("libavformat"))
        (self.folder / name).write_bytes(b"")
        (self.folder / "film.mp4").write_bytes(b"\0\0\0\x18ftypisom" + bytes(1000))
        run = self.run_tool("-i", "film.mp4", "-o", "a.webm", env=environment(LD_LIBRARY_PATH=str(self.folder)))
        self.assertEqual(run.code, 69, run)
        self.assertSentence(run, name, "Install the package")
