"""The tests' own tools, tried on files that are known to be good and bad."""

import pathlib
import shutil
import tempfile
import unittest

from support import matroska, media
from support.chromium import Browser


class HarnessTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="harness-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.clip = cls.folder / "clip.webm"
        media.make_clip(cls.clip)

    def test_the_browser_plays_a_good_file(self):
        report = Browser.get().play(self.clip, seeks=[0.5])
        self.assertEqual((report["width"], report["height"], report["ended"]), (320, 240, "ended"), report)
        self.assertEqual(report["total"], 30, report)
        self.assertAlmostEqual(float(report["duration"]), 1, delta=0.05)
        self.assertGreater(report["picture"]["deviation"], 20, report)
        self.assertAlmostEqual(report["seeks"][0]["mediaTime"], 0.5, delta=0.05)

    def test_the_browser_refuses_a_bad_file(self):
        broken = self.folder / "broken.webm"
        broken.write_bytes(b"\x1a\x45\xdf\xa3 no video here" * 50)
        report = Browser.get().play(broken)
        self.assertEqual(report["ended"], "error", report)

    def test_the_outline_of_a_closed_file(self):
        found = matroska.outline(self.clip)
        self.assertEqual(found.whole_blocks, 30)
        self.assertTrue(found.is_segment_sized)
        self.assertGreater(found.cue_points, 0)
        self.assertAlmostEqual(found.duration, 1000, delta=50)

    def test_the_outline_of_a_cut_file(self):
        data = self.clip.read_bytes()
        cut = self.folder / "cut.webm"
        last = matroska.outline(self.clip).clusters[-1]
        cut.write_bytes(data[:last.end - 1])
        self.assertEqual(matroska.outline(cut).whole_blocks, 30 - last.blocks)
        for size in range(0, len(data), 997):
            cut.write_bytes(data[:size])
            self.assertLess(matroska.outline(cut).whole_blocks, 30)

    def test_decoders_count_frames_and_complain(self):
        frames, complaints = media.decode(self.clip)
        self.assertEqual((frames, complaints), (30, ""))
        cut = self.folder / "half.webm"
        cut.write_bytes(self.clip.read_bytes()[:self.clip.stat().st_size // 2])
        frames, complaints = media.decode(cut)
        self.assertLess(frames, 30)
        self.assertIn("ended prematurely", complaints)
