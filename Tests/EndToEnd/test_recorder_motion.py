"""Clips of what moves: `--record-on motion`."""

import json

from support.tool import OK, USAGE, ToolTestCase

WIDTH, HEIGHT, RATE = 160, 120, 10


def make_clip(path, seconds, moving):
    """A still picture before which a white square moves at some times, as Y4M."""
    rows = [bytes(60 + (column // 16 + row // 12) % 5 * 12 for column in range(WIDTH)) for row in range(HEIGHT)]
    chroma = bytes([128]) * (WIDTH * HEIGHT // 2)
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F%d:1 Ip C420jpeg\n" % (WIDTH, HEIGHT, RATE))
        for number in range(int(seconds * RATE)):
            time = number / RATE
            shown = list(rows)
            for begin, end in moving:
                if begin <= time < end:
                    x = int((time - begin) / (end - begin) * (WIDTH - 40))
                    for row in range(40, 80):
                        shown[row] = shown[row][:x] + bytes([210]) * 40 + shown[row][x + 40:]
            file.write(b"FRAME\n" + b"".join(shown) + chroma)


class MotionTests(ToolTestCase):
    WAITS = True

    def record(self, *options):
        """What was recorded of a clip in which a square moves from 4 s to 6 s."""
        make_clip(self.folder / "clip.y4m", 9, [(4, 6)])
        result = self.run_tool("--input", "clip.y4m", "--record-on", "motion", "--preroll", 1, "--postroll", 1,
                               "--keyframe-interval", "1", "--stats-file", "stats.json", "-o", "clip.webm", *options)
        self.assertEqual(result.code, OK, result.stderr)
        lines = (self.folder / "stats.json").read_text().splitlines()
        return [line for line in map(json.loads, lines) if line["event"] == "recording"]

    def test_a_movement_is_a_clip(self):
        events = self.record()
        self.assertEqual([event["phase"] for event in events], ["begin", "end"])
        self.assertEqual(events[0]["reasons"], ["motion"])
        self.assertRegex(events[0]["detail"], r"^area [\d.]+ % at [\d.]+,[\d.]+,[\d.]+x[\d.]+ %$")
        # A second before, two of motion, a second after it, and up to a second to the key frame before.
        self.assertGreater(events[1]["seconds"], 3.4)
        self.assertLess(events[1]["seconds"], 8)

    def test_other_zones_are_no_clip(self):
        self.assertEqual(self.record("--motion-zone", "0,75%,100x25"), [])

    def test_wrong_options_say_what_is_right(self):
        for options, text in [
                (["--motion-zone", "0,0,1x1"], "add --record-on motion"),
                (["--record-on", "motion", "--motion-zone", "50,50,60x50"], "0,50,100x50"),
                (["--record-on", "motion", "--motion-area", "0"], "above 0 to 100"),
                (["--record-on", "motion", "--motion-sensitivity", "high"], "from 0 to 100"),
                (["--record-on", "motion", "--motion-mask", "none.pgm"], "cannot be opened")]:
            result = self.run_tool("--source", "pattern", *options, "-o", "clip.webm")
            self.assertEqual(result.code, USAGE, result.stderr)
            self.assertIn(text, result.stderr)

    def test_packets_show_no_motion(self):
        self.succeed("--source", "pattern", "--frames", 10, "-o", "film.mkv")
        result = self.run_tool("--input", "film.mkv", "--codec", "copy", "--record-on", "motion", "-o", "clip.mkv")
        self.assertEqual(result.code, USAGE, result.stderr)
        self.assertIn("motion needs frames", result.stderr)
