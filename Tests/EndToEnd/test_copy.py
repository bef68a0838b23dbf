"""Packets of a file that are passed on as they are: beside those that ffmpeg -c copy writes."""

import json
import subprocess
import time

from support import media
from support.tool import NO_INPUT, USAGE, ToolTestCase

TOLERANCE = 0.0015  # seconds; Matroska has milliseconds


class CopyTestCase(ToolTestCase):
    def film(self, name, *options, seconds=2):
        file = self.folder / name
        subprocess.run(
            ["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", f"testsrc2=size=128x96:rate=25:d={seconds}", "-f", "lavfi",
             "-i", f"sine=r=48000:d={seconds}", *options, str(file)], check=True)
        return file

    def h264(self, name, *options, seconds=2):
        """With B-frames, and a key frame twice a second."""
        return self.film(
            name, "-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", "2", "-g", "12", "-c:a", "aac", *options, seconds=seconds)

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


class CopyTests(CopyTestCase):
    WAITS = True

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

    def test_other_pictures_in_mid_stream(self):
        """As of a camera that was exchanged: with --split a file for each kind, otherwise in band."""
        parts = [
            self.h264("1.ts"), self.film("2.ts", "-s", "192x144", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac"),
            # The same size, and another profile.
            self.film("3.ts", "-s", "192x144", "-c:v", "libx264", "-profile:v", "baseline", "-pix_fmt", "yuv420p", "-c:a", "aac")]
        joined = self.folder / "joined.ts"
        joined.write_bytes(b"".join(part.read_bytes() for part in parts))
        self.succeed("--input", joined, "--codec", "copy", "-o", "part-%03d.mkv", "--split", "1h")
        files = sorted(self.folder.glob("part-*.mkv"))
        self.assertEqual(len(files), 3)
        for file, part, size in zip(files, parts, [(128, 96), (192, 144), (192, 144)], strict=True):
            stream = media.probe(file)["stream"]
            self.assertEqual((stream["width"], stream["height"]), size)
            self.assertEqual(media.decode(file)[1], "")
            self.assertEqual(self.digests(file, "h264")[0], self.digests(part, "h264")[0])
        for name in "a.mkv", "a.mp4", "a.ts":
            self.succeed("--input", joined, "--codec", "copy", "-o", name)
            self.assertEqual(media.decode(self.folder / name)[1], "")
            listed = media.command(
                "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "frame=width", "-of", "json",
                self.folder / name).stdout
            self.assertEqual(
                [frame["width"] for frame in json.loads(listed)["frames"]], [128] * 50 + [192] * 100, name)

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
        pictures = [self.pictures(self.folder / name) for name in ("a.mkv", "b.y4m")]
        self.assertEqual(len(pictures[0]), 50 * 128 * 96 * 3 // 2)
        self.assertEqual(pictures[0], pictures[1])
        small = media.probe(self.folder / "c.webm")
        self.assertEqual((small["stream"]["codec_name"], small["stream"]["width"]), ("vp8", 64))
        self.assertEqual(len(small["packets"]), 50)

    def test_frames_of_each_codec(self):
        """They are those of ffmpeg's decoder, however the stream orders its pictures."""
        for name, *options in [
            ("hevc.mkv", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:bframes=3:keyint=15"),
            ("vp9.webm", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8"),
            ("av1.mkv", "-c:v", "libaom-av1", "-usage", "realtime", "-cpu-used", "8"),
        ]:
            with self.subTest(film=name):
                film = self.film(name, "-pix_fmt", "yuv420p", *options, "-an", seconds=1)
                run = self.succeed(
                    "--input", film, "--codec", "copy", "-o", "a.mkv", "-o", "b.y4m", "--stats", "json", "--force")
                last = json.loads(run.stderr.splitlines()[-1])
                self.assertEqual([bool(output["passedOn"]) for output in last["outputs"]], [True, False])
                self.assertEqual(last["encoders"], [])
                ours, theirs = (self.pictures(file) for file in (self.folder / "b.y4m", film))
                self.assertEqual(len(theirs), 25 * 128 * 96 * 3 // 2)
                self.assertEqual(ours, theirs)

    def pictures(self, file):
        return media.command(
            "ffmpeg", "-v", "error", "-i", file, "-map", "0:v", "-fps_mode", "passthrough", "-f", "rawvideo", "-").stdout

    def test_a_viewer_of_frames_sets_the_pace(self):
        film = self.h264("a.mp4")
        begin = time.monotonic()
        run = self.succeed("--input", film, "--codec", "copy", "-o", "a.mkv", "--serve", "0", "--stats", "json")
        self.assertGreater(time.monotonic() - begin, 1.9)
        last = json.loads(run.stderr.splitlines()[-1])
        # The page, and what it shows by WebRTC, which has no B-frames.
        self.assertEqual([bool(output["passedOn"]) for output in last["outputs"]], [True, False, False])
        self.assertEqual(len(self.packets(self.folder / "a.mkv")[0]), 50)

    def test_wrong_use_says_why(self):
        film = self.h264("a.mp4")
        vp8 = self.film("b.webm", "-c:v", "libvpx", "-deadline", "realtime", "-c:a", "libopus")
        # Of which no decoder of packets is in the program.
        rare = self.film("h.mkv", "-c:v", "ffv1", "-c:a", "mp3")
        for words, source, options in [
            ("needs frames", film, ["--size", "64x48"]), ("needs frames", film, ["--fps", "10"]),
            ("needs frames", film, ["--overlay", "text"]), ("needs frames", film, ["--bitrate", "1M"]),
            ("takes frames", rare, ["-o", "b.y4m"]), ("need frames", rare, ["-o", "b.mkv,size=50%"]),
            ("webm takes pictures as vp8", film, ["-o", "c.webm"]), ("mp4 does not carry vp8", vp8, ["-o", "c.mp4"]),
            ("mov does not carry vp8", vp8, ["-o", "c.mov"]),
            ("whip takes pictures as vp8, h264", rare, ["-o", "whip:http://127.0.0.1:1/x"]),
        ]:
            with self.subTest(options=options):
                run = self.run_tool("--input", source, "--codec", "copy", "-o", "a.mkv", *options)
                self.assertEqual(run.code, USAGE, run.stderr)
                self.assertIn(words, run.stderr)
                self.assertFalse((self.folder / "a.mkv").exists())
        run = self.run_tool("--source", "noise", "--codec", "copy", "-o", "a.mkv")
        self.assertEqual(run.code, USAGE)
        self.assertIn("noise gives frames", run.stderr)


class AutomaticTests(CopyTestCase):
    """Without --codec: files get the packets of a file where that loses nothing."""

    WAITS = True

    def passed(self, film, *options):
        """The codecs that each output got as they are, the encoders, and what was explained."""
        run = self.succeed("--input", film, *options, "--fps", "max", "--explain", "--stats", "json", "--force")
        lines = run.stderr.splitlines()
        last = json.loads(lines[-1])
        return (
            [output["passedOn"] and output["passedOn"]["tracks"] for output in last["outputs"]],
            [encoder["name"] for encoder in last["encoders"]], [line for line in lines if not line.startswith("{")])

    def test_files_that_can_have_it(self):
        film = self.h264("a.mp4", "-preset", "ultrafast", seconds=20)
        begin = time.monotonic()
        run = self.succeed("--input", film, "-o", "a.mkv")
        self.assertLess(time.monotonic() - begin, 15, "a copy is not played")
        self.assertIn("Passing on h264 and aac of file, to a.mkv (matroska), since no option asks for frames.", run.stderr)
        self.assertEqual(self.digests(self.folder / "a.mkv", "h264"), self.digests(film, "h264"))
        both = ["h264", "aac"]
        self.assertEqual(
            self.passed(film, "-o", "b.mp4", "-o", "c.y4m"),
            ([both, None], [], ["b.mp4: h264 and aac, passed on as it comes.",
                                "c.y4m: frames: y4m takes frames, and packets are passed on as they come."]))
        self.assertEqual(self.passed(film, "-o", "b.mkv", "--codec", "auto")[0], [both])
        self.assertEqual(self.passed(film, "-o", "part-%03d.mkv", "--split", "0.9")[0], [both])
        vp8 = self.film("b.webm", "-c:v", "libvpx", "-deadline", "realtime", "-c:a", "libopus")
        self.assertEqual(self.passed(vp8, "-o", "d.webm")[:2], ([["vp8", "opus"]], []))
        # A film has no key frames for those who come in mid-stream.
        self.assertEqual(self.passed(film, "-o", "udp://127.0.0.1:9")[0], [None])
        self.assertEqual(self.passed(film, "-o", "b.mkv", "-o", "tcp://127.0.0.1:0?listen")[0], [both, None])

    def test_an_encoder_shared_by_those_that_cannot(self):
        silent = self.h264("a.mp4", "-an")
        webm = "webm takes pictures as vp8, and here is h264."
        self.assertEqual(
            self.passed(silent, "-o", "a.webm", "-o", "b.mkv", "-o", "c.webm"),
            ([None, ["h264"], None], ["vp8"],
             [f"a.webm: vp8 of encoder 1 (vp8), shared with c.webm: {webm}", "b.mkv: h264, passed on as it comes.",
              f"c.webm: vp8 of encoder 1 (vp8), shared with a.webm: {webm}"]))

    def matrix(self, file):
        """The first four numbers of how a file's pictures are turned."""
        [stream] = [stream for stream in media.probe(self.folder / file)["streams"] if stream["codec_type"] == "video"]
        lines = stream["side_data_list"][0]["displaymatrix"].split("\n")
        return [line.split(":")[1].split()[:2] for line in lines if ":" in line][:2]

    def test_what_is_encoded(self):
        """Where an option asks for frames, or an output would lack something."""
        film = self.h264("a.mp4", seconds=1)
        for options in [
            ["--codec", "h264"], ["--bitrate", "1M"], ["--size", "50%"], ["--overlay", "a"], ["--audio", "none"],
            ["--frames", "9"], ["--start", "0.5"],
        ]:
            with self.subTest(options=options):
                passed, encoders, lines = self.passed(film, "-o", "a.mkv", *options)
                self.assertEqual((passed, encoders), ([None], ["openh264"]))
                self.assertEqual(lines, ["a.mkv: h264 of encoder 1 (openh264)."])
        self.assertEqual(self.passed(film, "-o", "a.mkv", "--serve", "0")[1][0], "openh264", "browsers hear it")
        # Its sound is not Opus; and the second one would lack it, if the first one had the packets.
        passed, encoders, lines = self.passed(film, "-o", "a.mkv", "-o", "a.webm")
        self.assertEqual((passed, encoders), ([None, None], ["openh264", "vp8"]))
        self.assertIn("Nothing is passed on as it comes: a.webm: webm takes pictures as vp8", lines[0])
        self.assertEqual([stream["codec_name"] for stream in media.probe(self.folder / "a.webm")["streams"]], ["vp8", "opus"])
        rotated = self.folder / "rotated.mp4"
        media.command("ffmpeg", "-v", "error", "-i", film, "-c", "copy", "-metadata:s:v", "rotate=90", rotated)
        self.assertIn("the pictures are rotated", self.passed(rotated, "-o", "a.ts")[2][0])
        # The matrix of the track's header: 40 bytes after its version; -1 as 16.16 mirrors.
        data = bytearray(film.read_bytes())
        place = data.index(b"tkhd") + 44
        data[place:place + 4] = (0xFFFF0000).to_bytes(4, "big")
        (self.folder / "mirrored.mp4").write_bytes(data)
        mirrored = self.folder / "mirrored.mp4"
        self.assertIn("the pictures are mirrored", self.passed(mirrored, "-o", "a.mkv")[2][0])
        silent = self.h264("silent.mp4", "-an", seconds=1).read_bytes()
        place = silent.index(b"tkhd") + 44
        (self.folder / "silent.mp4").write_bytes(silent[:place] + (0xFFFF0000).to_bytes(4, "big") + silent[place + 4:])
        self.assertIn("the pictures are mirrored", self.passed(self.folder / "silent.mp4", "-o", "a.mkv")[2][0])
        # MP4 and MOV state it; of another container the user is told.
        for source in [rotated, mirrored]:
            for output in ["turned.mp4", "turned.mov"]:
                run = self.succeed("--input", source, "-o", output, "--force")
                self.assertIn("Passing on", run.stderr)
                self.assertEqual(self.matrix(output), self.matrix(source))
                self.assertNotIn("turned", run.stderr.replace(output, ""))
            run = self.succeed("--input", source, "-o", "turned.mkv", "--codec", "copy", "--force")
            self.assertIn("turned.mkv: matroska does not state how its pictures are turned", run.stderr)
        jpeg = self.film("c.avi", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-c:a", "pcm_s16le")
        self.assertIn("the pictures are jpeg", self.passed(jpeg, "-o", "a.mkv")[2][0])
        with open(film, "rb") as bytes:
            run = self.succeed("--input", "-", "-o", "pipe.mkv", "--explain", stdin=bytes)
        self.assertIn("can be read only once", run.stderr)
        # What is no film has the error that it had.
        (self.folder / "no.mp4").write_text("no film")
        run = self.run_tool("--input", "no.mp4", "-o", "b.mkv")
        self.assertEqual(run.code, NO_INPUT, str(run))
