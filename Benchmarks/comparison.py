"""What the comparisons share: running programs in turns, and telling the results in Markdown."""

import os
import re
import statistics
import subprocess
import tempfile
import time


class Failure(Exception):
    pass


def run(command):
    """Runs a program to its end; CPU and wall in seconds, and what it printed."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        text = output.read().decode(errors="replace")
        if child.returncode != 0:
            raise Failure(f"{' '.join(command)}: exit {child.returncode}\n{errors.read().decode(errors='replace')}")
    return usage.ru_utime + usage.ru_stime, wall, text


def in_turns(jobs, rounds):
    """Runs each job once a round, beginning with another one each time; a list of results for each.

    Every other round goes backwards, so that none always follows the same one.
    """
    names = list(jobs)
    results = {name: [] for name in names}
    for turn in range(rounds):
        first = turn % len(names)
        order = names[first:] + names[:first]
        for name in reversed(order) if turn % 2 else order:
            results[name].append(jobs[name]())
    return results


def median_ratio(ours, theirs, which):
    return statistics.median(a[which] / b[which] for a, b in zip(ours, theirs))


def table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def goal(text, met):
    print(f"- {text}: **{'met' if met else 'missed'}**\n", flush=True)


def commands(title, lines):
    print(f"{title}\n\n```sh")
    for line in lines:
        print(" ".join(f"'{word}'" if re.search(r"[^\w@%+=:,./-]", word) else word for word in line))
    print("```\n")
