"""What the tool writes is what other programs read: count, size, rate, timestamps, pixels."""

import re

from support import matroska, media
from support.tool import ToolTestCase

NOISE = ("--source", "noise", "--preset", "320x240", "--fps", "30", "--pixel-format", "i420", "--seed", "7")


class FileTestCase(ToolTestCase):
    def film(self, frames):
        """A source that leaves no frame out, however busy the machine is."""
        media.make_y4m(self.folder / "film.y4m", width=320, height=240, frames=frames)
        return "--input", self.folder / "film.y4m", "--fps", "max"


class OutputTests(FileTestCase):
    def assertEvenTimes(self, file, frames, rate=30.0):
        """Each time is that of a frame of this rate. A busy machine leaves frames out."""
        times = media.times(file)
        self.assertEqual(len(times), frames, file.name)
        indexes = [round(time * rate) for time in times]
        self.assertEqual(indexes, sorted(set(indexes)), file.name)
        self.assertEqual(indexes[0], 0, file.name)
        for index, time in zip(indexes, times):
            self.assertAlmostEqual(time, index / rate, delta=0.001, msg=f"{file.name}, frame {index}")

    def test_every_output_gets_every_frame(self):
        webm, ivf, y4m = (self.folder / name for name in ("a.webm", "b.ivf", "c.y4m"))
        run = self.succeed(
            *NOISE, "--frames", 90, "--output", webm, "--output", ivf, "--output", y4m, "--output", "md5")
        for file in (webm, ivf):
            found = media.probe(file)
            self.assertEqual(found["errors"], "", file.name)
            stream = found["stream"]
            self.assertEqual((stream["codec_name"], stream["width"], stream["height"]), ("vp8", 320, 240))
            self.assertEvenTimes(file, 90)
            self.assertEqual(media.decode(file), (90, ""), file.name)
            self.assertEqual(media.decoded_bytes(file), 90 * 320 * 240 * 3 // 2, file.name)

        header, frames = media.y4m_frames(y4m)
        self.assertRegex(header, r" W320 H240 F30:1 ")
        # A frame that a busy machine leaves out is in this file the one before it, again.
        frames = [frame for frame, before in zip(frames, [None, *frames]) if frame != before]
        self.assertEqual((len(frames), {len(frame) for frame in frames}), (90, {320 * 240 * 3 // 2}))
        digests = re.findall(rb"\b[0-9a-f]{32}\b", run.stdout)
        self.assertEqual(digests, [media.md5(frames).encode()], "one digest, of the same pixels")

    def test_a_closed_webm_has_what_players_seek_by(self):
        file = self.folder / "a.webm"
        self.succeed(*self.film(60), "--keyframe-interval", 1, "--output", file)
        found = matroska.outline(file)
        self.assertEqual(found.whole_blocks, 60)
        self.assertTrue(found.is_segment_sized)
        self.assertAlmostEqual(found.duration, 2000, delta=34)
        self.assertGreaterEqual(found.cue_points, 2)
        self.assertIn(matroska.SEEK_HEAD, found.elements)
        self.assertTrue(all(cluster.begins_with_key_frame for cluster in found.clusters))
        self.assertIn("color_range", media.probe(file)["stream"], "WebM says its colour")

    def test_the_newcomers_command(self):
        """`capturer-demo --source noise`, and Ctrl-C."""
        file = self.folder / "capture.webm"
        running = self.start("--source", "noise")
        running.wait_for_file(file, 20_000)
        running.send(2)
        run = running.finish()
        self.assertEqual(run.code, 0, str(run))
        self.assertIn("capture.webm", run.stderr)
        stream = media.probe(file)["stream"]
        self.assertEqual((stream["width"], stream["height"]), (640, 480))
        self.assertEqual(media.decode(file)[1], "")

    def test_duration(self):
        file = self.folder / "a.ivf"
        self.succeed(*NOISE, "--duration", 1, "--output", file)
        times = media.times(file)
        # A busy machine may leave frames out, but not make it shorter or longer.
        self.assertLessEqual(len(times), 31)
        self.assertAlmostEqual(times[-1], 1, delta=0.15)

    def test_rates(self):
        for text, rate in (("12.5", 12.5), ("30000/1001", 30000 / 1001), ("60", 60)):
            with self.subTest(rate=text):
                file = self.folder / f"{text.replace('/', '-')}.ivf"
                self.succeed("--source", "noise", "--size", "64x48", "--fps", text, "--frames", 10, "--output", file)
                self.assertEvenTimes(file, 10, rate)

    def test_as_fast_as_possible(self):
        file = self.folder / "a.y4m"
        run = self.succeed(
            "--source", "noise", "--size", "64x48", "--fps", "max", "--frames", 3000, "--output", file)
        self.assertEqual(len(media.y4m_frames(file)[1]), 3000)
        self.assertLess(run.seconds, 60, "3000 frames at their times take 100 s")

    def test_odd_sizes(self):
        for size in ("2x2", "3x3", "17x33", "641x479"):
            with self.subTest(size=size):
                webm, y4m = self.folder / f"{size}.webm", self.folder / f"{size}.y4m"
                self.succeed("--source", "noise", "--size", size, "--fps", "max", "--frames", 3, "--output", webm,
                             "--output", y4m)
                stream = media.probe(webm)["stream"]
                self.assertEqual(f"{stream['width']}x{stream['height']}", size)
                self.assertEqual(media.decode(webm), (3, ""))
                self.assertEqual(len(media.y4m_frames(y4m)[1]), 3)

    def test_presets(self):
        for name, size in (("cif", (352, 288)), ("vga", (640, 480)), ("720p", (1280, 720)), ("1080p", (1920, 1080))):
            with self.subTest(preset=name):
                file = self.folder / f"{name}.webm"
                self.succeed("--source", "noise", "--preset", name, "--frames", 2, "--output", file)
                stream = media.probe(file)["stream"]
                self.assertEqual((stream["width"], stream["height"]), size)

    def test_raw_files_have_the_size_of_their_pixels(self):
        for name, pixel_format in (("a.yuv", "i420"), ("a.nv12", "nv12")):
            with self.subTest(file=name):
                self.succeed(
                    "--source", "noise", "--size", "65x47", "--fps", "max", "--pixel-format", pixel_format, "--frames",
                    5, "--output", name)
                self.assertEqual((self.folder / name).stat().st_size, 5 * (65 * 47 + 2 * 33 * 24))

    def test_a_seed_gives_the_same_noise_again(self):
        def digest(seed):
            return self.succeed(
                "--source", "noise", "--size", "64x48", "--fps", "max", "--frames", 20, "--seed", seed,
                "--output", "md5").stdout

        self.assertEqual(digest(1), digest(1))
        self.assertNotEqual(digest(1), digest(2))


class FileSourceTests(FileTestCase):
    def test_y4m_to_webm_keeps_count_and_times(self):
        clip, webm = self.folder / "clip.y4m", self.folder / "a.webm"
        media.make_y4m(clip, frames=25, rate="25:1")
        self.succeed("--source", "file", "--input", clip, "--fps", "max", "--output", webm)
        times = media.times(webm)
        self.assertEqual(len(times), 25)
        for index, time in enumerate(times):
            self.assertAlmostEqual(time, index / 25, delta=0.001)

    def test_y4m_to_y4m_is_the_same_to_the_bit(self):
        clip, copy = self.folder / "clip.y4m", self.folder / "copy.y4m"
        media.make_y4m(clip, width=67, height=45, frames=12)
        self.succeed("--source", "file", "--input", clip, "--fps", "max", "--output", copy)
        self.assertEqual(media.y4m_frames(copy)[1], media.y4m_frames(clip)[1])

    def test_ivf_decodes_as_vpxdec_decodes_it(self):
        ivf, y4m = self.folder / "a.ivf", self.folder / "b.y4m"
        self.succeed(*self.film(15), "--output", ivf)
        self.succeed("--source", "file", "--input", ivf, "--fps", "max", "--output", y4m)
        self.assertEqual(media.md5(media.y4m_frames(y4m)[1]), media.decoded_md5(ivf))

    def test_a_file_is_played_at_its_own_pace(self):
        clip = self.folder / "clip.y4m"
        media.make_y4m(clip, frames=30)
        run = self.succeed("--source", "file", "--input", clip, "--output", "null")
        self.assertGreater(run.seconds, 0.9)
