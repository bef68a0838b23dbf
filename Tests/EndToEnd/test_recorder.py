"""Clips of events: they begin before their trigger, and nothing is lost between the memory and the file."""

import base64
import json
import os
import pty
import signal
import struct
import subprocess
import time
import unittest
import urllib.error
import urllib.request
import wave

from support.media import command, probe
from support.tool import OK, ToolTestCase, environment

# No two packets are alike.
SOURCE = ["--source", "noise", "--size", "64x48", "--fps", "20", "--keyframe-interval", "1", "--bitrate", "400k"]


def packets(file, stream):
    """The time, the checksum and whether it is a key frame, of each packet."""
    done = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", stream, "-show_packets", "-show_data_hash", "md5", "-of", "json",
         str(file)], capture_output=True, text=True, check=True)
    return [(float(packet["pts_time"]), packet["data_hash"], "K" in packet["flags"])
            for packet in json.loads(done.stdout)["packets"]]


class Recorder(ToolTestCase):
    WAITS = True

    def record(self, *arguments, preroll=2, **options):
        """A run that has all of its pre-roll in memory."""
        running = self.start(*SOURCE, "--preroll", preroll, "--stats-file", "stats.json", *arguments, **options)
        self.wait_for(running, lambda lines: any(
            output.get("prerollSeconds", 0) >= preroll for line in lines for output in line.get("outputs", [])))
        return running

    def lines(self):
        file = self.folder / "stats.json"
        text = file.read_text() if file.exists() else ""
        return [json.loads(line) for line in text.splitlines() if line.endswith("}")]

    def events(self, phase=None):
        return [line for line in self.lines() if line["event"] == "recording" and phase in (None, line["phase"])]

    def url(self):
        return next(output["url"] for line in self.lines() for output in line.get("outputs", []) if output.get("url"))

    def wait_for(self, running, condition, limit=60):
        deadline = time.monotonic() + limit
        while not condition(self.lines()):
            if running.process.poll() is not None or time.monotonic() > deadline:
                self.fail(f"it has not come: {running.peek()}")
            time.sleep(0.02)

    def wait_for_events(self, running, phase, count=1):
        self.wait_for(running, lambda _: len(self.events(phase)) >= count)

    def assertPartOf(self, clip, whole):
        """The packets of a clip are some of those of the whole recording, each once and in step."""
        begin = packets(clip, "v")[0]
        # No two pictures are alike; sound repeats, and is found by its time.
        offset = next(packet[0] for packet in packets(whole, "v") if packet[1] == begin[1]) - begin[0]
        for stream in ("v", "a"):
            part, others = packets(clip, stream), packets(whole, stream)
            first = min(range(len(others)), key=lambda number: abs(others[number][0] - part[0][0] - offset))
            others = others[first:first + len(part)]
            self.assertEqual([packet[1] for packet in part], [packet[1] for packet in others], f"{clip}: {stream}")
            for packet, other in zip(part, others):
                self.assertLess(abs(other[0] - packet[0] - offset), 0.003, "sound and pictures keep their times")


class ClipTests(Recorder):
    def test_clips_are_parts_of_the_whole(self):
        """Twenty signals at once are one clip; a second one is whole though the run ends in it."""
        whole = self.folder / "whole.webm"
        with open(whole, "wb") as stdout:
            running = self.record("--audio", "tone", "--tone-sound", "noise", "--record-on", "signal", "--postroll", "1", "-o", "clip.webm",
                                  "-o", "-", stdout=stdout)
            for _ in range(20):
                running.send(signal.SIGUSR1)
            self.wait_for_events(running, "end")
            running.send(signal.SIGUSR1)
            self.wait_for_events(running, "begin", 2)
            running.send(signal.SIGTERM)
            self.assertEqual(running.finish().code, OK)
        clips = sorted(self.folder.glob("clip-*.webm"))
        self.assertEqual([clip.name for clip in clips], ["clip-001.webm", "clip-002.webm"])
        for clip in clips:
            self.assertPartOf(clip, whole)
            pictures, sound = packets(clip, "v"), packets(clip, "a")
            self.assertTrue(pictures[0][2], "a key frame")
            # It covers the pictures, but for the length of a packet.
            self.assertLess(abs(pictures[0][0] - sound[0][0]), 0.03)
        # The sound goes on as long as its last picture is shown.
        shown = packets(whole, "v")
        pictures, sound = packets(clips[0], "v"), packets(clips[0], "a")
        number = [packet[1] for packet in shown].index(pictures[-1][1])
        self.assertGreater(sound[-1][0] + 0.05, pictures[-1][0])
        self.assertLess(sound[-1][0] - pictures[-1][0], shown[number + 1][0] - shown[number][0] + 0.03)
        length = packets(clips[0], "v")[-1][0] - packets(clips[0], "v")[0][0] + 0.05
        # The pre-roll and at most a group of pictures, and the post-roll. Signals on a busy machine may be apart.
        self.assertGreaterEqual(length, 2.94)
        self.assertLess(length, 5)
        begin, end = self.events()[:2]
        self.assertEqual((begin["phase"], begin["reasons"], begin["file"]), ("begin", ["signal"], "clip-001.webm"))
        self.assertEqual((end["phase"], end["clip"], end["error"]), ("end", 1, None))
        self.assertAlmostEqual(end["seconds"], length, delta=0.1)
        self.assertEqual(end["bytes"], clips[0].stat().st_size)
        self.assertRegex(begin["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_a_kill_leaves_a_clip_that_plays(self):
        running = self.record("--record-on", "signal", "-o", "a.webm", "-o", "b.mp4", preroll=1)
        running.send(signal.SIGUSR1)
        self.wait_for_events(running, "begin", 2)
        running.wait_for_file(self.folder / "a-001.webm", size=1000)
        running.wait_for_file(self.folder / "b-001.mp4", size=1000)
        running.process.kill()
        running.process.wait()
        for name in ("a-001.webm", "b-001.mp4"):
            self.assertGreater(len(packets(self.folder / name, "v")), 0, name)

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small disk needs root")
    def test_a_full_disk_loses_its_clip_alone(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], stderr=subprocess.PIPE)
        if mounted.returncode != 0:
            self.skipTest(f"mount: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", str(disk)])
        filler = disk / "filler"
        filler.write_bytes(bytes(256 * 1024 - 8192))
        running = self.record("--record-on", "signal", "--postroll", "0", "-o", "disk/clip.webm", preroll=1)
        running.send(signal.SIGUSR1)
        self.wait_for_events(running, "end")
        self.assertIn("No space left", self.events("end")[0]["error"])
        filler.unlink()
        running.send(signal.SIGUSR1)
        self.wait_for_events(running, "end", 2)
        self.assertIsNone(self.events("end")[1]["error"])
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, OK, run)
        self.assertIn("not whole", run.stderr)
        self.assertGreater(len(packets(disk / "clip-002.webm", "v")), 10)

    def test_requests_start_clips(self):
        running = self.record("--record-on", "http", "--postroll", "0", "--serve", "0", "--serve-login", "me:secret",
                              "-o", "clip.webm", preroll=0)
        url = self.url()
        login = {"Authorization": "Basic " + base64.b64encode(b"me:secret").decode()}

        def request(headers, method="POST"):
            try:
                with urllib.request.urlopen(urllib.request.Request(url + "record", headers=headers, method=method)) as answer:
                    return answer.status
            except urllib.error.HTTPError as error:
                return error.code

        self.assertEqual(request({}), 401)
        self.assertEqual(request(login, "GET"), 405)
        self.assertEqual(request({**login, "Origin": "http://elsewhere.example"}), 403)
        self.assertEqual(request({**login, "Origin": url.rstrip("/")}), 202)
        self.wait_for_events(running, "end")
        self.assertEqual(self.events()[0]["reasons"], ["http"])
        running.send(signal.SIGUSR1)  # no kind of this run, and no end of it
        running.send(signal.SIGINT)
        self.assertEqual(running.finish().code, OK)
        self.assertEqual(len(list(self.folder.glob("clip-*"))), 1)
        self.assertNotIn("secret", (self.folder / "stats.json").read_text())

    def test_sound_starts_a_clip_and_a_program(self):
        """Silence, and then a tone: the clip begins with it, and the program gets its file, but no secret of the tool."""
        sound = self.folder / "sound.wav"
        with wave.open(str(sound), "wb") as file:
            file.setparams((1, 2, 48000, 0, "NONE", ""))
            tone = struct.pack("<24000h", *(8000 * (1 - 2 * (n // 24 % 2)) for n in range(24000)))
            file.writeframes(bytes(2 * 48000 * 3) + tone + bytes(2 * 48000 * 2))
        clip = self.folder / "film.mkv"
        command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=160x120:rate=10:duration=5.5", "-i", sound,
                "-c:v", "mpeg4", "-c:a", "pcm_s16le", clip)
        script = self.folder / "event"
        script.write_text('#!/bin/sh\nenv > "$PWD/$1.env"; echo "$@" > "$PWD/$1.words"\n')
        script.chmod(0o755)
        run = self.run_tool("--input", clip, "--record-on", "sound", "--preroll", "1", "--postroll", "0", "--on-event",
                            "./event", "--keyframe-interval", "1", "-o", "a-%03d.webm", "--stats-file", "stats.json",
                            env=environment(CAPTURER_BITRATE="300k"))
        self.assertEqual(run.code, OK, run)
        begin, end = self.events()
        self.assertEqual(begin["reasons"], ["sound"])
        self.assertIn("above the noise", begin["detail"])
        # A tone of half a second, a second of before and up to one more, and a second in which it has been quiet.
        self.assertGreater(end["seconds"], 2)
        self.assertLess(end["seconds"], 4)
        for phase in ("begin", "end"):
            words = (self.folder / f"{phase}.words").read_text().split()
            self.assertEqual(words, [phase, "sound", str(self.folder / "a-001.webm")])
            lines = (self.folder / f"{phase}.env").read_text().splitlines()
            self.assertIn("RECORDING_REASONS=sound", lines)
            self.assertFalse([line for line in lines if line.startswith("CAPTURER_")])

    def test_a_key_starts_a_clip(self):
        ours, theirs = pty.openpty()
        try:
            running = self.start(*SOURCE, "--record-on", "key", "--preroll", "0", "--postroll", "0", "--stats-file",
                                 "stats.json", "-o", "clip.webm", "--serve", "0", stdin=theirs, prefix=["sh", "-c", 'exec "$@" 2>&0', "sh"],
                                 env=environment(TERM="xterm"))
            self.wait_for(running, lambda lines: any(line["event"] == "status" for line in lines))
            # Requests start nothing unless they are asked for.
            with self.assertRaises(urllib.error.HTTPError) as refusal:
                urllib.request.urlopen(urllib.request.Request(self.url() + "record", method="POST"))
            self.assertEqual(refusal.exception.code, 409)
            os.write(ours, b"r")
            self.wait_for_events(running, "end")
            os.write(ours, b"q")
            self.assertEqual(running.finish().code, OK)
        finally:
            os.close(ours)
            os.close(theirs)
        self.assertEqual(self.events()[0]["reasons"], ["key"])
        self.assertGreater(len(probe(self.folder / "clip-001.webm")), 0)


class OptionTests(ToolTestCase):
    WAITS = True

    def test_what_makes_no_sense(self):
        for words, hint in (
            (["--record-on", "motion-sensor", "-o", "a.webm"], "Choose one of"),
            (["--record-on", "singal", "-o", "a.webm"], "signal"),
            (["--record-on", "signal,", "-o", "a.webm"], "Choose one of"),
            (["--record-on", "http", "-o", "a.webm"], "--serve"),
            (["--record-on", "key", "-o", "a.webm"], "terminal"),
            (["--record-on", "signal", "-o", "null"], "no output is a file"),
            (["--record-on", "signal", "-o", "a.y4m"], "webm"),
            (["--record-on", "signal", "--preroll", "soon", "-o", "a.webm"], "not a time"),
            (["--record-on", "signal", "--preroll", "1h", "-o", "a.webm"], "memory"),
            (["--record-on", "signal", "--split", "1MB", "-o", "a.webm"], "by time"),
            (["--record-on", "signal", "-o", "a-%q.webm"], "field"),
            (["--record-on", "signal", "-o", "nowhere/a.webm"], "folder"),
            (["--record-on", "sound", "-o", "a.webm"], "--audio"),
            (["--record-on", "signal", "--record-level", "9", "-o", "a.webm"], "sound"),
            (["--record-on", "signal", "--on-event", "no-such-program", "-o", "a.webm"], "chmod"),
            (["--on-event", "true", "-o", "a.webm"], "--record-on"),
            (["--record-on", "signal", "--keep", "10%", "-o", "a.webm"], "--keep-free"),
            (["--record-on", "signal", "--keep", "soon", "-o", "a.webm"], "30d"),
            (["--record-on", "signal", "--keep-free", "lots", "-o", "a.webm"], "10%"),
            (["--keep-free", "10%", "-o", "a.webm"], "--split"),
            (["--split-at", "clock", "-o", "a.webm"], "--split 1h"),
            (["--preroll", "3", "-o", "a.webm"], "--record-on"),
            (["--postroll", "3", "-o", "a.webm"], "--record-on"),
        ):
            with self.subTest(words=words):
                run = self.run_tool("--source", "noise", "--frames", "1", *words)
                self.assertNotEqual(run.code, OK, run)
                self.assertSentence(run, hint)
                self.assertEqual(list(self.folder.iterdir()), [])
