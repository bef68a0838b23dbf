"""Runs tests of `unittest` in this process, says how long each took, and counts them."""

import re
import sys
import time
import unittest

COUNTS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)


class Result(unittest.TextTestResult):
    """Says how long each test took, and counts those that passed."""

    passed = 0

    def startTest(self, test):
        self.began = time.monotonic()
        super().startTest(test)

    def addSuccess(self, test):
        self.passed += 1
        super().addSuccess(test)

    def stopTest(self, test):
        self.stream.writeln(f"    {time.monotonic() - self.began:.1f} s")
        super().stopTest(test)


def part(arguments):
    """Which part of the tests the arguments ask for, as a function of whether a test is one for later, and the rest of
    the arguments."""
    parts = {"--first": lambda is_later: not is_later, "--later": lambda is_later: is_later}
    if arguments and arguments[0] in parts:
        return parts[arguments[0]], arguments[1:]
    return lambda _: True, arguments


def run(names):
    """Runs tests, and counts: passed, failed, skipped."""
    suite = unittest.TestLoader().loadTestsFromNames(names)
    result = unittest.TextTestRunner(stream=sys.stdout, resultclass=Result, verbosity=2).run(suite)
    return [result.passed, len(result.failures) + len(result.errors), len(result.skipped)]


def say(counts):
    """Prints the line that counts, and returns the exit code: a failure too when no test ran or was skipped."""
    passed, failed, skipped = counts
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 0 if passed + skipped and not failed else 1


def heard(output, name):
    """What a process that ran tests has printed: the text without the line that counts, and the counts. One that ended
    before that line is a failed test."""
    if line := COUNTS.search(output):
        return output[:line.start()], [int(number) for number in line.groups()]
    return f"{output}\nFAIL: {name}: it ended before its tests did\n", [0, 1, 0]
