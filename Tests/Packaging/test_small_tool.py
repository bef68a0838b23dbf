"""The small tool of `make demo`."""

import os
import pathlib
import re
import subprocess
import unittest
import unittest.mock

from support import media
from support.tool import OK, USAGE, ToolTestCase

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Libraries that `scripts/setup --small` does not install, by the beginning of their names.
OTHERS = re.compile(r"lib(av|sw|SDL|nice|srtp|curl|ssl|openh264|opus|xcb|asound|v4l|png|mpg123)")


class SmallToolTests(ToolTestCase):
    @classmethod
    def setUpClass(cls):
        built = subprocess.run(
            [ROOT / "scripts" / "tool"], env={**os.environ, "SMALL": "1"}, stdout=subprocess.PIPE, text=True)
        if built.returncode != 0:
            raise RuntimeError("the small tool does not build")
        cls.tool = built.stdout.strip()

    def setUp(self):
        super().setUp()
        chosen = unittest.mock.patch.dict(os.environ, CAPTURER_DEMO=self.tool)
        chosen.start()
        self.addCleanup(chosen.stop)

    def test_records_noise_and_test_pictures(self):
        for source in ("noise", "pattern"):
            run = self.run_tool("--source", source, "--size", "64x48", "--frames", "10", "-o", f"{source}.webm")
            self.assertEqual(run.code, OK, run)
            self.assertEqual(len(media.times(self.folder / f"{source}.webm")), 10)

    def test_links_few_libraries(self):
        listed = subprocess.run(["ldd", self.tool], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertIn("libvpx", listed)
        self.assertNotRegex(listed, OTHERS)

    def test_says_that_there_is_more(self):
        self.assertIn("All parts: make release.", self.run_tool("--help").stdout.decode())
        self.assertRefused(self.run_tool("--source", "camera"), USAGE, "camera", "make release")
        self.assertRefused(self.run_tool("--source", "noise", "--serve", "8080"), USAGE, "--serve", "make release")
        self.assertRefused(self.run_tool("--source", "noise", "-o", "a.mp4"), USAGE, "a.mp4", "make release")
        self.assertRefused(self.run_tool("play", "http://127.0.0.1:1/a.mp3"), USAGE, "make release")


if __name__ == "__main__":
    unittest.main()
