"""Packets of a file that are passed on as they are: beside those that ffmpeg -c copy writes."""

import json
import subprocess
import time

from support import media
from support.tool import USAGE, ToolTestCase

TOLERANCE = 0.0015  # seconds; Matroska has milliseconds


class CopyTests(ToolTestCase):
    WAITS = True

    def film(self, name, *options, seconds=2):
        file = self.folder / name
        subprocess.run(
            ["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", f"testsrc2=size=128x96:rate=25:d={seconds}", "-f", "lavfi",
             "-i", f"sine=r=48000:d={seconds}", *options, str(file)], check=True)
        return file

    def h264(self, name, *options):
        """With B-frames, and a key frame twice a second."""
        return self.film(
            name, "-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", "2", "-g", "12", "-c:a", "aac", *options)

    def hevc(self, name):
        return self.film(
            name, "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p", "-c:a",
            "mp3")

    def packets(self, file):
        listed = subprocess.run(
            ["ffprobe", "-v", "error", "-show_entries", "packet=codec_type,pts_time,dts_time,flags", "-of", "json", str(file)],
            check=True, stdout=subprocess.PIPE)
        packets = json.loads(listed.stdout)["packets"]
        return [[packet for packet in packets if packet["codec_type"] == kind] for kind in ("video", "audio")]

    def digests(self, file, codec):
        """Those of the data of each packet; of H.264 and H.265 without parameter sets and delimiters, whose place is the
        container's. Sorted, since containers interleave."""
        filters = {
            "h264": ["-bsf:v", "h264_mp4toannexb,filter_units=remove_types=7-9"],
            "hevc": ["-bsf:v", "hevc_mp4toannexb,filter_units=remove_types=32-35|39-40"],
        }.get(codec, [])
        made = subprocess.run(
            ["ffmpeg", "-v", "error", "-i", str(file), "-map", "0:v:0", "-map", "0:a:0", "-c", "copy", *filters, "-f",
             "framemd5", "-"], check=True, stdout=subprocess.PIPE).stdout.decode()
        lines = [line.split(",") for line in made.splitlines() if line and line[0] != "#"]
        return [[line[5].strip() for line in lines if line[0].strip() == number] for number in ("0", "1")]

    def compare(self, source, output, codec, apart=TOLERANCE):
        """Whether the tool's copy has the packets of ffmpeg's: data, key frames, and times but for one offset."""
        with self.subTest(source=source.name, output=output):
            ours, theirs = self.folder / f"ours.{output}", self.folder / f"theirs.{output}"
            self.succeed("--input", source, "--codec", "copy", "-o", ours, "--force")
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-i", str(source), "-c", "copy", str(theirs)], check=True)
            offsets = []
            for our_packets, their_packets in zip(self.packets(ours), self.packets(theirs), strict=True):
                self.assertGreater(len(our_packets), 10)
                self.assertEqual(len(our_packets), len(their_packets))
                offset = float(our_packets[1]["pts_time"]) - float(their_packets[1]["pts_time"])
                offsets.append(offset)
                for our, their in zip(our_packets, their_packets, strict=True):
                    for time in "pts_time", "dts_time":
                        # Matroska has no decode times; readers make them up as soon as they can.
                        if time in our and time in their:
                            self.assertAlmostEqual(float(our[time]) - float(their[time]), offset, delta=TOLERANCE)
                    self.assertEqual(our["flags"][0], their["flags"][0])
            self.assertAlmostEqual(*offsets, delta=apart)
            self.assertEqual(self.digests(ours, codec), self.digests(theirs, codec))

    def test_equals_ffmpeg(self):
        for source, outputs in [
            ("a.mp4", ["mp4", "mov", "mkv", "ts"]), ("a.ts", ["mp4", "mkv"]), ("a.mkv", ["mp4", "ts"]), ("a.flv", ["mkv"]),
        ]:
            film = self.h264(source)
            for output in outputs:
                self.compare(film, output, "h264")

    def test_other_codecs(self):
        # FFmpeg 5.1 writes Opus to Matroska late by the delay of its decoder, 6.5 ms.
        vp8 = self.film("b.webm", "-c:v", "libvpx", "-deadline", "realtime", "-c:a", "libopus")
        self.compare(vp8, "webm", "vp8", apart=0.009)
        vp9 = self.film("c.webm", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-c:a", "libopus")
        self.compare(vp9, "mkv", "vp9", apart=0.009)
        self.compare(vp9, "mp4", "vp9")
        hevc = self.hevc("d.mp4")
        self.compare(hevc, "mkv", "hevc")
        self.compare(hevc, "ts", "hevc")

    def test_says_what_was_passed_on(self):
        film = self.h264("a.mp4")
        run = self.succeed("--input", film, "--codec", "copy", "-o", "a.mkv", "-o", "sound.m4a", "--stats", "json")
        last = json.loads(run.stderr.splitlines()[-1])
        self.assertEqual(last["event"], "summary")
        self.assertEqual(last["tracks"], ["h264", "aac"])
        self.assertEqual(last["capture"]["frames"], 50)
        self.assertEqual(last["encoders"], [])
        both, sound = (output["passedOn"] for output in last["outputs"])
        self.assertEqual((both["tracks"], sound["tracks"]), (["h264", "aac"], ["aac"]))
        self.assertEqual(both["packets"], 50 + sound["packets"])
        self.assertEqual(both["dropped"], 0)

    def test_files_that_follow_each_other(self):
        film = self.h264("a.mp4")
        self.succeed("--input", film, "--codec", "copy", "-o", "part-%03d.mkv", "--split", "0.9")
        parts = sorted(self.folder.glob("part-*.mkv"))
        self.assertEqual(len(parts), 3)
        self.assertEqual(sum(len(self.packets(part)[0]) for part in parts), 50)
        for part in parts:
            self.assertEqual(self.packets(part)[0][0]["flags"][0], "K")

    def test_a_pipe_on_both_sides(self):
        film = self.h264("a.ts")
        with open(film, "rb") as bytes:
            run = self.succeed("--input", "-", "--codec", "copy", "-o", "mkv:-", stdin=bytes)
        copy = self.folder / "copy.mkv"
        copy.write_bytes(run.stdout)
        self.assertEqual(len(self.packets(copy)[0]), 50)

    def test_outputs_that_need_frames(self):
        """They get those of the packets that are passed on, all of them, by one decoder."""
        film = self.h264("a.mp4")
        run = self.succeed(
            "--input", film, "--codec", "copy", "-o", "a.mkv", "-o", "b.y4m", "-o", "c.webm,size=50%", "--stats", "json")
        last = json.loads(run.stderr.splitlines()[-1])
        passed = [output["passedOn"] and output["passedOn"]["tracks"] for output in last["outputs"]]
        self.assertEqual(passed, [["h264", "aac"], None, None])
        self.assertEqual([encoder["name"] for encoder in last["encoders"]], ["vp8"])
        pictures = [
            media.command(
                "ffmpeg", "-v", "error", "-i", self.folder / name, "-map", "0:v", "-fps_mode", "passthrough", "-f", "rawvideo",
                "-").stdout
            for name in ("a.mkv", "b.y4m")]
        self.assertEqual(len(pictures[0]), 50 * 128 * 96 * 3 // 2)
        self.assertEqual(pictures[0], pictures[1])
        small = media.probe(self.folder / "c.webm")
        self.assertEqual((small["stream"]["codec_name"], small["stream"]["width"]), ("vp8", 64))
        self.assertEqual(len(small["packets"]), 50)

    def test_a_viewer_of_frames_sets_the_pace(self):
        film = self.h264("a.mp4")
        begin = time.monotonic()
        run = self.succeed("--input", film, "--codec", "copy", "-o", "a.mkv", "--serve", "0", "--stats", "json")
        self.assertGreater(time.monotonic() - begin, 1.9)
        last = json.loads(run.stderr.splitlines()[-1])
        self.assertEqual([bool(output["passedOn"]) for output in last["outputs"]], [True, False])
        self.assertEqual(len(self.packets(self.folder / "a.mkv")[0]), 50)

    def test_wrong_use_says_why(self):
        film = self.h264("a.mp4")
        vp8 = self.film("b.webm", "-c:v", "libvpx", "-deadline", "realtime", "-c:a", "libopus")
        # Of which no decoder of packets is in the program.
        hevc = self.hevc("h.mp4")
        for words, source, options in [
            ("needs frames", film, ["--size", "64x48"]), ("needs frames", film, ["--fps", "10"]),
            ("needs frames", film, ["--overlay", "text"]), ("needs frames", film, ["--bitrate", "1M"]),
            ("takes frames", hevc, ["-o", "b.y4m"]), ("need frames", hevc, ["-o", "b.mkv,size=50%"]),
            ("webm takes pictures as vp8", film, ["-o", "c.webm"]), ("mp4 does not carry vp8", vp8, ["-o", "c.mp4"]),
            ("mov does not carry vp8", vp8, ["-o", "c.mov"]),
            ("needs its own encoder", hevc, ["-o", "whip:http://127.0.0.1:1/x"]),
        ]:
            with self.subTest(options=options):
                run = self.run_tool("--input", source, "--codec", "copy", "-o", "a.mkv", *options)
                self.assertEqual(run.code, USAGE, run.stderr)
                self.assertIn(words, run.stderr)
                self.assertFalse((self.folder / "a.mkv").exists())
        run = self.run_tool("--source", "noise", "--codec", "copy", "-o", "a.mkv")
        self.assertEqual(run.code, USAGE)
        self.assertIn("noise gives frames", run.stderr)
