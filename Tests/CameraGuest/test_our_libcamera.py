"""Cameras of libcamera on vimc: the contract, colors, starts and stops, and a camera that another program has."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import libcamera

LATER = True
KERNEL_ARGS = "vivid.n_devs=1 vivid.node_types=0x1 vimc.allocator=0"


class LibcameraTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for program in (libcamera.CHECKS, libcamera.TOOL):
            if not os.path.exists(program):
                raise AssertionError(f"{program} is not built; try `make camera`")
        libcamera.start_udev()

    def check(self, what, limit=300):
        answer = subprocess.run(
            [libcamera.CHECKS, what], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=limit)
        print(answer.stdout, flush=True)
        self.assertEqual(answer.returncode, 0, answer.stdout)
        return answer.stdout

    def start(self, *command):
        """A program whose output goes to a file, and what reads that."""
        output = tempfile.TemporaryFile()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def text():
            return os.pread(output.fileno(), 1 << 24, 0).decode(errors="replace")

        return process, text

    def tool(self, *arguments, limit=120):
        return subprocess.run(
            [libcamera.TOOL, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=limit)

    def test_logic_that_needs_no_camera(self):
        self.assertIn("libcamera 0.", self.check("logic"))

    def test_contract(self):
        self.assertRegex(self.check("conformance"), r"(?m)^libcamera: 0 of \d\d rules broken$")

    def test_starts_leave_nothing_behind(self):
        self.check("starts")

    def test_colors_are_those_of_the_pattern(self):
        """Single colors of full intensity, converted once: BT.601 in limited range, the same in each pixel."""
        libcamera.set_sensor("show_information", 2)  # no text in the picture
        self.addCleanup(libcamera.set_sensor, "test_pattern", 0)
        for pattern, wanted in (
            (5, (16, 128, 128)), (6, (235, 128, 128)), (7, (81.5, 90, 240)), (8, (144.5, 53.8, 34.2)), (9, (41, 240, 109.8)),
        ):
            libcamera.set_sensor("test_pattern", pattern)
            lines = [line.split() for line in self.check("picture").splitlines() if line[:2] in ("Y ", "U ", "V ")]
            self.assertEqual([line[0] for line in lines], ["Y", "U", "V"])
            for (_, least, most), value in zip(lines, wanted):
                self.assertLessEqual(abs(int(least) - value), 1, lines)
                self.assertLessEqual(abs(int(most) - value), 1, lines)

    def test_camera_of_another_program_is_busy(self):
        second = subprocess.Popen(
            [libcamera.CHECKS, "second"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(second.wait)
        self.addCleanup(second.kill)
        self.assertEqual(second.stdout.readline(), "ready\n")
        _, text = self.start(libcamera.CHECKS, "watch")
        libcamera.wait_until(lambda: "frame 0 " in text(), "frames")
        answer, _ = second.communicate("go\n", timeout=120)
        self.assertRegex(answer, "(?m)^deviceBusy .*Another program has the camera")

    def test_tool_lists_each_camera_once(self):
        found = json.loads(self.tool("list", "--json").stdout)["cameras"]
        self.assertEqual(len(found), 2, found)
        self.assertEqual(found[1]["id"], libcamera.NAME)
        self.assertEqual(found[1]["library"], "libcamera")
        text = self.tool("list", "--controls", "--device", "Sensor B").stdout
        self.assertIn("Saturation: 0.0 to 2.0", text)

    def test_tool_records_from_either_library(self):
        """One command line for both: the preset, cut and scaled from what the camera has."""
        for device, library in (("vivid", "vivid"), ("Sensor B", "vimc")):
            file = pathlib.Path("/tmp") / f"{library}.y4m"
            answer = self.tool("--source", "camera", "--device", device, "--preset", "352x288", "--fps", "30",
                               "--frames", "10", "-o", str(file))
            self.assertEqual(answer.returncode, 0, answer.stderr)
            header, pictures = file.read_bytes().split(b"\n", 1)
            self.assertTrue(header.startswith(b"YUV4MPEG2 W352 H288 F30:1 "), header)
            # A machine that is too slow leaves some of the ten out.
            self.assertIn(len(pictures), [count * (6 + 352 * 288 * 3 // 2) for count in range(1, 11)])
            # libcamera writes to nobody's terminal.
            self.assertNotIn("INFO", answer.stderr)


if __name__ == "__main__":
    unittest.main()
