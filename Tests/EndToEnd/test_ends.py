"""However a recording ends (a signal, a kill, a full disk, a closed pipe), what was written plays."""

import os
import random
import signal
import subprocess
import time
import unittest

from support import matroska, media
from support.chromium import Browser
from support.tool import INTERRUPTED, IO, OK, ToolTestCase

RECORD = ("--source", "noise", "--preset", "320x240", "--keyframe-interval", 1)


class KillTests(ToolTestCase):
    WAITS = True
    LATER = True

    def test_a_killed_recording_plays_up_to_its_last_whole_cluster(self):
        file = self.folder / "a.webm"
        running = self.start(*RECORD, "--output", file)
        running.wait_for_file(file)
        deadline = time.monotonic() + 60
        while matroska.outline(file).whole_blocks <= 60:
            self.assertLess(time.monotonic(), deadline, running.peek())
            time.sleep(0.2)
        running.send(signal.SIGKILL)
        self.assertEqual(running.finish().code, -signal.SIGKILL)

        found = matroska.outline(file)
        whole = found.whole_blocks
        self.assertGreater(whole, 60, "no more than the cluster that was being written is lost")
        self.assertIsNotNone(found.duration, "the duration is kept up to date while recording")
        frames, _ = media.decode(file)
        self.assertGreaterEqual(frames, whole)
        report = Browser.get().play(file)
        self.assertEqual((report["ended"], report["error"]), ("ended", None), report)
        self.assertGreaterEqual(report["total"], whole)

        # As if the disk had got less of it: any byte may have been the last.
        data = file.read_bytes()
        first = found.clusters[0].end
        for size in random.Random(4).sample(range(first, len(data)), 8):
            with self.subTest(bytes=size):
                cut = self.folder / "cut.webm"
                cut.write_bytes(data[:size])
                self.assertGreaterEqual(media.decode(cut)[0], matroska.outline(cut).whole_blocks)


class SignalTests(ToolTestCase):
    def test_a_signal_stops_and_completes_the_file(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number.name):
                file = self.folder / f"{number.name}.webm"
                running = self.start(*RECORD, "--output", file)
                running.wait_for_file(file)
                time.sleep(1)
                running.send(number)
                run = running.finish()
                self.assertEqual(run.code, OK, str(run))
                found = matroska.outline(file)
                self.assertTrue(found.is_segment_sized)
                self.assertGreater(found.cue_points, 0)
                self.assertEqual(media.decode(file), (found.whole_blocks, ""))

    def test_a_second_interrupt_ends_at_once(self):
        """The first cannot end the run: no program reads the pipe, so the output cannot be drained."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        running = self.start(
            "--source", "noise", "--preset", "320x240", "--bitrate", "8M", "--output", "-", stdout=writer)
        os.close(writer)
        time.sleep(2)
        running.send(signal.SIGINT)
        time.sleep(0.5)
        self.assertIsNone(running.process.poll(), "the first interrupt waits for the output")
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, INTERRUPTED, str(run))

    def test_an_interrupt_between_two_frames(self):
        running = self.start(*RECORD, "--fps", "1/10", "--output", "a.webm")
        self.wait_for_main(running)
        time.sleep(0.5)
        running.send(signal.SIGINT)
        began = time.monotonic()
        self.assertEqual(running.finish().code, OK)
        self.assertLess(time.monotonic() - began, 8, "it does not wait for the frame that is due in ten seconds")


class OutputFailureTests(ToolTestCase):
    WAITS = True

    def assertStopped(self, run, kept):
        """It ended with one sentence, and the other output plays."""
        self.assertEqual(run.code, IO, str(run))
        self.assertSentence(run)
        found = matroska.outline(kept)
        self.assertTrue(found.is_segment_sized, "the output that did not fail was closed")
        self.assertEqual(media.decode(kept), (found.whole_blocks, ""))

    def test_a_closed_pipe(self):
        reader, writer = os.pipe()
        running = self.start(*RECORD, "--output", "-", "--output", "kept.webm", stdout=writer)
        os.close(writer)
        self.assertGreater(len(os.read(reader, 1000)), 0)
        time.sleep(1)
        os.close(reader)
        self.assertStopped(running.finish(), self.folder / "kept.webm")

    def test_dev_full(self):
        with open("/dev/full", "wb") as full:
            run = self.run_tool(*RECORD, "--output", "-", "--output", "kept.webm", stdout=full)
        self.assertEqual(run.code, IO, str(run))
        self.assertSentence(run, "No space left")

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small disk needs root")
    def test_a_full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], stderr=subprocess.PIPE)
        if mounted.returncode != 0:
            self.skipTest(f"mount: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", str(disk)])
        full = disk / "a.webm"
        run = self.run_tool(
            *RECORD, "--bitrate", "1M", "--output", full, "--output", "kept.webm")
        self.assertStopped(run, self.folder / "kept.webm")
        self.assertIn("a.webm", run.stderr)
        whole = matroska.outline(full).whole_blocks
        self.assertGreater(whole, 0, "256 KiB hold more than a cluster")
        self.assertGreaterEqual(media.decode(full)[0], whole)
        copy = self.folder / "copy.webm"
        copy.write_bytes(full.read_bytes())
        report = Browser.get().play(copy)
        self.assertEqual((report["ended"], report["error"]), ("ended", None), report)

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small disk needs root")
    def test_a_full_disk_keeps_the_playlist(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)], stderr=subprocess.PIPE)
        if mounted.returncode != 0:
            self.skipTest(f"mount: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", str(disk)])
        # Times of a file, so that the segments are of a size whatever the load is; as fast as possible.
        clip = self.folder / "clip.y4m"
        media.make_y4m(clip, width=64, height=48, frames=900)
        run = self.run_tool("--input", clip, "--fps", "max", "--bitrate", "100k", "-o", disk / "a.m3u8")
        self.assertEqual(run.code, IO, str(run))
        self.assertSentence(run, "a.m3u8", "full", "No space left")
        segments = [line for line in (disk / "a.m3u8").read_text().splitlines() if line.endswith(".ts")]
        self.assertGreater(len(segments), 0)
        for name in segments:
            self.assertEqual(media.decode(disk / name), (60, ""), name)

    def test_standard_output_is_a_playable_stream(self):
        reader, writer = os.pipe()
        running = self.start(*RECORD, "--frames", 30, "--output", "-", "--stats", "text", stdout=writer)
        os.close(writer)
        with open(reader, "rb") as pipe:
            data = pipe.read()
        self.assertEqual(running.finish().code, OK)
        file = self.folder / "stream.webm"
        file.write_bytes(data)
        self.assertEqual(media.decode(file), (30, ""))
