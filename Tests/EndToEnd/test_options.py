"""What one output has for itself, quality, text on the picture, and options from elsewhere than the command line."""

import signal

from support import media
from support.tool import NO_INPUT, OK, USAGE, ToolTestCase, environment

X264 = ("--encoder", "libx264")
NOISE = ("--source", "noise", "--size", "320x240", "--seed", "1", "--fps", "30")


def luma(frame, width, x, y):
    return frame[y * width + x]


class OutputOptionTests(ToolTestCase):
    WAITS = True

    def test_each_output_has_its_own(self):
        # A file's times are its own, however loaded the machine is.
        media.make_y4m(self.folder / "clip.y4m", width=320, height=240, frames=30)
        self.succeed("clip.y4m", "--fps", "max", "-o", "a.webm,size=160x120,fps=10,bitrate=200k", "-o", "b.y4m",
                     "-o", "c.y4m,crop=10,20,64x48", "-o", "d.y4m,fps=15", "-o", "e.webm")
        self.assertEqual([(media.probe(self.folder / name)["stream"]["width"], media.decode(self.folder / name)[0])
                          for name in ("a.webm", "e.webm")], [(160, 10), (320, 30)])
        whole = media.y4m_frames(self.folder / "b.y4m")[1]
        header, part = media.y4m_frames(self.folder / "c.y4m")
        self.assertIn("W64 H48", header)
        self.assertEqual(len(part), 30)
        for row in range(48):
            begin = (20 + row) * 320 + 10
            self.assertEqual(part[7][row * 64:row * 64 + 64], whole[7][begin:begin + 64])
        header, half = media.y4m_frames(self.folder / "d.y4m")
        self.assertIn("F15:1", header)
        self.assertEqual(half, whole[::2])

    def test_another_aspect(self):
        self.succeed("--source", "pattern", "--pattern", "bars", "--size", "320x240", "--frames", 2, "-o", "pad.y4m,size=320x120",
                     "-o", "crop.y4m,size=320x120,fit=crop", "-o", "stretch.y4m,size=320x120,fit=stretch")
        pad, crop, stretch = (media.y4m_frames(self.folder / f"{name}.y4m")[1][0] for name in ("pad", "crop", "stretch"))
        # The leftmost bar is light; with all of the picture there is black beside it.
        self.assertEqual([luma(frame, 320, 2, 10) for frame in (pad, crop, stretch)], [16, 180, 180])
        self.assertEqual(luma(pad, 320, 90, 10), 180)
        # Of the middle half the upper part is bars, the lower the ramp.
        self.assertNotEqual(crop, stretch)

    def test_a_film_with_fewer_frames(self):
        media.make_y4m(self.folder / "clip.y4m", frames=30)
        self.succeed("clip.y4m", "--fps", "10", "-o", "slow.y4m", "-o", "all.y4m,fps=30")
        original = media.y4m_frames(self.folder / "clip.y4m")[1]
        header, frames = media.y4m_frames(self.folder / "slow.y4m")
        self.assertIn("F10:1", header)
        self.assertEqual(frames, original[::3])
        self.assertEqual(media.y4m_frames(self.folder / "all.y4m")[1], original)
        self.assertRefused(self.run_tool("clip.y4m", "--fps", "60", "-o", "null"), USAGE, "can only be lowered")
        self.assertRefused(self.run_tool("clip.y4m", "--size", "vga", "-o", "null"), USAGE, "-o FILE,size=640x480")

    def test_a_comma_in_a_name(self):
        self.succeed(*NOISE, "--frames", 2, "-o", "a, b=c.y4m,fps=30")
        self.assertEqual([file.name for file in self.folder.iterdir()], ["a, b=c.y4m"])

    def test_what_cannot_be(self):
        for output, word in (("a.webm,sise=vga", "size"), ("a.webm,size=huge", "--size"), ("a.webm,fit=pad", "fit"),
                             ("a.webm,fps=10,fps=20", "twice"), ("a.y4m,bitrate=1M", "not encoded"),
                             ("a.webm,crop=300,0,64x48", "not inside"), ("a.webm,jpeg-quality=5", "jpeg-quality")):
            with self.subTest(output=output):
                self.assertRefused(self.run_tool(*NOISE, "--frames", 1, "-o", output), USAGE, word)
        self.assertEqual(list(self.folder.iterdir()), [])


class OverlayTests(ToolTestCase):
    WAITS = True

    def test_a_text(self):
        """It covers its corner, and nothing else; the same text is the same picture."""
        self.succeed(*NOISE, "--frames", 3, "-o", "plain.y4m", "-o", "a.y4m,overlay=Door 1", "-o", "b.y4m,overlay=Door 2",
                     "-o", "c.y4m,overlay=Door 1,overlay-position=top-right")
        plain, a, b, c = (media.y4m_frames(self.folder / f"{name}.y4m")[1] for name in ("plain", "a", "b", "c"))
        (width, height), count = (320, 240), len("Door 1")
        for number in range(3):
            inside = lambda x, y: x < count * 6 + 3 and y >= height - 14
            for y in range(0, height, 2):
                for x in range(0, width, 2):
                    if not inside(x, y):
                        self.assertEqual(luma(a[number], width, x, y), luma(plain[number], width, x, y), (x, y))
            letters = [(x, y) for y in range(height - 13, height) for x in range(count * 6)
                       if luma(a[number], width, x, y) == 235]
            self.assertGreater(len(letters), 40)
            self.assertNotEqual(a[number], b[number])
            self.assertEqual(luma(c[number], width, 0, height - 1), luma(plain[number], width, 0, height - 1))
        # Of the digits alone do the two differ.
        row = lambda frame: [luma(frame, width, x, y) for y in range(height - 13, height) for x in range(30)]
        self.assertEqual(row(a[0]), row(b[0]))

    def test_the_time_goes_on(self):
        self.succeed("--source", "pattern", "--pattern", "bars", "--duration", "3", "--overlay", "%H:%M:%S", "-o", "a.y4m", "--overlay-position",
                     "top-left")
        frames = media.y4m_frames(self.folder / "a.y4m")[1]
        texts = {bytes(luma(frame, 640, x, y) == 235 for y in range(26) for x in range(100)) for frame in frames}
        self.assertIn(len(texts), (3, 4), "a text for each second")

    def test_what_cannot_be(self):
        for words in (("--overlay", ""), ("--overlay", "Tür"), ("--overlay-position", "top-left"),
                      ("--overlay", "x", "--overlay-position", "middle")):
            with self.subTest(words=words):
                self.assertRefused(self.run_tool(*NOISE, "--frames", 1, *words, "-o", "a.webm"), USAGE, "--overlay")


class QualityTests(ToolTestCase):
    WAITS = True

    def setUp(self):
        super().setUp()
        # The same pictures each time, with details for which quantizers make a difference.
        media.command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=320x240:r=30:d=1,noise=alls=20",
                      "-pix_fmt", "yuv420p", self.folder / "clip.y4m")

    def size(self, *options, name):
        self.succeed("--input", "clip.y4m", "--fps", "max", "--frames", 30, *options, "-o", name, "--force")
        return (self.folder / name).stat().st_size

    def test_constant_quality(self):
        for name, values, words in (("a.webm", ("8", "30", "60"), ()), ("a.mp4", ("15", "30", "45"), ()),
                                    ("a.mp4", ("15", "30", "45"), X264)):
            with self.subTest(name=name, words=words):
                sizes = [self.size("--quality", value, *words, name=name) for value in values]
                self.assertGreater(sizes[0], 1.1 * sizes[1])
                self.assertGreater(sizes[1], 1.1 * sizes[2])
                self.assertEqual(media.decode(self.folder / name), (30, ""))
        run = self.succeed("--source", "noise", "--frames", 2, "--quality", "40", "-o", "q.webm")
        self.assertIn("constant quality 40", run.stderr)

    def test_limits_of_the_quantizer(self):
        for name, coarse, words in (("b.webm", "20", ()), ("b.mp4", "20", ()), ("b.mp4", "20", X264)):
            free = self.size("--bitrate", "50k", *words, name=name)
            self.assertGreater(self.size("--bitrate", "50k", "--max-quantizer", coarse, *words, name=name), 1.2 * free)

    def test_speed_and_rate_control(self):
        for name in ("c.webm", "c.mp4"):
            for words in (("--speed", "1"), ("--speed", "16"), ("--rate-control", "vbr"), ("--rate-control", "cbr")):
                self.size(*words, name=name)
                self.assertEqual(media.decode(self.folder / name), (30, ""))

    def test_speed_and_rate_control_of_x264(self):
        sizes = [self.size("--quality", "25", "--speed", speed, *X264, name="d.mp4") for speed in ("4", "16")]
        self.assertNotEqual(*sizes)
        for control in ("vbr", "cbr"):
            self.size("--bitrate", "300k", "--rate-control", control, *X264, name="d.mp4")
            self.assertEqual(media.decode(self.folder / "d.mp4"), (30, ""))

    def test_what_an_encoder_has_not(self):
        for words, word in ((("--encoder", "h264_v4l2m2m", "--quality", "20"), "libx264"),
                            (("--encoder", "h264_v4l2", "--speed", "3"), "no such setting"),
                            ((*X264, "--encoder-device", "/dev/dri/card0"), "h264_vaapi")):
            with self.subTest(words=words):
                self.assertRefused(self.run_tool(*NOISE, "--frames", 1, *words, "-o", "a.mp4"), USAGE, words[-2], word)
        self.assertFalse((self.folder / "a.mp4").exists())

    def test_what_cannot_be(self):
        for words, word in ((("--quality", "64"), "0 to 63"), (("--quality", "20", "--bitrate", "1M"), "--bitrate"),
                            (("--min-quantizer", "40", "--max-quantizer", "30"), "--min-quantizer"), (("--speed", "0"), "--speed"),
                            (("--rate-control", "abr"), "cbr, vbr")):
            with self.subTest(words=words):
                self.assertRefused(self.run_tool(*NOISE, "--frames", 1, *words, "-o", "a.webm"), USAGE, word)


class DefaultTests(ToolTestCase):
    WAITS = True

    def run_with(self, *arguments, **variables):
        return self.run_tool(*arguments, env=environment(**variables))

    def test_the_environment(self):
        run = self.run_with("--source", "noise", CAPTURER_FRAMES="3", CAPTURER_FPS="max", CAPTURER_SIZE="64x48",
                            CAPTURER_OUTPUT="a.y4m", CAPTURER_FORCE="no", CAPTURER_QUIET="yes", CAPTURER_NOTHING_OF_OURS="x")
        self.assertEqual((run.code, run.stderr), (OK, ""))
        self.assertEqual(len(media.y4m_frames(self.folder / "a.y4m")[1]), 3)

    def test_a_file(self):
        (self.folder / "tool.conf").write_text(
            "# a comment\n\nsource = noise\npreset=64x48\nfps = max\nframes = 3\noutput = a.y4m\noutput = b.webm,fps=10\nkeep-going\n")
        self.succeed("--config", "tool.conf")
        self.assertEqual(len(media.y4m_frames(self.folder / "a.y4m")[1]), 3)
        self.assertTrue((self.folder / "b.webm").exists())
        # The command line counts most, then the environment.
        run = self.run_with("-o", "c.y4m", "--frames", "5", CAPTURER_CONFIG="tool.conf", CAPTURER_SIZE="32x24")
        self.assertEqual(run.code, OK, run)
        header, frames = media.y4m_frames(self.folder / "c.y4m")
        self.assertIn("W32 H24", header)
        self.assertEqual(len(frames), 5)

    def test_secrets_stay_so(self):
        (self.folder / "tool.conf").write_text("serve-login = geheim\n")
        run = self.run_tool("--source", "noise", "--serve", "0", "--config", "tool.conf")
        self.assertRefused(run, USAGE, "tool.conf, line 1")
        self.assertNotIn("geheim", run.stderr)

    def test_what_cannot_be(self):
        for text, word in (("frmes = 3", "Did you mean frames?"), ("frames", "needs a value"), ("frames = x", "line 2"),
                           ("force = perhaps", "yes or no"), ("config = other", "no option config")):
            with self.subTest(text=text):
                (self.folder / "tool.conf").write_text("\n" + text + "\n")
                self.assertRefused(self.run_tool("--source", "noise", "-o", "null", "--config", "tool.conf"), USAGE, word)
        self.assertRefused(self.run_tool("--config", "none.conf"), NO_INPUT, "none.conf")
        self.assertRefused(self.run_with("--source", "noise", "-o", "null", CAPTURER_FRAMES="x"), USAGE, "CAPTURER_FRAMES")


class DelayTests(ToolTestCase):
    WAITS = True

    def test_it_begins_later(self):
        run = self.succeed(*NOISE, "--frames", 2, "--start-delay", "1500ms", "-o", "a.webm")
        self.assertGreater(run.seconds, 1.5)
        self.assertIn("starts in 1.5 s", run.stderr)
        self.assertRegex(run.stderr, r"Captured 2 frames in 0\.\d s")

    def test_an_interrupt_meanwhile(self):
        run = self.start(*NOISE, "--start-delay", "1h", "-o", "a.webm")
        while "starts in" not in run.peek():
            self.assertIsNone(run.process.poll())
        run.send(signal.SIGINT)
        done = run.finish()
        self.assertEqual(done.code, OK, done)
        self.assertEqual(list(self.folder.iterdir()), [])
