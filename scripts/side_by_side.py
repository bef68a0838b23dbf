"""Runs commands side by side, each in a process group of its own, and ends those that run when it has to stop.

TEST_JOBS in the environment says how many run at a time; by default two for each core, since most tests wait.
"""

import contextlib
import os
import pathlib
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque

JOBS = int(os.environ.get("TEST_JOBS") or 2 * (os.cpu_count() or 1))
WHEN_IDLE = [str(pathlib.Path(__file__).resolve().parent / "when-idle"), "5"]
GRACE = 5  # seconds from asking to forcing


class Stopped(BaseException):
    """A signal asked this program to end."""

    def __init__(self, number):
        self.code = 128 + number


class Pool:
    """Workers that run one command at a time each. A context manager: at its end no command runs any more."""

    def __init__(self, workers, own_folders=False):
        """`workers` has for each the command by which it runs others, such as `WHEN_IDLE`, or an empty one. With
        `own_folders` each command runs in an empty folder, which is removed at its end."""
        self.workers = workers
        self.own_folders = own_folders
        self.lock = threading.Lock()
        self.running = set()
        self.is_ended = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def run(self, commands, paced=()):
        """Yields each command's number, exit code (negative: the signal), output, seconds, and seconds of processor time
        with that of the processes it waited for, in the order in which they end. Those whose numbers are in `paced` expect frames at their times: only the first worker runs them, and
        before all others."""
        ahead = deque(sorted(paced))
        others = deque(number for number in range(len(commands)) if number not in paced)
        results = queue.SimpleQueue()
        for index, prefix in enumerate(self.workers):
            orders = [others] if index else [ahead, others]
            threading.Thread(target=self.work, args=(prefix, commands, orders, results), daemon=True).start()
        for _ in commands:
            number, result = results.get()
            if isinstance(result, Exception):
                raise result
            yield number, *result

    def work(self, prefix, commands, orders, results):
        while True:
            with self.lock:
                order = next(filter(None, orders), None)
                if order is None or self.is_ended:
                    return
                number = order.popleft()
            try:
                results.put((number, self.one([*prefix, *commands[number]])))
            except Exception as error:
                results.put((number, error))

    def one(self, command):
        # A file, not a pipe: what a command leaves running must not keep this waiting.
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(tempfile.TemporaryFile())
            folder = None
            if self.own_folders:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tests-", ignore_cleanup_errors=True))
            began = time.monotonic()
            with self.lock:
                if self.is_ended:
                    return None
                process = subprocess.Popen(
                    command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                    start_new_session=True)
                self.running.add(process)
            # Its number is not given to another process before it is reaped, under the lock under which it is signalled.
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            with self.lock:
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                self.running.discard(process)
            output.seek(0)
            return (process.returncode, output.read().decode(errors="replace"), time.monotonic() - began,
                    usage.ru_utime + usage.ru_stime)

    def end(self):
        with self.lock:
            self.is_ended = True
            running = list(self.running)
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in running:
                with self.lock:
                    if process.returncode is None:
                        os.killpg(process.pid, number)
            limit = time.monotonic() + GRACE
            while time.monotonic() < limit and any(process.returncode is None for process in running):
                time.sleep(0.05)


def stop_on_signals():
    """Has the signals that ask a program to end raise `Stopped`, so that `finally` and `with` do their work."""
    def stop(number, _):
        raise Stopped(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
