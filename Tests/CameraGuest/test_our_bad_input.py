"""What cannot work is refused at once: one sentence with the next step, and an exit code that scripts can tell apart."""

import os
import subprocess
import time

import ours
import v4l2
import vivid

# The first makes nodes of other kinds too: output, VBI, SDR, metadata, touch.
KERNEL_ARGS = "vivid.n_devs=2 vivid.node_types=0xe153d,0x1 vivid.multiplanar=1,1"

# Seconds; far less than any wait for a camera, and more than a start on two processors that others build on.
LIMIT = 5
USER = 1000  # who has no rights; need not exist


def nodes_named(words):
    """The nodes in whose name the kernel has these words."""
    return [f"/dev/{entry.name}" for entry in sorted(vivid.CLASS.iterdir())
            if words in (entry / "name").read_text()]


class BadInputTests(ours.CameraTestCase):
    def setUp(self):
        super().setUp()
        self.node = self.camera.node()

    def refuse(self, code, *words, arguments=(), prefix=()):
        """One line on standard error that has the words, soon."""
        began = time.monotonic()
        running = ours.Running(
            "--source", "camera", *arguments, "--frames", 3, "-o", "null:", folder=self.folder, prefix=prefix)
        self.addCleanup(running.end)
        running.finish(20)
        took, text = time.monotonic() - began, running.text()
        print(f"    {text.strip()}", flush=True)
        self.assertEqual(running.process.returncode, code, text)
        self.assertEqual(len(text.splitlines()), 1, text)
        for word in words:
            self.assertIn(word, text)
        self.assertLess(took, LIMIT)
        return text

    def tool_name(self):
        """As the kernel has it."""
        return os.path.basename(os.environ["CAPTURER_DEMO"])[:15]

    def refuse_camera(self, code, *words, arguments=()):
        return self.refuse(code, *words, arguments=("--device", self.node, *arguments))

    def test_no_camera_at_all(self):
        self.camera.pull()
        self.addCleanup(self.camera.plug)
        self.refuse(ours.NO_INPUT, "There is no camera; ")
        self.refuse(ours.NO_INPUT, "no camera", arguments=("--device", "/dev/video0"))
        self.refuse(ours.NO_INPUT, "no camera", arguments=("--device", "C920"))

    def test_no_camera_but_other_nodes(self):
        # As in a container that was not given it: the kernel has a camera, /dev has not.
        for node in nodes_named("-vid-cap"):
            os.rename(node, node + ".away")
            self.addCleanup(os.rename, node + ".away", node)
        self.refuse(ours.NO_INPUT, "there is no node for it here")

    def test_wrong_device(self):
        self.refuse(ours.NO_INPUT, "There is no such camera", "vivid", arguments=("--device", "/dev/video77"))
        self.refuse(ours.NO_INPUT, "There is no such camera; there is vivid", arguments=("--device", "77"))
        self.refuse(ours.NO_INPUT, "did you mean", arguments=("--device", "vivdi"))
        self.refuse(ours.USAGE, "names no device", arguments=("--device", ""))

    def test_name_of_several(self):
        self.refuse(ours.NO_INPUT, "This fits 2 cameras", self.node, arguments=("--device", "vivid"))

    def test_what_is_no_camera(self):
        (self.folder / "file").write_text("x")
        for device, words in (("/dev/null", "not a camera; choose one of"), (self.folder, "a folder, not a camera; choose"),
                              (self.folder / "file", "a file, not a camera; use the file")):
            with self.subTest(device=device):
                self.refuse(ours.NO_INPUT, words, arguments=("--device", device))

    def test_nodes_that_are_no_cameras(self):
        kinds = {"-vid-out": "output", "-vbi-cap": "teletext", "-sdr-cap": "radio",
                 "-meta-cap": "metadata", "-touch-cap": "not a camera"}
        for name, words in kinds.items():
            with self.subTest(name):
                found = nodes_named(name)
                self.assertTrue(found, f"vivid makes no node {name}")
                self.refuse(ours.NO_INPUT, "not a camera", words, arguments=("--device", found[0]))

    def test_the_default_is_a_camera(self):
        self.succeed("--frames", 3, "-o", "null:")

    def test_no_permission(self):
        os.chmod(self.folder, 0o777)
        prefix = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")
        self.addCleanup(os.chmod, self.node, 0o600)
        self.addCleanup(os.chown, self.node, 0, 0)
        os.chown(self.node, 0, 44)
        os.chmod(self.node, 0o660)
        self.refuse(ours.PERMISSION, "No permission to use the camera", "group video", "usermod -aG video",
                    arguments=("--device", self.node), prefix=prefix)
        self.refuse(ours.PERMISSION, "No permission to use the camera", prefix=prefix)
        os.chmod(self.node, 0o600)
        self.refuse(ours.PERMISSION, "chmod 660", arguments=("--device", self.node), prefix=prefix)

    def test_controls(self):
        self.refuse_camera(ours.USAGE, "brightness", arguments=("--control", "brightnes=3"))
        self.refuse_camera(ours.USAGE, "0 to 255", "default", arguments=("--control", "brightness=256"))
        self.refuse_camera(ours.USAGE, "0 to 255", arguments=("--control", "brightness=bright"))
        self.refuse_camera(ours.USAGE, "on or off", arguments=("--control", "horizontal_flip=2"))
        self.refuse_camera(ours.USAGE, "NAME=VALUE", arguments=("--control", "brightness"))
        self.assertEqual(v4l2.get_control(self.node, "brightness"), 128, "as before")

    def test_formats(self):
        self.refuse_camera(ours.USAGE, "MJPG", "NV12", arguments=("--capture-format", "MJPG"))
        self.refuse_camera(ours.USAGE, "four characters", arguments=("--capture-format", "mpeg4"))

    def test_busy(self):
        holder = self.start("--device", self.node, "-o", "null:")
        holder.wait_for_frames()
        self.refuse_camera(
            ours.BUSY, f"in use by {self.tool_name()} (pid {holder.process.pid})", "close it, or choose another camera")
        holder.wait_for_frames()
        self.assertEqual(holder.messages(), [], "it does not notice")
        holder.interrupt()
        self.assertEqual(holder.process.returncode, ours.OK)

    def test_busy_by_another_program(self):
        holder = subprocess.Popen(
            ["v4l2-ctl", "-d", self.node, "--stream-mmap"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        self.addCleanup(holder.stdout.close)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.kill)
        # It says so for each frame.
        while (said := holder.stdout.read(1)) != b"<":
            self.assertTrue(said, "v4l2-ctl has ended")
        self.refuse_camera(ours.BUSY, f"in use by v4l2-ctl (pid {holder.pid})")
        self.refuse_camera(ours.BUSY, "in use by", arguments=("--size", "1280x720"))

    def test_nothing_is_left_behind(self):
        output = self.folder / "out.webm"
        running = self.run_tool("--device", "/dev/null", "-o", output)
        self.assertEqual(running.process.returncode, ours.NO_INPUT)
        self.assertEqual(list(self.folder.iterdir()), [])
