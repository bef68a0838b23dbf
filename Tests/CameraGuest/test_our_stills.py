"""Photographs out of a camera: bursts beside a recording, brackets, and one of another size."""

import subprocess

import ours
import v4l2
from webcam import pictures

TIME_TRAVEL = True
LATER = True

SIZE = (1280, 720)
COUNT = 20
FILM = 30  # frames that are recorded beside


def planes(file, *, size=None):
    """Width, height and luma of a picture, by ffmpeg; of raw NV12 with its size."""
    given = ["-f", "rawvideo", "-pix_fmt", "nv12", "-s", "{}x{}".format(*size)] if size else []
    answer = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", *given, "-i", str(file), "-f", "image2pipe", "-c:v", "pgm", "-pix_fmt",
         "gray", "-frames:v", "1", "-"], capture_output=True, timeout=60)
    if answer.returncode != 0 or answer.stderr:
        raise AssertionError(f"{file}: {answer.stderr.decode()}")
    kind, width, height, depth = answer.stdout.split(None, 4)[:4]
    assert (kind, depth) == (b"P5", b"255")
    width, height = int(width), int(height)
    return width, height, answer.stdout[-width * height:]


def number(file):
    """The number in the webcam's pattern."""
    width, _, luma = planes(file)
    row = luma[pictures.LINES // 2 * width:][:width]
    block = width // pictures.BLOCKS
    return sum((row[bit * block + block // 2] > 128) << bit for bit in range(pictures.BLOCKS))


def mean(luma):
    return sum(luma) / len(luma)


class BurstTests(ours.CameraTestCase):
    def shots(self, ending="jpg"):
        return sorted(self.folder.glob(f"shot-*.{ending}"))

    def assertConsecutive(self, numbers):
        """None lost, none twice."""
        self.assertEqual(
            numbers, [(numbers[0] + step) % pictures.LOOP for step in range(len(numbers))], "by the pattern's counter")

    def test_webcam_beside_a_recording(self):
        webcam = self.plugged_webcam()
        running = self.succeed(
            "--device", webcam.node(), "--size", "{}x{}".format(*SIZE), "--capture-format", "MJPG", "--frames", FILM,
            "--burst", COUNT, "-o", "shot-%02d.jpg", "--still-exif", "no", "-o", "a.webm", limit=120)
        shots = self.shots()
        self.assertEqual(len(shots), COUNT)
        self.assertConsecutive([number(shot) for shot in shots])
        sent = pictures.jpegs(*SIZE)
        # The first may come before the camera knows who takes JPEG.
        for shot in shots[1:]:
            self.assertTrue(shot.read_bytes() in sent, f"{shot.name}: the camera's own JPEG, untouched")
        summary = ours.summary(running.events())
        self.assertEqual(sum(summary["capture"]["dropped"].values()), 0, summary["capture"])
        stills = next(output["stills"] for output in summary["outputs"] if "stills" in output)
        self.assertEqual((stills["written"], stills["failed"], stills["skipped"]), (COUNT, 0, 0))
        times = self.assertWhole(self.folder / "a.webm", FILM)
        self.assertLess(ours.longest_hole(times), 1.5 / 30)

    def test_vivid_beside_a_recording(self):
        # As a webcam it has this size with few frames per second only.
        self.fresh_camera().connect_hdmi()
        node = self.camera.node()
        running = self.succeed(
            "--device", node, "--size", "{}x{}".format(*SIZE), "--frames", FILM, "--burst", COUNT,
            "-o", "stills:shot-%02d.nv12", "-o", "film.nv12", "-o", "a.webm", limit=120)
        shots = self.shots("nv12")
        self.assertEqual(len(shots), COUNT)
        film = (self.folder / "film.nv12").read_bytes()
        count = SIZE[0] * SIZE[1] * 3 // 2
        frames = [film[at:at + count] for at in range(0, len(film), count)]
        self.assertEqual(len(frames), FILM)
        # The text in the pattern counts the frames, so that each differs.
        self.assertEqual(len(set(frames)), FILM)
        first = frames.index(shots[0].read_bytes())
        for place, shot in enumerate(shots):
            self.assertEqual(shot.read_bytes(), frames[first + place], f"{shot.name}: none lost, none twice")
        times = self.assertWhole(self.folder / "a.webm", FILM)
        self.assertLess(ours.longest_hole(times), 1.5 / 30)
        self.assertEqual(sum(ours.summary(running.events())["capture"]["dropped"].values()), 0)

    def test_the_webcam_is_pulled_in_mid_burst(self):
        webcam = self.plugged_webcam()
        running = self.start(
            "--device", webcam.node(), "--size", "320x240", "--capture-format", "MJPG", "--burst", 60, "--still-exif",
            "no", "-o", "shot-%02d.jpg")
        running.wait_for(lambda: len(self.shots()) >= 10, "ten stills")
        webcam("pull")
        running.wait_for_message("The camera was unplugged")
        webcam.wait_until_gone()
        before = len(self.shots())
        self.assertLess(before, 60)
        webcam("plug")
        self.assertEqual(running.finish(60), ours.OK, running.text())
        self.assertTrue(any("is back" in message for message in running.messages()), running.messages())
        shots = self.shots()
        self.assertEqual(len(shots), 60)
        numbers = [number(shot) for shot in shots]
        # On each side of the hole none is missing. A still that was being written then may lie on either side.
        holes = [place for place in range(1, 60) if numbers[place] != (numbers[place - 1] + 1) % pictures.LOOP]
        self.assertLessEqual(len(holes), 1, numbers)
        stills = ours.summary(running.events())["outputs"][0]["stills"]
        self.assertEqual((stills["written"], stills["failed"]), (60, 0))


class BracketTests(ours.CameraTestCase):
    def test_exposure_of_a_webcam(self):
        webcam = self.plugged_webcam()
        before = webcam("state")["controls"]
        self.succeed(
            "--device", webcam.node(), "--size", "640x480", "--capture-format", "YUYV", "--still-bracket",
            "exposure=-2,0,1", "-o", "shot-%d.jpg")
        light = [mean(planes(self.folder / f"shot-{place}.jpg")[2]) for place in (1, 2, 3)]
        print(f"    mean luma: {', '.join(f'{value:.1f}' for value in light)}", flush=True)
        # A quarter, as it is, and twice the light, of which the brightest half of the ramp is cut.
        self.assertLess(abs(light[0] / light[1] - 0.25), 0.1, light)
        self.assertGreater(light[2] / light[1], 1.3, light)
        self.assertEqual(webcam("state")["controls"]["exposure_mode"], before["exposure_mode"], "automatic again")

    def test_a_control_of_vivid(self):
        node = self.fresh_camera().node()
        before = self.camera.get("brightness")
        self.succeed(
            "--device", node, "--size", "320x180", "--still-bracket", "brightness=64,128,192", "-o", "shot-%d.jpg", "-o",
            "a.webm", "--frames", 60)
        light = [mean(planes(self.folder / f"shot-{place}.jpg")[2]) for place in (1, 2, 3)]
        self.assertGreater(light[1], light[0] + 20, light)
        self.assertGreater(light[2], light[1] + 20, light)
        self.assertEqual(self.camera.get("brightness"), before, "put back")
        self.assertWhole(self.folder / "a.webm", 60)

    def test_what_a_camera_has_not(self):
        node = self.fresh_camera().node()
        for bracket, words in (("exposure=-1,1", "exposure"), ("sharpness=1,2", "no such control"),
                               ("brightness=1,999", "0 to 255")):
            with self.subTest(bracket=bracket):
                before = self.camera.get("brightness")
                running = self.run_tool(
                    "--device", node, "--size", "320x180", "--still-bracket", bracket, "-o", "shot-%d.jpg", "--force")
                self.assertNotEqual(running.process.returncode, ours.OK)
                self.assertTrue(any(words in message for message in running.messages()), running.messages())
                self.assertEqual(self.camera.get("brightness"), before, "put back after a failure too")

    def test_a_bracket_of_an_unplugged_camera_is_put_back(self):
        webcam = self.plugged_webcam()
        node = webcam.node()
        v4l2.set_control(node, "brightness", 20)
        running = self.start(
            "--device", node, "--size", "320x240", "--still-bracket",
            "brightness=" + ",".join(str(value) for value in range(-50, 50)), "-o", "shot-%03d.jpg", "-o", "a.webm",
            "--keep-going")
        running.wait_for(lambda: (self.folder / "shot-005.jpg").exists(), "five stills")
        webcam("pull")
        running.wait_for_message("The camera was unplugged")
        webcam("plug")
        running.wait_for_message("is back")
        # The bracket has ended with the loss, or goes on; at its end the control is what it was.
        running.wait_for(lambda: webcam("state")["controls"]["brightness"] == 20, "the usual brightness", limit=120)
        running.interrupt()


class SizeTests(ours.CameraTestCase):
    def check(self, node, *arguments, still=SIZE, film=(640, 480)):
        running = self.succeed(
            "--device", node, "--size", "{}x{}".format(*film), "--frames", 60, "--still-size", "{}x{}".format(*still),
            "-o", "shot.jpg", "-o", "a.webm", *arguments, limit=120)
        self.assertEqual(planes(self.folder / "shot.jpg")[:2], still)
        self.assertWhole(self.folder / "a.webm", 60)
        sizes = subprocess.run(
            ["ffprobe", "-v", "error", "-show_entries", "frame=width,height", "-of", "csv=p=0", "a.webm"],
            cwd=self.folder, capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual({size.strip(",") for size in sizes}, {"{},{}".format(*film)}, "the film has its size throughout")
        stills = next(output for output in ours.summary(running.events())["outputs"] if "stills" in output)
        self.assertEqual((stills["stills"]["written"], stills["failed"]), (1, False))
        return running

    def test_vivid(self):
        self.check(self.fresh_camera().node())

    def test_webcam(self):
        webcam = self.plugged_webcam()
        self.check(webcam.node())
        self.assertLess(number(self.folder / "shot.jpg"), pictures.LOOP)

    def test_a_size_that_the_camera_has_not(self):
        webcam = self.plugged_webcam()
        running = self.run_tool(
            "--device", webcam.node(), "--size", "320x240", "--frames", 60, "--still-size", "1920x1080", "-o", "shot.jpg",
            "-o", "a.webm", "--keep-going")
        self.assertNotEqual(running.process.returncode, ours.OK)
        self.assertTrue(any("1280x720" in message for message in running.messages()), running.messages())
        self.assertFalse((self.folder / "shot.jpg").exists())
        self.assertWhole(self.folder / "a.webm", 60)
