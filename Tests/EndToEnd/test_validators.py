"""Programs that check files against their specifications find nothing in those that the tool writes."""

import json
import re

from support import media
from support.chromium import Browser
from support.tool import ToolTestCase

MATROSKA = ("a.webm", "a.mkv", "a.weba")
FILES = (*MATROSKA, "a.mp4", "a.mov", "a.ts", "a.ivf", "a.y4m", "a.wav", "a.m3u8", "a.jpg", "a.png")


class ValidatorTests(ToolTestCase):
    """One run writes a file of each kind; the odd size and a channel are what writers get wrong first."""

    def setUp(self):
        super().setUp()
        self.succeed("--source", "pattern", "--size", "322x242", "--audio", "tone", "--duration", 2,
                     *(word for name in FILES for word in ("-o", name)))

    def assertSilent(self, *command, contains=""):
        result = media.command(*command)
        said = (result.stdout + result.stderr).decode(errors="replace")
        self.assertEqual(result.returncode, 0, f"{command}: {said}")
        self.assertIn(contains, said)
        return said

    def test_validators(self):
        for name in FILES:
            file = self.folder / name
            with self.subTest(ffprobe=name):
                found = media.probe(file)
                self.assertEqual(found["errors"], "")
                self.assertGreater(len(found["packets"]), 0)
            with self.subTest(ffmpeg=name):
                said = self.assertSilent(
                    "ffmpeg", "-v", "error", "-xerror", "-err_detect", "explode", "-i", file, "-f", "null", "-")
                # After a gap, as a machine that is too slow leaves, FFmpeg complains of the times of its own output.
                self.assertEqual([line for line in said.splitlines() if not re.search(
                    "increasing dts to muxer in stream|Last message repeated", line)], [])
        for name in MATROSKA:
            with self.subTest(mediaconch=name):
                report = self.assertSilent("mediaconch", "-mc", "-fx", self.folder / name)
                counts = re.search(r'<implementationChecks .*fail_count="(\d+)" .*pass_count="(\d+)"', report)
                self.assertEqual(counts[1], "0", report)
                self.assertGreater(int(counts[2]), 10)
            with self.subTest(mkvmerge=name):
                found = json.loads(self.assertSilent("mkvmerge", "-J", self.folder / name))
                self.assertEqual((found["errors"], found["warnings"]), ([], []))
        with self.subTest("pngcheck"):
            self.assertSilent("pngcheck", self.folder / "a.png", contains="OK")
        for name in ("a.jpg", "a.png"):
            with self.subTest(exiftool=name):
                self.assertSilent("exiftool", "-validate", "-warning", "-a", self.folder / name, contains=": OK")

    def test_chromium_plays_to_the_end(self):
        for name in ("a.webm", "a.mp4"):
            with self.subTest(name):
                report = Browser.get().play(self.folder / name)
                self.assertEqual((report["ended"], report.get("error")), ("ended", None), report)
                self.assertEqual((report["width"], report["height"], report["corrupted"]), (322, 242, 0))
                self.assertAlmostEqual(float(report["durationAtStart"]), 2, delta=0.1)
