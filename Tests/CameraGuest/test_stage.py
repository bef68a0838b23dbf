"""The stage itself: both kinds of vivid, and the webcam, as other programs see them."""

import re
import statistics
import subprocess
import unittest

import v4l2
import vivid
from webcam import pictures
from webcam.remote import RemoteWebcam


def stream(node, pixels, size, count, rate=30):
    """The timestamps and sequence numbers that v4l2-ctl sees, seconds and numbers."""
    width, height = size
    answer = subprocess.run(
        ["v4l2-ctl", "-d", node, f"--set-fmt-video=width={width},height={height},pixelformat={pixels}",
         f"--set-parm={rate}", "--stream-mmap", f"--stream-count={count}", "--verbose"],
        capture_output=True, text=True, timeout=30)
    text = answer.stdout + answer.stderr
    return [(float(moment), int(number)) for number, moment in re.findall(r"seq:\s*(\d+).*ts: ([\d.]+)", text)]


def rate_of(frames):
    return (len(frames) - 1) / (frames[-1][0] - frames[0][0])


def rate_of_driver(frames):
    """By the driver's own numbers, and a line through all: a frame that was late or left out, since the host was busy, hardly
    moves it."""
    moments, numbers = zip(*frames)
    return statistics.linear_regression(moments, numbers).slope


class VividTests(unittest.TestCase):
    def test_both_kinds(self):
        for instance, kind in ((0, v4l2.CAPTURE), (1, v4l2.CAPTURE_MPLANE)):
            driver, able = v4l2.capabilities(vivid.node(instance))
            self.assertEqual(driver, "vivid")
            self.assertEqual(able & (v4l2.CAPTURE | v4l2.CAPTURE_MPLANE), kind)

    def test_rates_above_thirty(self):
        for size, rate in (((320, 180), 60), ((640, 360), 40)):
            frames = stream(vivid.node(), "NV12", size, rate, rate)
            self.assertEqual(len(frames), rate)
            self.assertAlmostEqual(rate_of_driver(frames), rate, delta=0.5)

    def test_faults_are_within_reach(self):
        camera = vivid.Camera()
        camera.set("percentage_of_dropped_buffers", 50)
        self.assertEqual(camera.get("percentage_of_dropped_buffers"), 50)
        gaps = stream(camera.node(), "NV12", (640, 360), 30)
        self.assertGreater(gaps[-1][1] - gaps[0][1], 35)
        camera.reset()
        self.assertEqual(camera.get("percentage_of_dropped_buffers"), 0)

    def test_unplugging(self):
        camera = vivid.Camera()
        camera.pull()
        self.assertIsNone(vivid.node())
        camera.plug()
        self.assertEqual(len(stream(camera.node(), "NV12", (320, 180), 3)), 3)


class WebcamTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.webcam = cls.enterClassContext(RemoteWebcam())

    def setUp(self):
        self.webcam("plug")
        self.node = self.webcam.wait_for_node()

    def test_modes_and_rates(self):
        for pixels, size, rate in (("MJPG", (640, 480), 30), ("YUYV", (640, 480), 30), ("MJPG", (1280, 720), 15)):
            frames = stream(self.node, pixels, size, 30, rate)
            self.assertEqual(len(frames), 30)
            self.assertAlmostEqual(rate_of_driver(frames), rate, delta=rate * 0.05)
            self.assertEqual(frames[-1][1] - frames[0][1], 29, "no frame is lost")

    def test_pictures_arrive_as_they_were_sent(self):
        answer = subprocess.run(
            ["ffmpeg", "-nostdin", "-v", "error", "-f", "v4l2", "-input_format", "mjpeg", "-video_size", "320x240",
             "-i", self.node, "-frames:v", "10", "-c", "copy", "-f", "image2pipe", "-"], capture_output=True, timeout=30)
        sent = pictures.jpegs(320, 240)
        parts = [b"\xff\xd8\xff" + part for part in answer.stdout.split(b"\xff\xd8\xff")[1:]]
        numbers = [sent.index(part) for part in parts]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + 10)))

    def test_controls_last_until_the_power_goes(self):
        v4l2.set_control(self.node, "brightness", 20)
        self.assertEqual(self.webcam("state")["controls"]["brightness"], 20)
        self.webcam("pull")
        self.webcam.wait_until_gone()
        self.webcam("plug")
        self.webcam.wait_for_node()
        self.assertEqual(self.webcam("state")["controls"]["brightness"], 0)

    def test_darkness_halves_the_rate_of_automatic_exposure(self):
        self.webcam("dark", 1)
        self.addCleanup(self.webcam, "dark", 0)
        self.assertAlmostEqual(rate_of_driver(stream(self.node, "MJPG", (320, 240), 20)), 15, delta=1)
        v4l2.set_control(self.node, "exposure_dynamic_framerate", 0)
        self.assertAlmostEqual(rate_of_driver(stream(self.node, "MJPG", (320, 240), 20)), 30, delta=2)

    def test_error_bit_is_a_gap(self):
        self.webcam("error", 3)
        frames = stream(self.node, "MJPG", (320, 240), 20)
        self.assertEqual(len(frames), 20)
        self.assertEqual(frames[-1][1], 19 + 3)

    def test_pulled_while_it_streams(self):
        client = subprocess.Popen(
            ["v4l2-ctl", "-d", self.node, "--stream-mmap"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        sent = self.webcam("state")["sent"]
        self.webcam.wait_for(lambda: self.webcam("state")["sent"] > sent + 5, "frames")
        self.webcam("pull")
        self.webcam.wait_until_gone()
        client.wait(5)

    def test_orders_it_does_not_know(self):
        with self.assertRaisesRegex(ValueError, "no such order"):
            self.webcam("dance")
