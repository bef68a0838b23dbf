"""What a frame costs around its pixels: instructions and heap allocations, counted by callgrind.

Counts do not depend on the machine's speed or load. Only the tool's own code and Swift's runtime count: the libraries'
code depends on the processor. A pipeline runs twice, and the difference of the two runs is the cost of the frames between
them, without start and end.
"""

import re
from collections import Counter

from support import media
from support.tool import ToolTestCase, path

NOISE = ("--source", "noise", "--size", "64x48", "--fps", "max")
OURS = re.compile(r"/capturer-demo$|/libswift[A-Za-z_]+\.so$")
ALLOCATE = {"malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign"}


def profile(text):
    """The instructions of our own code in a callgrind profile, and how often it asked for memory."""
    names, costs, allocations = {}, Counter(), Counter()
    current = {}

    def named(kind, value):
        # A name is written once, as `(7) name`, and then as `(7)`; files, objects and functions count apart.
        number, _, name = value.partition(" ")
        return names.setdefault((kind, number), name) if name else names.get((kind, number), "")

    after_calls = False
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key in ("ob", "cob"):
            current[key] = named("object", value)
        elif key in ("fn", "cfn"):
            current[key] = named("function", value)
        elif key == "calls":
            if current["cfn"].split("@")[0] in ALLOCATE:
                allocations[current["ob"]] += int(value.split()[0])
            after_calls = True
        elif line[:1].isdigit() or line[:1] in "+-*":
            # The line after `calls=` has what the called function cost, which is counted there.
            if not after_calls and len(words := line.split()) == 2:
                costs[current["ob"]] += int(words[1])
            after_calls = False
    return tuple(sum(count for name, count in found.items() if OURS.search(name)) for found in (costs, allocations))


class CostTests(ToolTestCase):
    LATER = True
    WAITS = True

    def count(self, *arguments):
        """Instructions of our own code, and allocations."""
        output = self.folder / "callgrind.out"
        # Before the builds that run at the same time, where that is allowed: sound is made by the clock.
        result = media.command(
            "nice", "-n", "-10", "valgrind", "--tool=callgrind", "--fair-sched=yes", f"--callgrind-out-file={output}",
            path(), *arguments, "--force", "--quiet", limit=300)
        self.assertEqual(result.returncode, 0, result.stderr.decode(errors="replace")[-2000:])
        return profile(output.read_text())

    def per_unit(self, few, many, arguments):
        """The cost of each unit between two runs of different length, each given as its arguments and its units."""
        (first, first_allocations), (second, second_allocations) = (
            self.count(*arguments, *map(str, run[0])) for run in (few, many))
        units = many[1] - few[1]
        return (second - first) / units, (second_allocations - first_allocations) / units

    def assertCost(self, name, instructions, *arguments, few=("--frames", 200, 200), many=("--frames", 1200, 1200)):
        with self.subTest(name):
            # A machine that is too busy for the clock leaves sound out, which costs otherwise.
            for _ in range(3):
                found, allocations = self.per_unit((few[:2], few[2]), (many[:2], many[2]), arguments)
                if allocations < 0.3:
                    break
            print(f"\n{name}: {found:.0f} instructions, {allocations:.3f} allocations", end=" ", flush=True)
            self.assertLess(found, instructions)
            self.assertLess(allocations, 0.3, "memory comes from pools")

    def test_costs(self):
        """The limits are a quarter above what was counted when they were set."""
        self.assertCost("capture", 8400, *NOISE, "-o", "null")
        self.assertCost("raw file", 22000, *NOISE, "-o", self.folder / "a.y4m")
        self.assertCost("VP8", 17300, *NOISE, "-o", self.folder / "a.webm")
        self.assertCost("H.264", 17000, *NOISE, "-o", self.folder / "a.mp4")
        self.assertCost("file", 21100, "--input", self.source(), "--fps", "max", "-o", "null")
        self.assertCost("sound, by the chunk", 620000, "--audio", "tone", "-o", self.folder / "a.weba",
                        few=("--duration", 1, 50), many=("--duration", 3, 150))

    def source(self):
        file = self.folder / "source.y4m"
        self.succeed(*NOISE, "--frames", 1300, "-o", file)
        return file
