"""Our tool at the HDMI input of a grabber, whose signal goes, comes and changes."""

import subprocess

import ours
import vivid

TIME_TRAVEL = True

# Index of the control dv_timings, size
OTHER_TIMINGS = {11: (1920, 1080), 4: (720, 576), 9: (1280, 720)}

SIGNALS = {
    vivid.NO_SIGNAL: "No signal at the camera's input; waiting for one.",
    vivid.NO_LOCK: "The signal at the camera's input is unstable; waiting for it.",
    vivid.OUT_OF_RANGE: "The device cannot take the signal's timings; choose another mode at the sender.",
}

BACK = "There is a signal at the camera's input again."


def about_input(running):
    """What the tool has said of the input; encoders have words of their own."""
    return [message for message in running.messages() if "signal" in message or "input" in message]


class InputTests(ours.CameraTestCase):
    def setUp(self):
        super().setUp()
        self.camera = self.fresh_camera()
        self.addCleanup(self.camera.reset)
        self.camera.connect_hdmi()
        self.file = self.folder / "hdmi.webm"

    def signal(self, mode):
        self.camera.set("dv_timings_signal_mode", mode)

    def record(self, *arguments):
        return self.start("--device", self.camera.node(), "--size", "320x180", "-o", self.file, *arguments)

    def end(self, running, code=ours.OK):
        running.interrupt()
        self.assertEqual(running.process.returncode, code, running.text())
        return ours.summary(running.events())

    def test_a_signal(self):
        running = self.record("--frames", 30)
        self.assertEqual(running.finish(), ours.OK, running.text())
        times = self.assertWhole(self.file, 30)
        self.assertAlmostEqual((times[-1] - times[0]) / 29, 1 / 30, delta=0.001)
        self.assertEqual(running.messages(), [])

    def test_faults_of_the_signal_are_told_apart(self):
        for mode, sentence in SIGNALS.items():
            with self.subTest(sentence):
                self.file.unlink(missing_ok=True)
                running = self.record()
                running.wait_for_frames(20)
                self.signal(mode)
                running.wait_for_message(sentence, 3)
                running.wait_for(lambda: any(event.get("interrupted") for event in running.events()), "the state", 3)
                self.signal(vivid.CURRENT)
                running.wait_for_frames(40)
                summary = self.end(running)
                self.assertEqual(about_input(running), [sentence, BACK], "said once")
                times = self.assertWhole(self.file, summary)
                self.assertGreater(ours.longest_hole(times), 0.5)

    def test_one_fault_becomes_another(self):
        running = self.record()
        running.wait_for_frames(20)
        for mode, sentence in SIGNALS.items():
            self.signal(mode)
            running.wait_for_message(sentence, 3)
        self.signal(vivid.CURRENT)
        running.wait_for_frames(40)
        self.end(running)
        self.assertEqual(about_input(running), [*SIGNALS.values(), BACK])

    def test_starts_before_the_signal_comes(self):
        for mode, sentence in SIGNALS.items():
            with self.subTest(sentence):
                self.file.unlink(missing_ok=True)
                self.signal(mode)
                running = self.record("--frames", 30)
                running.wait_for_message(sentence, 5)
                self.assertEqual(running.frames(), 0)
                self.signal(vivid.CURRENT)
                self.assertEqual(running.finish(10), ours.OK, running.text())
                self.assertWhole(self.file, 30)

    def test_ended_while_there_is_no_signal(self):
        self.signal(vivid.NO_SIGNAL)
        running = self.record()
        running.wait_for_message("No signal", 5)
        self.end(running, ours.IO)

    def test_other_timings_in_the_middle(self):
        running = self.record()
        running.wait_for_frames(20)
        for index, size in OTHER_TIMINGS.items():
            self.camera.send_timings(index)
            # vivid tells nobody, so it is seen by asking, each second.
            running.wait_for(lambda: self.camera.adopted_size() == size, f"{size}", 2)
            running.wait_for_frames(40)
        summary = self.end(running)
        self.assertEqual((summary["width"], summary["height"]), (320, 180))
        times = self.assertWhole(self.file, summary)
        print(f"    hole {ours.longest_hole(times):.3f} s", flush=True)
        self.assertEqual(
            about_input(running),
            [f"The signal at the camera's input is {width}x{height} now." for width, height in OTHER_TIMINGS.values()])
        self.assertLess(ours.longest_hole(times), 0.5)
        self.assertNotEqual(corner(self.file), GREEN)


# Of frames that nothing was written to, in luma and chroma of zero.
GREEN = (0, 135, 0)


def corner(file):
    """The color at the bottom right of the last picture."""
    pixels = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-i", file, "-vf", "crop=2:2:iw-4:ih-4,scale=1:1,format=rgb24", "-f", "rawvideo",
         "-"], check=True, stdout=subprocess.PIPE).stdout
    red, green, blue = pixels[-3:]
    # The encoder changes it a little.
    return GREEN if red < 30 and 110 < green < 160 and blue < 30 else (red, green, blue)


class AnalogTests(ours.CameraTestCase):
    def test_a_larger_size_after_a_smaller_one(self):
        """The driver keeps the composition of the first; the pixels of PAL are not square, and its fields are two."""
        camera = self.fresh_camera()
        self.addCleanup(camera.reset)
        camera.select(vivid.TV)
        for width, height in ((640, 480), (720, 576)):
            file = self.folder / f"{width}.webm"
            running = self.start(
                "--device", camera.node(), "--size", f"{width}x{height}", "--frames", 5, "-o", file)
            self.assertEqual(running.finish(), ours.OK, running.text())
            self.assertEqual(
                about_input(running),
                ["The camera's input is interlaced; it is deinterlaced, and --deinterlace no keeps both fields."])
            self.assertNotEqual(corner(file), GREEN)
            aspect = subprocess.run(
                ["ffprobe", "-v", "error", "-show_entries", "stream=display_aspect_ratio", "-of", "csv=p=0", file], check=True,
                stdout=subprocess.PIPE, text=True).stdout.strip()
            across, down = (int(side) for side in aspect.split(":"))
            # 59:54 for a pixel of PAL; within 2.5 % of square it is square.
            self.assertAlmostEqual(across / down, 4 / 3 if width == 640 else 720 / 576 * 59 / 54, delta=0.005)
