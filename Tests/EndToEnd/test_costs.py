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
        result = media.command(
            "valgrind", "--tool=callgrind", "--fair-sched=yes", f"--callgrind-out-file={output}", path(), *arguments,
            "--force", "--quiet", limit=300)
        self.assertEqual(result.returncode, 0, result.stderr.decode(errors="replace")[-2000:])
        return profile(output.read_text())

    def assertCost(self, name, instructions, few, many):
        """The cost of each unit between two runs of different length, each given as its arguments and its units."""
        with self.subTest(name):
            (first, first_allocations), (second, second_allocations) = (self.count(*run[0]) for run in (few, many))
            units = many[1] - few[1]
            found, allocations = (second - first) / units, (second_allocations - first_allocations) / units
            print(f"\n{name}: {found:.0f} instructions, {allocations:.3f} allocations", end=" ", flush=True)
            self.assertLess(found, instructions)
            self.assertLess(allocations, 0.3, "memory comes from pools")

    def assertFrameCost(self, name, instructions, *arguments):
        self.assertCost(name, instructions, *(((*arguments, "--frames", str(count)), count) for count in (200, 1200)))

    def test_costs(self):
        """The limits are a quarter above what was counted when they were set."""
        self.assertFrameCost("capture", 8400, *NOISE, "-o", "null")
        self.assertFrameCost("raw file", 22000, *NOISE, "-o", self.folder / "a.y4m")
        self.assertFrameCost("VP8", 17300, *NOISE, "-o", self.folder / "a.webm")
        self.assertFrameCost("H.264", 17000, *NOISE, "-o", self.folder / "a.mp4")
        self.assertFrameCost("file", 21100, "--input", self.source(), "--fps", "max", "-o", "null")
        # From a file as fast as it goes: a busy machine would leave sound out that is made by the clock.
        self.assertCost("sound, by the chunk", 620000, *(
            (("--input", self.tone(seconds), "--fps", "max", "-o", self.folder / "a.weba"), 50 * seconds)
            for seconds in (1, 5)))

        # At the pace of the film; each frame has ten packets.
        self.assertCost("RTP, by the packet", 3400, *(
            (("--input", self.film(seconds), "--codec", "copy", "-o", "rtp://127.0.0.1:9?codec=vp8"), 300 * seconds)
            for seconds in (1, 5)))

    def film(self, seconds):
        file = self.folder / f"{seconds}.ivf"
        media.command(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=640x360:r=30,noise=alls=20:allf=t", "-t", str(seconds),
            "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "2600k", "-minrate", "2600k", "-maxrate",
            "2600k", "-bufsize", "500k", "-g", "30", file)
        return file

    def source(self):
        file = self.folder / "source.y4m"
        self.succeed(*NOISE, "--frames", 1300, "-o", file)
        return file

    def tone(self, seconds):
        file = self.folder / f"{seconds}.wav"
        media.command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"sine=sample_rate=48000:duration={seconds}", "-ac", "2", file)
        return file
