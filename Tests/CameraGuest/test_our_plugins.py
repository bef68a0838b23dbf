"""The plug-ins that vendors give to libv4l2: one that takes a camera gets each of its calls, one that declines none.

A plug-in must lie in a folder of the system. The guest writes to its own copy of that, which ends with it.
"""

import os
import pathlib
import subprocess
import unittest.mock

import ours

SOURCE = pathlib.Path(__file__).resolve().parent / "plugin.c"


class PluginTests(ours.CameraTestCase):
    def setUp(self):
        super().setUp()
        library = pathlib.Path(subprocess.run(
            ["pkg-config", "--variable=libdir", "libv4l2"], capture_output=True, text=True, check=True).stdout.strip())
        plugin = library / "libv4l/plugins/counting.so"
        self.addCleanup(plugin.unlink, missing_ok=True)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", plugin, SOURCE], check=True)
        self.log = self.folder / "log"

    def record(self, node, **environment):
        """What the plug-in has written down while our tool recorded 20 frames: lines of words."""
        with unittest.mock.patch.dict(os.environ, {"PLUGIN_LOG": str(self.log), **environment}):
            self.succeed("--device", node, "--frames", 20, "-o", "a.ivf", "--force")
        self.assertEqual(ours.decoded_frames(self.folder / "a.ivf"), 20)
        return [line.split() for line in self.log.read_text().splitlines()]

    def test_one_that_takes_the_camera_gets_every_call(self):
        lines = self.record(self.fresh_camera().node(), PLUGIN_TAKES="1")
        self.assertIn(["taken", "0"], lines)
        self.assertGreaterEqual(max(int(count) for what, count in lines if what == "dequeued"), 20)

    def test_one_that_declines_gets_none(self):
        lines = self.record(self.fresh_camera().node())
        self.assertEqual({what for what, _ in lines}, {"declined"})
