"""The tool as a server whose machine gives it little, and whose clients want much."""

import json
import os
import pathlib
import re
import resource
import socket
import subprocess
import time

from support import tool
from support.mjpeg import MJPEGTestCase
from support.tool import OK, USAGE

TICKS = os.sysconf("SC_CLK_TCK")


class ServerLimitTests(MJPEGTestCase):
    def processor_seconds(self, pid):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def lowest_free_descriptor(self, pid):
        def opened():
            return sorted(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
        # What is open for a moment while the tool starts does not count.
        before, now = None, opened()
        while before != now:
            time.sleep(0.3)
            before, now = now, opened()
        return next(number for number, name in enumerate(now + [-1]) if number != name)

    def test_waits_for_descriptors_without_spinning(self):
        server, url = self.serve()
        pid, port = server.process.pid, int(re.search(r":(\d+)/", url)[1])
        usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        # From now on it can open nothing more: the limit is of numbers, of which the lowest that is free is given.
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (self.lowest_free_descriptor(pid), usual[1]))
        with socket.create_connection(("127.0.0.1", port), timeout=60) as waiting:
            deadline = time.monotonic() + 60
            while "ulimit -n" not in server.peek():
                self.assertLess(time.monotonic(), deadline, f"no warning: {server.peek()}")
                time.sleep(0.02)
            before = self.processor_seconds(pid)
            time.sleep(2)
            used = self.processor_seconds(pid) - before
            self.assertLess(used, 1, "a core was busy with nothing")
            resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)
            waiting.sendall(b"GET /state HTTP/1.0\r\n\r\n")
            self.assertTrue(waiting.recv(100).startswith(b"HTTP/1.1 200 "))
        run = self.end(server)
        self.assertEqual(run.stderr.count("ulimit -n"), 1, "one warning, not one for each attempt")

    def test_takes_the_descriptors_that_it_may(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        server, _ = self.serve()
        self.assertEqual(resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)[0], min(4096, hard))
        self.end(server)

    def run_with_descriptors(self, count):
        return subprocess.run(
            ["prlimit", f"--nofile={count}:{count}", "--core=0", tool.path(), "--source", "noise", "--preset", "160x120",
             "--serve", "127.0.0.1:0", "--duration", "1"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=tool.environment(), cwd=self.folder)

    def test_says_so_when_there_are_too_few_descriptors(self):
        for count in (10, 12, 14):
            run = self.run_with_descriptors(count)
            self.assertGreater(run.returncode, 0, run)
            self.assertEqual(len(run.stderr.splitlines()), 1, run)
            self.assertIn("ulimit -n", run.stderr)
        run = self.run_with_descriptors(64)
        self.assertEqual(run.returncode, OK, run)
        self.assertRegex(run.stderr, r"warning: At most \d+ connections .*ulimit -n")

    def test_warnings_are_seen_without_statistics(self):
        for options in (["--stats", "none"], ["--stats", "json"]):
            run = self.succeed("--source", "noise", "--serve", "0.0.0.0:0", "--duration", "0.2", *options)
            if "json" in options:
                events = [json.loads(line) for line in run.stderr.splitlines()]
                warnings = [event["message"] for event in events if event["event"] == "warning"]
            else:
                warnings = [line for line in run.stderr.splitlines() if line.startswith("warning: ")]
            self.assertEqual(len(warnings), 1, str(run))
            self.assertIn("password", warnings[0])

    def test_an_empty_password_is_refused(self):
        run = self.run_tool("--source", "noise", "--serve", "0", "--serve-login", "ann:", "--frames", "1")
        self.assertRefused(run, USAGE, "--serve-login", "empty")

    def test_another_name_is_refused(self):
        """A web page that has had its own name lead to this machine."""
        server, url = self.serve()
        for host, status in (("evil.example", "403"), ("localhost", "200")):
            head = self.run_program("curl", "-sSi", "-o", "-", "-H", f"Host: {host}", f"{url}state").decode()
            self.assertIn(f" {status} ", head.splitlines()[0])
            self.assertIn("Cross-Origin-Resource-Policy: same-origin", head)
        self.end(server)
