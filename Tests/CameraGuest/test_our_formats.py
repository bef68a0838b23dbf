"""Every pixel format of vivid that we take gives the same picture, in every size."""

import contextlib
import fcntl
import struct
import subprocess
import unittest

import ours
import v4l2
import vivid

TIME_TRAVEL = True
LATER = True
LONG = True

ENUM_FMT = 0xC0405602
SIZE = (320, 180)
NO_TEXT = 2  # of the menu osd_text_mode

# How far from the picture that the camera gives as NV12 those in other formats may be: the mean difference of luma
# and of chroma. RGB is rounded twice, and of Bayer's raw pixels two colours in three are guessed.
SAME, COMPUTED, RAW = (0, 0), (1, 0.5), (1.5, 1)

SINGLE = {
    "NV12": SAME, "NV21": SAME, "YU12": SAME, "YV12": SAME,
    "YUYV": SAME, "UYVY": SAME, "YVYU": SAME, "NV16": SAME, "NV61": SAME,
    "RGB3": COMPUTED, "BGR3": COMPUTED, "AR24": COMPUTED, "XR24": COMPUTED, "BA24": COMPUTED, "BX24": COMPUTED,
    "RA24": COMPUTED, "RX24": COMPUTED, "AB24": COMPUTED, "XB24": COMPUTED, "RGB4": COMPUTED, "BGR4": COMPUTED,
    "BA81": RAW, "GBRG": RAW, "GRBG": RAW, "RGGB": RAW,
}
GREY = {"GREY": 1, "Y16 ": 2}  # bytes of a pixel
MULTI = {
    "NM12": SAME, "NM21": SAME, "YM12": SAME, "YM21": SAME, "NM16": SAME,
}


def formats(node, kind):
    """The names of all formats that a node has."""
    found = []
    with v4l2.opened(node) as descriptor, contextlib.suppress(OSError):
        while True:
            answer = fcntl.ioctl(descriptor, ENUM_FMT, struct.pack("<II56x", len(found), kind))
            (number,) = struct.unpack_from("<I", answer, 44)
            found.append((number & 0x7FFFFFFF).to_bytes(4, "little").decode())
    return found


def mean_difference(one, other):
    return sum(abs(a - b) for a, b in zip(one, other)) / len(one)


class FormatTests(ours.CameraTestCase):
    @classmethod
    def setUpClass(cls):
        vivid.Camera().reset()
        for instance in (0, 1):
            vivid.Camera(instance).set("osd_text_mode", NO_TEXT)

    def pictures(self, *arguments, size=SIZE, count=3):
        """The NV12 pictures of a run, and what it said."""
        file = self.folder / "out.nv12"
        running = self.succeed(
            "--size", f"{size[0]}x{size[1]}", "--frames", count, "-o", file, "--force", "--explain", *arguments)
        data = file.read_bytes()
        length = size[0] * size[1] + 2 * ((size[0] + 1) // 2) * ((size[1] + 1) // 2)
        self.assertEqual(len(data), count * length)
        return [data[at : at + length] for at in range(0, len(data), length)], running

    def compare(self, instance, table, kind):
        node = vivid.node(instance)
        offered = formats(node, kind)
        reference = self.pictures("--device", vivid.node(0), "--capture-format", "NV12")[0][0]
        luma = SIZE[0] * SIZE[1]
        self.assertGreater(len(set(reference[:luma])), 5, "colour bars")
        for name, (of_luma, of_chroma) in table.items():
            with self.subTest(format=name):
                self.assertIn(name, offered)
                shown, running = self.pictures("--device", node, "--capture-format", name.strip())
                self.assertEqual(len(set(shown)), 1, "the pattern stands still")
                self.assertIn(name.strip(), running.text())
                first = mean_difference(shown[0][:luma], reference[:luma])
                second = mean_difference(shown[0][luma:], reference[luma:])
                print(f"    {name}: luma {first:.2f}, chroma {second:.2f}", flush=True)
                self.assertLessEqual(first, of_luma)
                self.assertLessEqual(second, of_chroma)

    def test_single_planar(self):
        self.compare(0, SINGLE, v4l2.CAPTURE_TYPE)

    def test_multi_planar(self):
        self.compare(1, MULTI, v4l2.CAPTURE_MPLANE_TYPE)

    def test_grey(self):
        # vivid has a formula of its own for grey, of full range.
        for name, width in GREY.items():
            with self.subTest(format=name):
                raw = self.folder / "raw"
                subprocess.run(
                    ["v4l2-ctl", "-d", vivid.node(0), f"--set-fmt-video=width={SIZE[0]},height={SIZE[1]},pixelformat={name}",
                     "--stream-mmap", "--stream-count=1", f"--stream-to={raw}"], check=True, capture_output=True)
                shown, _ = self.pictures("--device", vivid.node(0), "--capture-format", name.strip())
                luma = SIZE[0] * SIZE[1]
                self.assertEqual(shown[0][:luma], raw.read_bytes()[width - 1 :: width])
                self.assertEqual(set(shown[0][luma:]), {128})

    def test_formats_that_cannot_be_taken(self):
        taken = SINGLE | GREY | MULTI
        for instance, kind in ((0, v4l2.CAPTURE_TYPE), (1, v4l2.CAPTURE_MPLANE_TYPE)):
            refused = [name for name in formats(vivid.node(instance), kind) if name not in taken]
            self.assertGreater(len(refused), 30)
            for name in refused:
                with self.subTest(format=name, instance=instance):
                    running = self.run_tool(
                        "--device", vivid.node(instance), "--capture-format", name.strip(), "--frames", 1, "-o", "null:")
                    self.assertEqual(running.process.returncode, ours.USAGE, running.text())
                    self.assertEqual(len(running.text().splitlines()), 1, running.text())
                    self.assertIn(name.strip(), running.text())

    def test_sizes(self):
        # Of 640x360, the nearest that is large enough, the middle is cut out and scaled down.
        raw = self.folder / "whole.nv12"
        whole, _ = self.pictures("--device", vivid.node(0), size=(640, 360), count=1)
        raw.write_bytes(whole[0])
        for size, crop in (((352, 288), "440:360:100:0"), ((353, 287), "442:360:98:0"), ((638, 2), "638:2:0:178")):
            with self.subTest(size=size):
                shown, _ = self.pictures("--device", vivid.node(0), size=size)
                self.assertEqual(len(set(shown)), 1)
                expected = subprocess.run(
                    ["ffmpeg", "-nostdin", "-v", "error", "-f", "rawvideo", "-pix_fmt", "nv12", "-s", "640x360", "-i", raw,
                     "-vf", f"crop={crop}:exact=1,scale={size[0]}:{size[1]}:flags=bilinear,format=nv12", "-f", "rawvideo", "-"],
                    capture_output=True, check=True).stdout
                luma = size[0] * size[1]
                print(f"    {size}: {mean_difference(shown[0][:luma], expected[:luma]):.2f}, "
                      f"{mean_difference(shown[0][luma:], expected[luma:]):.2f}", flush=True)
                self.assertLess(mean_difference(shown[0][:luma], expected[:luma]), 2)
                self.assertLess(mean_difference(shown[0][luma:], expected[luma:]), 2)

    def test_the_smallest_and_the_largest(self):
        for size, rate in (((2, 2), 30), ((1280, 720), 12.5), ((3840, 2160), 2)):
            with self.subTest(size=size):
                shown, _ = self.pictures("--device", vivid.node(0), "--fps", rate, size=size)
                self.assertEqual(len(set(shown)), 1)

    def test_rates_and_times(self):
        for size, asked, interval in (
            ((320, 180), 60, 1 / 60), ((640, 360), 30, 1 / 30), ((640, 360), 15, 1 / 15), ((1280, 720), 12.5, 0.08),
            ((352, 288), 30, 1 / 30), ((320, 180), "30000/1001", 1001 / 30000),
        ):
            with self.subTest(size=size, asked=asked):
                file = self.folder / "out.webm"
                running = self.succeed(
                    "--device", vivid.node(0), "--size", f"{size[0]}x{size[1]}", "--fps", asked, "--frames", 40,
                    "-o", file, "--force")
                summary = ours.summary(running.events())
                self.assertEqual(summary["capture"]["frames"], 40)
                self.assertEqual(summary["capture"]["dropped"]["source"], 0)
                self.assertEqual((summary["width"], summary["height"]), size)
                times = self.assertWhole(file, 40)
                mean = (times[-1] - times[0]) / 39
                print(f"    {size} {asked}: {mean:.5f} of {interval:.5f}", flush=True)
                self.assertAlmostEqual(mean, interval, delta=interval * 0.01)
