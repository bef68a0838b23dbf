"""The small tool of `make demo`."""

import os
import pathlib
import re
import subprocess
import unittest
import unittest.mock

from support import media
from support.tool import OK, USAGE, ToolTestCase, environment

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Libraries that `scripts/setup --small` does not install, by the beginning of their names.
OTHERS = re.compile(r"lib(av|sw|SDL|nice|srtp|curl|ssl|openh264|opus|xcb|asound|v4l|png|mpg123)")
MOVES_ENVIRONMENT = """
    #include <stdlib.h>
    extern char **environ;
    __attribute__((constructor)) static void move(void) {
        int count = 0;
        while (environ[count]) count++;
        char **moved = calloc(count + 1, sizeof *moved);
        for (int i = 0; i < count; i++) moved[i] = environ[i];
        environ = moved;
    }
"""


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

    def test_finds_its_arguments_where_a_library_moves_the_environment(self):
        # The static runtime of Swift looks for them next to the environment; sdl2-compat moves it.
        library = self.folder / "moves.so"
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=MOVES_ENVIRONMENT, text=True, check=True)
        run = self.run_tool("--version", env=environment(LD_PRELOAD=str(library)))
        self.assertEqual(run.code, OK, run)
        self.assertRegex(run.stdout, rb"^\d+\.\d+\.\d+\n$")

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
