"""The known sample's flow: a camera, H.264 over TCP, a window; its frames' numbers are read from the screen."""

import pathlib
import subprocess
import sys
import time

import ours
from webcam import pictures

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "EndToEnd"))

from support.screen import Screen

TIME_TRAVEL = True
LATER = True

WIDTH, HEIGHT = 320, 240


def shown_number(screen):
    """The number in the pattern that the screen shows; None where its blocks are neither black nor white."""
    answer = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-f", "x11grab", "-draw_mouse", "0", "-video_size", f"{WIDTH}x{HEIGHT}",
         "-i", screen.display, "-frames:v", "1", "-pix_fmt", "gray", "-f", "rawvideo", "-"],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    if len(answer.stdout) != WIDTH * HEIGHT:
        raise AssertionError(answer.stderr.decode())
    row = answer.stdout[pictures.LINES // 2 * WIDTH:][:WIDTH]
    block = WIDTH // pictures.BLOCKS
    light = [row[bit * block + block // 2] for bit in range(pictures.BLOCKS)]
    if any(70 < value < 180 for value in light):
        return None
    return sum((value > 128) << bit for bit, value in enumerate(light))


class WindowTests(ours.CameraTestCase):
    def setUp(self):
        super().setUp()
        self.screen = Screen(f"{WIDTH}x{HEIGHT}")
        self.addCleanup(self.screen.close)

    def show_over_tcp(self):
        """A webcam, a run that sends its frames, and one that shows them."""
        webcam = self.plugged_webcam()
        sender = self.start(
            "--device", webcam.node(), "--size", f"{WIDTH}x{HEIGHT}", "--fps", "30", "-o", "tcp://127.0.0.1:9000?listen")
        sender.wait_for_frames(1)
        receiver = ours.Running(
            "--input", "tcp://127.0.0.1:9000", "-o", "window", "--display", self.screen.display, "--stats", "json",
            folder=self.folder)
        self.addCleanup(receiver.end)
        receiver.wait_for_frames(30)
        return webcam, sender, receiver

    def test_every_frame_of_a_camera_is_shown_over_tcp(self):
        webcam, sender, receiver = self.show_over_tcp()
        numbers = []
        # Only waiting takes time here, so each look comes as many frames after the one before, if none is shown late.
        for _ in range(20):
            numbers.append(shown_number(self.screen))
            time.sleep(0.1)
        print(f"    on the screen: {numbers}", flush=True)
        self.assertNotIn(None, numbers)
        steps = [(after - before) % pictures.LOOP for before, after in zip(numbers, numbers[1:])]
        self.assertGreater(min(steps), 0, steps)
        self.assertLessEqual(max(steps) - min(steps), 2, steps)
        receiver.interrupt()
        self.assertEqual(sum(ours.summary(receiver.events())["capture"]["dropped"].values()), 0)
        sender.interrupt()
        self.assertEqual(sum(ours.summary(sender.events())["capture"]["dropped"].values()), 0)

    def test_the_camera_is_pulled_and_the_window_goes_on(self):
        webcam, sender, receiver = self.show_over_tcp()
        webcam("pull")
        sender.wait_for_message("The camera was unplugged")
        webcam.wait_until_gone()
        webcam("plug")
        sender.wait_for_message("is back")
        receiver.wait_for_frames(30)
        before = shown_number(self.screen)
        time.sleep(0.2)
        self.assertNotEqual(shown_number(self.screen), before)
        self.assertIsNone(receiver.process.poll())
