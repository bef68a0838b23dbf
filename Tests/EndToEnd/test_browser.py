"""Headless Chromium plays and seeks what the tool wrote."""

from support.chromium import Browser
from support.tool import ToolTestCase


class BrowserTests(ToolTestCase):
    def test_plays_and_seeks_a_closed_file(self):
        file = self.folder / "a.webm"
        # By way of a film, whose times no busy machine changes.
        film = self.folder / "a.y4m"
        self.succeed("--source", "noise", "--preset", "320x240", "--frames", 90, "--fps", "max", "--output", film)
        self.succeed("--input", film, "--fps", "max", "--keyframe-interval", 1, "--output", file)
        report = Browser.get().play(file, seeks=[2.5, 0.5, 1.7, 0])
        self.assertEqual((report["ended"], report.get("error")), ("ended", None), report)
        self.assertEqual((report["width"], report["height"]), (320, 240))
        self.assertAlmostEqual(float(report["durationAtStart"]), 3, delta=0.05)
        self.assertEqual((report["total"], report["corrupted"]), (90, 0), report)
        self.assertGreater(report["presented"], 45, "half of the frames reach the screen of a busy machine")
        self.assertEqual(report["mediaTimes"], sorted(report["mediaTimes"]))
        # Noise that was coded at a video call's bitrate is softer than noise, but no plain surface.
        self.assertAlmostEqual(report["picture"]["mean"], 128, delta=40)
        self.assertGreater(report["picture"]["deviation"], 3)
        self.assertAlmostEqual(report["seekable"], 3, delta=0.05)
        for seek in report["seeks"]:
            self.assertEqual(seek["outcome"], "seeked", report)
            self.assertAlmostEqual(seek["mediaTime"], seek["to"], delta=0.05)

    def test_plays_an_odd_size(self):
        file = self.folder / "a.webm"
        self.succeed("--source", "noise", "--size", "321x243", "--frames", 15, "--output", file)
        report = Browser.get().play(file)
        self.assertEqual((report["ended"], report["width"], report["height"]), ("ended", 321, 243), report)


