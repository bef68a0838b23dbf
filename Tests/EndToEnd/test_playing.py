"""Files as a source: how fast, which part, how often, from pipes, and how far it is."""

import json
import os
import signal
import subprocess
import time

from support import media
from support.tool import NO_INPUT, OK, USAGE, ToolTestCase


class PlayingTests(ToolTestCase):
    def setUp(self):
        super().setUp()
        self.clip = self.folder / "clip.y4m"
        media.make_y4m(self.clip, frames=25, rate="25:1")

    def convert(self, *options, source=None, fast=True):
        """The times and the pictures that come out."""
        webm, y4m = self.folder / "out.webm", self.folder / "out.y4m"
        run = self.succeed(
            "--input", source or self.clip, *(("--fps", "max") if fast else ()), *options, "--output", webm, "--output",
            y4m, "--force")
        probe = media.probe(webm)
        self.assertEqual(probe["errors"], "")
        self.last = run
        return media.times(webm), media.y4m_frames(y4m)[1], float(probe["format"]["duration"])

    def assertEven(self, times, step):
        for index, moment in enumerate(times):
            self.assertAlmostEqual(moment, index * step, delta=0.0011, msg=f"frame {index} of {times}")

    def test_rate(self):
        original = media.y4m_frames(self.clip)[1]
        for rate, step in (("0.5", 0.08), ("2", 0.02), ("0.1x", 0.4)):
            with self.subTest(rate=rate):
                times, frames, duration = self.convert("--rate", rate)
                self.assertEqual(frames, original)
                # Of very slow ones the last picture comes again, since the file does not tell its time.
                self.assertEven(times[:25], step)
                self.assertEqual(len(times), 25 + (step > 0.1))
                self.assertAlmostEqual(duration, 25 * step, delta=0.0011)

    def test_rate_by_the_clock(self):
        # How long it takes at least: a busy machine takes longer.
        for rate, seconds in (("2", 0.45), ("0.5", 1.9)):
            _, frames, _ = self.convert("--rate", rate, fast=False)
            self.assertEqual(len(frames), 25)
            self.assertGreater(self.last.seconds, seconds)

    def test_loop_without_a_gap(self):
        original = media.y4m_frames(self.clip)[1]
        times, frames, _ = self.convert("--loop", "--duration", "3.4")
        self.assertEqual(frames, (original * 4)[:85])
        self.assertEven(times, 0.04)

    def test_loop_by_the_clock(self):
        times, frames, _ = self.convert("--loop", "--rate", "4", "--duration", "0.7", fast=False)
        self.assertIn(len(frames), (70, 71))
        self.assertEven(times, 0.01)

    def test_start_and_end(self):
        original = media.y4m_frames(self.clip)[1]
        for options, first, last in (
                (("--start", "0.4"), 10, 25), (("--end", "0.4"), 0, 10), (("--start", "0.2", "--end", "0.8s"), 5, 20),
                (("--start", "0", "--end", "99"), 0, 25)):
            with self.subTest(options=options):
                times, frames, duration = self.convert(*options)
                self.assertEqual(frames, original[first:last])
                self.assertEven(times, 0.04)
                self.assertAlmostEqual(duration, (last - first) * 0.04, delta=0.0011)

    def test_a_looped_part(self):
        original = media.y4m_frames(self.clip)[1]
        times, frames, _ = self.convert("--start", "0.2", "--end", "0.4", "--loop", "--frames", 12)
        self.assertEqual(frames, original[5:10] * 2 + original[5:7])
        self.assertEven(times, 0.04)

    def test_start_in_a_vp8_file(self):
        """Decoding begins at the key frame before; the pictures are those of the whole file."""
        ivf = self.folder / "clip.ivf"
        media.make_clip(ivf, seconds=2, size="64x48")
        _, whole, _ = self.convert(source=ivf)
        times, frames, _ = self.convert("--start", "1.5", source=ivf)
        self.assertEqual(len(whole), 60)
        self.assertEqual(frames, whole[45:])
        self.assertAlmostEqual(times[-1], 14 / 30, delta=0.002)

    def test_uneven_times_are_kept(self):
        """IVF's own times: each third frame is missing."""
        ivf = self.folder / "clip.ivf"
        result = media.command(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=duration=1:size=64x48:rate=30", "-vf",
            r"select=not(eq(mod(n\,3)\,1))", "-fps_mode", "passthrough", "-enc_time_base", "1/30", "-c:v", "libvpx", ivf)
        self.assertEqual(result.returncode, 0, result.stderr)
        expected = media.times(ivf)
        times, _, _ = self.convert(source=ivf)
        self.assertEqual(len(times), 20)
        for ours, theirs in zip(times, expected):
            self.assertAlmostEqual(ours, theirs - expected[0], delta=0.0011)

    def test_invalid_options(self):
        for options, word in (
                (("--rate", "0"), "--rate"), (("--rate", "fast"), "--rate"), (("--rate", "1000"), "--rate"),
                (("--start", "-1"), "--start"), (("--end", "0"), "--end"), (("--start", "2", "--end", "1"), "--end")):
            with self.subTest(options=options):
                self.assertRefused(
                    self.run_tool("--input", self.clip, *options, "--output", "a.webm"), USAGE, word)
        for options in (("--rate", "2"), ("--loop",), ("--start", "1"), ("--end", "1")):
            with self.subTest(options=options):
                self.assertRefused(
                    self.run_tool("--source", "noise", *options, "--output", "a.webm"), USAGE, options[0])
        self.assertRefused(
            self.run_tool("--input", self.clip, "--start", "5", "--output", "a.webm"), NO_INPUT, "clip.y4m", "1.0 s")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["clip.y4m"])


class ProgressTests(ToolTestCase):
    def test_json(self):
        clip = self.folder / "clip.y4m"
        media.make_y4m(clip, frames=50, rate="25:1")
        run = self.succeed("--input", clip, "--output", "null", "--stats", "json")
        lines = [json.loads(line) for line in run.stderr.splitlines()]
        status = next(line["progress"] for line in lines if line["event"] == "status")
        self.assertEqual(status["durationSeconds"], 2)
        self.assertTrue(0 < status["positionSeconds"] < 2, status)
        self.assertAlmostEqual(status["positionSeconds"] + status["secondsLeft"], 2, delta=0.001)
        last = lines[-1]["progress"]
        self.assertEqual((last["percent"], last["secondsLeft"]), (100, 0))

    def test_text(self):
        clip = self.folder / "clip.y4m"
        media.make_y4m(clip, frames=50, rate="25:1")
        run = self.succeed("--input", clip, "--output", "null")
        self.assertRegex(run.stderr, r"0:0[01] of 0:02, \d+ %, 0:0[01] left")
        self.assertIn("up to 0:02 of 0:02", run.stderr)
        noise = self.succeed("--source", "noise", "--size", "64x48", "--duration", "1.3", "--output", "null")
        self.assertNotIn(" left", noise.stderr)


class PipeTests(ToolTestCase):
    def clip(self):
        clip = self.folder / "clip.y4m"
        media.make_y4m(clip, frames=10)
        return clip

    def test_standard_input(self):
        clip, copy = self.clip(), self.folder / "copy.y4m"
        producer = subprocess.Popen(["cat", clip], stdout=subprocess.PIPE)
        self.succeed("--input", "-", "--fps", "max", "--output", copy, stdin=producer.stdout)
        producer.stdout.close()
        producer.wait()
        self.assertEqual(media.y4m_frames(copy)[1], media.y4m_frames(clip)[1])

    def test_a_fifo_whose_writer_comes_late_and_halts(self):
        clip, copy, fifo = self.clip(), self.folder / "copy.y4m", self.folder / "fifo"
        os.mkfifo(fifo)
        running = self.start("--input", fifo, "--fps", "max", "--output", copy)
        time.sleep(0.3)
        data = clip.read_bytes()
        with open(fifo, "wb", buffering=0) as writer:
            for start in range(0, len(data), 10_000):
                writer.write(data[start:start + 10_000])
                time.sleep(0.05)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertEqual(media.y4m_frames(copy)[1], media.y4m_frames(clip)[1])

    def interrupt(self, running):
        running.send(signal.SIGINT)
        return running.finish()

    def test_an_interrupt_before_anything_has_come(self):
        os.mkfifo(self.folder / "fifo")
        read, write = os.pipe()
        self.addCleanup(os.close, write)
        for name, options in (("-", {"stdin": read}), ("fifo", {})):
            with self.subTest(input=name):
                running = self.start("--input", name, "--output", "a.webm", **options)
                self.wait_for_main(running)
                time.sleep(0.5)
                run = self.interrupt(running)
                self.assertEqual(run.code, OK, str(run))
                self.assertIn("nothing was captured", run.stderr)
                self.assertFalse((self.folder / "a.webm").exists())
        os.close(read)

    def test_an_interrupt_while_the_producer_is_silent(self):
        """In the middle of a picture: those before it are complete."""
        data = self.clip().read_bytes()
        read, write = os.pipe()
        self.addCleanup(os.close, write)
        running = self.start("--input", "-", "--output", "a.y4m", stdin=read)
        os.close(read)
        os.write(write, data[:20_000])
        running.wait_for_file(self.folder / "a.y4m", 10_000)
        time.sleep(0.3)
        run = self.interrupt(running)
        self.assertEqual(run.code, OK, str(run))
        self.assertEqual(len(media.y4m_frames(self.folder / "a.y4m")[1]), 4)

    def test_duration_ends_a_silent_producer(self):
        data = self.clip().read_bytes()
        read, write = os.pipe()
        self.addCleanup(os.close, write)
        running = self.start("--input", "-", "--duration", "1", "--output", "a.y4m", stdin=read)
        os.close(read)
        os.write(write, data[:20_000])
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))

    def test_a_pipe_cannot_be_looped(self):
        producer = subprocess.Popen(["cat", self.clip()], stdout=subprocess.PIPE)
        run = self.run_tool("--input", "-", "--loop", "--output", "a.webm", stdin=producer.stdout)
        producer.stdout.close()
        producer.wait()
        self.assertRefused(run, NO_INPUT, "once only")

    def test_an_empty_pipe(self):
        self.assertRefused(
            self.run_tool("--input", "-", "--output", "a.webm"), NO_INPUT, "standard input", "empty")
