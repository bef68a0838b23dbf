"""The launcher: what comes in, what goes out, and that nothing stays behind."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

HOST = True
LATER = True

GUEST = pathlib.Path(__file__).resolve().parent / "guest"


def guest(*arguments, **options):
    return subprocess.run([GUEST, *arguments], capture_output=True, text=True, timeout=60, **options)


def processes_of(session):
    """Processes of a session, zombies apart."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session = stat.read_text().rsplit(")", 1)[1].split()[:4]
        except OSError:
            continue
        if int(its_session) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


class LauncherTests(unittest.TestCase):
    def test_output_and_exit_code(self):
        run = guest("--", "sh", "-c", "echo out; echo err >&2; exit 7")
        self.assertEqual((run.returncode, run.stdout, run.stderr), (7, "out\n", "err\n"))

    def test_a_lot_of_output(self):
        run = guest("--", "sh", "-c", "seq 20000")
        self.assertEqual(run.stdout.split(), [str(number) for number in range(1, 20001)])

    def test_command_that_does_not_exist(self):
        run = guest("--", "no-such-command")
        self.assertEqual(run.returncode, 127)
        self.assertIn("no-such-command", run.stderr)

    def test_signal_as_a_shell_has_it(self):
        self.assertEqual(guest("--", "sh", "-c", "kill -9 $$").returncode, 137)

    def test_folder_environment_and_identity(self):
        with tempfile.TemporaryDirectory() as folder:
            run = guest("--", "sh", "-c", "pwd; echo $FRUIT; id -u; ls -A $HOME", cwd=folder,
                        env={**os.environ, "FRUIT": "pear"})
        self.assertEqual(run.stdout.split(), [folder, "pear", "0"])

    def test_a_machine_on_which_the_kernel_cannot_run(self):
        # A process that is traced already cannot be traced by the guest's kernel.
        run = subprocess.run(["strace", "-f", "-o", "/dev/null", GUEST, "--", "true"], capture_output=True, text=True,
                             timeout=60)
        self.assertEqual(run.returncode, 126)
        self.assertIn("cannot run on this machine", run.stderr)
        run = subprocess.run(["strace", "-f", "-o", "/dev/null", GUEST.parent / "run", "test_our_formats"],
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertRegex(run.stdout, r"tests need the guest and are skipped: guest: its kernel cannot run")
        self.assertRegex(run.stdout, r"(?m)^0 passed, 0 failed, [1-9]\d* skipped$")

    def test_only_shared_folders_change(self):
        with tempfile.TemporaryDirectory() as shared, tempfile.TemporaryDirectory() as other:
            run = guest("--shared", shared, "--", "sh", "-c", f"echo a >{shared}/a; echo b >{other}/b; cat {other}/b")
            self.assertEqual(run.stdout, "b\n")
            self.assertEqual((pathlib.Path(shared) / "a").read_text(), "a\n")
            self.assertEqual(os.listdir(other), [])

    def test_time_out(self):
        began = time.monotonic()
        run = guest("--timeout", "3", "--", "sleep", "100")
        self.assertEqual(run.returncode, 125)
        self.assertIn("not done after 3 s", run.stderr)
        self.assertLess(time.monotonic() - began, 10)

    def test_death_of_the_kernel(self):
        run = guest("--memory", "nonsense", "--", "true")
        self.assertEqual(run.returncode, 125)
        self.assertIn("the guest died", run.stderr)

    def test_killed_launcher_leaves_nothing(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            launcher = subprocess.Popen([GUEST, "--", "sh", "-c", "echo up; sleep 100"], stdout=subprocess.PIPE)
            self.addCleanup(launcher.stdout.close)
            self.assertEqual(launcher.stdout.readline(), b"up\n")
            (kernel,) = [int(pid) for pid in pathlib.Path(
                f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()]
            folder = re.search(r"uml_dir=(/tmp/[^/\0]+)", pathlib.Path(f"/proc/{kernel}/cmdline").read_text())[1]
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
            self.assertGreater(len(processes_of(kernel)), 1, "the kernel, and its programs")
            launcher.send_signal(number)
            launcher.wait(10)
            deadline = time.monotonic() + 5
            while processes_of(kernel) and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertEqual(processes_of(kernel), [])
