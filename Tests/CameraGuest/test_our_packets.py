"""Packets of a webcam that encodes, on the real driver: every byte as the webcam sent it, also after the cable was pulled."""

import hashlib
import json
import os
import pathlib
import subprocess
import urllib.error
import urllib.request

import ours
from webcam import modes, pictures

TIME_TRAVEL = True

ENDPOINT = pathlib.Path(__file__).parent.parent / "EndToEnd" / "support" / "whip_endpoint.py"
AIORTC = os.environ.get("CAPTURER_AIORTC", "/opt/aiortc/bin/python")
CARD = "10.77.0.1"
GONE, BACK = "The camera was unplugged", "The camera is back"
# Parameter sets and delimiters are left out: their place is the container's.
PICTURES_ONLY = {"h264": "filter_units=remove_types=7-9", "hevc": "filter_units=remove_types=32-35"}


def packets(file):
    """The packets of a recording: time, whether a key frame, and the digest of the data."""
    answer = subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", "packet=pts_time,flags,data_hash", "-show_data_hash", "md5", "-of", "json",
         str(file)], capture_output=True, text=True, check=True, timeout=60)
    if answer.stderr:
        raise AssertionError(f"ffprobe: {answer.stderr}")
    return [
        (float(packet["pts_time"]), packet["flags"][0] == "K", packet["data_hash"].removeprefix("MD5:"))
        for packet in json.loads(answer.stdout)["packets"]]


def picture_digests(file, codec, *options):
    """The digests of the pictures in a recording or a byte stream, one a packet."""
    filters = f"{codec}_mp4toannexb," if not options else ""
    answer = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", *options, "-i", str(file), "-map", "0:v:0", "-c", "copy", "-bsf:v",
         filters + PICTURES_ONLY[codec], "-f", "framemd5", "-"], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    # Behind it those of side data may stand.
    return [line.split(",")[5].strip() for line in answer.stdout.splitlines() if line and line[0] != "#"]


class PacketTests(ours.CameraTestCase):
    def copy(self, webcam, file, *arguments):
        return self.start(
            "--device", webcam.wait_for_node(), "--codec", "copy", "--capture-format", "MJPG", "--size", "320x240", "-o", file,
            *arguments)

    def assertFollows(self, digests, loop):
        """Whether digests are those of a loop, one after the other, from its first on. `loop`: maps a digest to its numbers."""
        self.assertEqual(digests, [loop(number) for number in range(len(digests))])

    def pull_and_plug(self, running, webcam):
        webcam("pull")
        running.wait_for(lambda: running.messages()[-1:] and running.messages()[-1].startswith(GONE), GONE)
        webcam("plug")
        running.wait_for(lambda: running.messages()[-1].startswith(BACK), "the camera's return")
        running.wait_for_frames(30)

    def assertGoesOn(self, running, times):
        """Whether the times increase over one hole, and the tool has counted all packets."""
        self.assertTrue(all(before < after for before, after in zip(times, times[1:])), times)
        summary = ours.summary(running.events())
        self.assertEqual(summary["capture"]["frames"], len(times))
        self.assertEqual(summary["encoders"], [])
        return summary

    def test_jpeg_is_passed_on(self):
        webcam = self.plugged_webcam()
        digests = [hashlib.md5(image).hexdigest() for image in pictures.jpegs(320, 240)]
        for name in "mkv", "mp4", "mov":
            with self.subTest(name):
                file = self.folder / f"film.{name}"
                running = self.copy(webcam, file, "--frames", 35)
                self.assertEqual(running.finish(), ours.OK, running.text())
                found = packets(file)
                self.assertEqual(len(found), 35)
                self.assertTrue(all(is_key for _, is_key, _ in found))
                self.assertFollows([digest for *_, digest in found], lambda number: digests[number % len(digests)])

    def test_outputs_that_need_frames_share_the_packets(self):
        """A file as it came, raw frames, and an encoder at half the size, of one camera that is opened once."""
        webcam = self.plugged_webcam()
        file, raw = self.folder / "film.mkv", self.folder / "film.y4m"
        running = self.copy(webcam, file, "-o", raw, "-o", f"{self.folder / 'small.webm'},size=50%", "--frames", 35)
        self.assertEqual(running.finish(), ours.OK, running.text())
        passed = [output["passedOn"] for output in ours.summary(running.events())["outputs"]]
        self.assertEqual([entry is not None for entry in passed], [True, False, False])
        frames = [
            subprocess.run(
                ["ffmpeg", "-nostdin", "-v", "error", "-i", str(name), "-pix_fmt", "yuv420p", "-f", "framemd5", "-"],
                stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout.splitlines()
            for name in (file, raw, self.folder / "small.webm")]
        self.assertEqual([sum(line[:1] != "#" for line in lines) for lines in frames], [35, 35, 35])

    def test_jpeg_goes_on_after_a_replug(self):
        webcam = self.plugged_webcam()
        digests = [hashlib.md5(image).hexdigest() for image in pictures.jpegs(320, 240)]
        file = self.folder / "film.mkv"
        running = self.copy(webcam, file)
        running.wait_for_frames(30)
        self.pull_and_plug(running, webcam)
        running.interrupt()
        found = packets(file)
        times = [time for time, *_ in found]
        self.assertGoesOn(running, times)
        # The webcam begins again with its first image.
        split = next(number for number in range(1, len(times)) if times[number] - times[number - 1] > 0.1)
        for part in found[:split], found[split:]:
            self.assertFollows([digest for *_, digest in part], lambda number: digests[number % len(digests)])

    def encoded(self, name, *arguments):
        webcam = self.plugged_webcam(encodes=True)
        file = self.folder / "film.mkv"
        running = self.start(
            "--device", webcam.wait_for_node(), "--codec", "copy", "--capture-format", name, "--size", "640x480", "-o", file,
            *arguments)
        return webcam, file, running

    def loop(self, name, codec):
        """The digests of the pictures that the webcam sends, by their numbers."""
        source = self.folder / f"loop.{codec}"
        source.write_bytes(pictures.stream(640, 480, name))
        digests = picture_digests(source, codec, "-f", codec)
        self.assertEqual(len(digests), pictures.LOOP)
        return lambda number: digests[number if number < pictures.LOOP else 10 + (number - pictures.LOOP) % 20]

    def check_encoded(self, name, codec):
        others = [self.folder / "film.mp4", self.folder / "film.ts"]
        webcam, file, running = self.encoded(
            name, *(argument for other in others for argument in ("-o", other)), "--serve-rtsp", "127.0.0.1:8554")
        running.wait_for_frames(40)
        received = self.folder / "received.mkv"
        client = subprocess.Popen(
            ["ffmpeg", "-nostdin", "-v", "error", "-rtsp_transport", "tcp", "-i", "rtsp://127.0.0.1:8554/", "-c", "copy",
             "-frames:v", "40", received], stdin=subprocess.DEVNULL)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        running.wait_for(lambda: client.poll() is not None, "the client of RTSP", limit=60)
        self.pull_and_plug(running, webcam)
        running.interrupt()
        found = packets(file)
        times = [time for time, *_ in found]
        summary = self.assertGoesOn(running, times)
        self.assertEqual(summary["tracks"], [codec])
        split = next(number for number in range(1, len(times)) if times[number] - times[number - 1] > 0.1)
        digests = picture_digests(file, codec)
        for other in others:
            self.assertEqual(picture_digests(other, codec), digests, other)
        # From a key frame on.
        seen = picture_digests(received, codec)
        self.assertEqual(len(seen), 40)
        self.assertIn(seen, [digests[first:first + 40] for first in range(0, split, 10)])
        for part in slice(0, split), slice(split, None):
            self.assertFollows(digests[part], self.loop(name, codec))
            keys = [is_key for _, is_key, _ in found[part]]
            self.assertEqual(keys, [number % 10 == 0 for number in range(len(keys))])
        # Whole, from each key frame on.
        decoded = subprocess.run(
            # At the times that they have: to thirtieths of a second two would be rounded to one, by when the cable was pulled.
            ["ffmpeg", "-nostdin", "-v", "error", "-i", str(file), "-fps_mode", "passthrough", "-enc_time_base", "1:1000", "-f", "null", "-"],
            capture_output=True, text=True, timeout=120)
        self.assertEqual((decoded.returncode, decoded.stderr), (0, ""))

    def test_h264_with_parameter_sets_that_come_once(self):
        self.check_encoded(modes.H264, "h264")

    def endpoint(self, kept):
        """An endpoint of WHIP that writes what it gets; its address."""
        for words in ("link", "add", "card", "type", "dummy"), ("addr", "add", f"{CARD}/24", "dev", "card"), ("link", "set", "card", "up"):
            subprocess.run(["ip", *words], check=True)
        self.addCleanup(subprocess.run, ["ip", "link", "delete", "card"], check=True)
        server = subprocess.Popen(
            [AIORTC, ENDPOINT, "--host", CARD, "--port", "8080", "--keep", kept], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        return server, f"http://{CARD}:8080/whip"

    def test_h264_to_an_endpoint_of_whip(self):
        kept = self.folder / "kept.h264"
        server, url = self.endpoint(kept)
        webcam, file, running = self.encoded(modes.H264, "-o", f"whip:{url}", "--plain-http", "--keep-going")
        running.wait_for(lambda: kept.exists() and kept.stat().st_size > 200_000, "pictures at the endpoint", 60)
        self.pull_and_plug(running, webcam)
        size = kept.stat().st_size
        running.wait_for(lambda: kept.stat().st_size > size + 100_000, "pictures after the replug", 60)
        running.interrupt()
        recorded = picture_digests(file, "h264")
        # From a key frame on. The last ones may be on their way.
        seen = picture_digests(kept, "h264", "-f", "h264")
        first = next(place for place in range(len(recorded)) if recorded[place:place + 5] == seen[:5])
        self.assertEqual(recorded[first:first + len(seen)], seen)
        self.assertGreater(len(seen), len(recorded) - first - 10)

    def test_h265(self):
        self.check_encoded(modes.HEVC, "hevc")

    def test_h264_without_packets_that_were_lost(self):
        webcam, file, running = self.encoded(modes.H264)
        running.wait_for_frames(30)
        webcam("error", 1)
        running.wait_for_frames(60)
        running.interrupt()
        loop = self.loop(modes.H264, "h264")
        digests = picture_digests(file, "h264")
        missing = next(number for number, digest in enumerate(digests) if digest != loop(number))
        # Up to the next key frame.
        following = (missing // 10 + 1) * 10
        self.assertEqual(digests[missing:], [loop(following + number) for number in range(len(digests) - missing)])
        self.assertTrue(packets(file)[missing][1])

    def test_explains_itself(self):
        webcam = self.plugged_webcam(encodes=True)
        node = webcam.wait_for_node()
        running = self.start(
            "--device", node, "--codec", "copy", "--frames", 5, "--explain", "-o", self.folder / "film.mkv")
        self.assertEqual(running.finish(), ours.OK, running.text())
        self.assertIn("negotiated  H264 640x480 at 30 fps", running.text())
        self.assertIn("rejected    YUYV: frames, not packets", running.text())
        for words, *arguments in [
            ("has no packets to pass on", "--capture-format", "YUYV", "-o", "b.mkv"), ("needs frames", "--deinterlace", "off", "-o", "b.mkv"),
            ("ts does not carry jpeg", "--capture-format", "MJPG", "-o", "b.ts"),
        ]:
            running = self.run_tool("--device", node, "--codec", "copy", *arguments)
            self.assertNotEqual(running.process.returncode, ours.OK)
            self.assertIn(words, running.text())

    def test_says_why_there_are_none(self):
        webcam = self.plugged_webcam()
        running = self.run_tool(
            "--device", webcam.wait_for_node(), "--codec", "copy", "--capture-format", "H264", "-o", self.folder / "film.mkv")
        self.assertNotEqual(running.process.returncode, ours.OK)
        self.assertIn("has no packets of h264; choose one of MJPG", running.text())
