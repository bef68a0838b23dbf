"""The Debian package, in a bare Debian that has nothing but apt."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from support import media
from support.tool import path

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIMIT = 600  # seconds for one command
# A machine whose clock is off can install packages, too; and nothing here has to survive a crash.
OPTIONS = [
    "--aptopt=Acquire::Check-Valid-Until \"false\"", "--aptopt=Acquire::Check-Date \"false\"",
    "--aptopt=Acquire::Retries \"3\"", "--dpkgopt=force-unsafe-io", "--dpkgopt=path-exclude=/usr/share/locale/*",
]
SERVING = re.compile(r"(http://127\.0\.0\.1:\d+/)")


def command(*words, **options):
    """Runs a command, and fails with what it printed."""
    result = subprocess.run(
        [str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", timeout=LIMIT, **options)
    if result.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, words))}: exit code {result.returncode}\n{result.stdout[-3000:]}")
    return result.stdout


@unittest.skipUnless(os.geteuid() == 0, "a bare system is made by root only")
class PackageTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="package-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.root = cls.folder / "root"
        release = pathlib.Path("/etc/os-release").read_text()
        codename = re.search(r"^VERSION_CODENAME=(\w+)", release, re.MULTILINE)[1]
        # It mostly waits for the network, while the package is made and looked at.
        with ThreadPoolExecutor() as pool:
            bare = pool.submit(
                command, "mmdebstrap", "--quiet", "--variant=apt", "--skip=cleanup/apt/lists", *OPTIONS, codename,
                cls.root)
            cls.package = pathlib.Path(command(ROOT / "Packaging" / "deb", path()).splitlines()[-1])
            cls.lintian = command("lintian", "--allow-root", "--fail-on=error,warning", cls.package)
            bare.result()

    def inside(self, *words):
        """The words that run a command in the bare system: with processes of its own, and without what the tester has."""
        script = 'mount -t proc proc "$0/proc" && exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin HOME=/root "$@"'
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, self.root, *words]

    def run_inside(self, *words):
        return command(*self.inside("DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", *words))

    def left(self):
        """The files of the bare system whose names speak of us."""
        return sorted(str(file.relative_to(self.root)) for file in self.root.rglob("*capturer*"))

    def test_has_no_fault_that_lintian_knows(self):
        self.assertNotRegex(self.lintian, r"(?m)^[EW]:")

    def test_is_installed_used_and_removed(self):
        self.assertEqual(self.left(), [])
        shutil.copy(self.package, self.root / "root" / "capturer.deb")
        self.run_inside("apt-get", "install", "--yes", "--no-install-recommends", "/root/capturer.deb")
        (self.root / "root" / "capturer.deb").unlink()
        with self.subTest("it runs without Swift"):
            version = self.run_inside("capturer-demo", "--version").strip()
            self.assertIn(f"_{version}-1~", self.package.name)
            self.assertNotIn("swift", self.run_inside("ldd", "/usr/bin/capturer-demo"))
            self.assertIn("VP8", self.run_inside("capturer-demo", "doctor"))
        with self.subTest("it records"):
            self.run_inside(
                "capturer-demo", "--source", "noise", "--size", "64x48", "--frames", "10", "-o", "/root/noise.webm")
            self.assertEqual(len(media.times(self.root / "root" / "noise.webm")), 10)
            (self.root / "root" / "noise.webm").unlink()
        for unit in ("capturer-demo", "capturer-recorder"):
            with self.subTest(f"the unit {unit} serves a page"):
                self.check_unit(unit)
        with self.subTest("it leaves nothing"):
            self.run_inside("apt-get", "purge", "--yes", "capturer-demo")
            shutil.rmtree(self.root / "etc" / "capturer-demo")
            self.assertEqual(self.left(), [])

    def check_unit(self, unit):
        """Runs the command of a unit as systemd would, with a configuration and a login, and asks for its page."""
        file = self.root / "lib" / "systemd" / "system" / f"{unit}@.service"
        command("systemd-analyze", "verify", "--man=no", f"--root={self.root}", f"{unit}@door.service")
        configuration = self.root / "etc" / "capturer-demo" / "door.conf"
        configuration.parent.mkdir(exist_ok=True)
        configuration.write_text("source = noise\nsize = 64x48\nserve = 127.0.0.1:0\n")
        (configuration.parent / "login").write_text("name:password\n")
        started = re.search(r"^ExecStart=(.*)$", file.read_text(), re.MULTILINE)[1]
        words = shlex.split(started.replace("%i", "door").replace("%d", "/etc/capturer-demo"))
        with open(self.folder / f"{unit}.log", "w+") as log:
            server = subprocess.Popen(
                [str(word) for word in self.inside(*words)], stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT)
            try:
                self.ask_for_page(server, log)
            finally:
                server.kill()
                server.wait()

    def ask_for_page(self, server, log):
        deadline = time.monotonic() + 60
        while not (found := SERVING.search(os.pread(log.fileno(), 1 << 16, 0).decode(errors="replace"))):
            self.assertIsNone(server.poll(), os.pread(log.fileno(), 1 << 16, 0))
            self.assertLess(time.monotonic(), deadline, "no address")
            time.sleep(0.05)
        passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
        passwords.add_password(None, found[1], "name", "password")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(found[1], timeout=60)
        self.assertEqual(refused.exception.code, 401)
        refused.exception.close()
        opener = urllib.request.build_opener(urllib.request.HTTPBasicAuthHandler(passwords))
        with opener.open(found[1], timeout=60) as page:
            self.assertIn(b"<html", page.read())


if __name__ == "__main__":
    unittest.main()
