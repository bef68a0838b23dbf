"""Codecs that RTSP carries and nothing here encodes, passed on: FFmpeg and GStreamer get exactly the bytes that were served."""

import hashlib
import re
import subprocess

from support import media
from support.stream import StreamTestCase
from support.tool import OK, USAGE

SERVING = re.compile(r'"url":"rtsp://127\.0\.0\.1:(\d+)/cam"')
PICTURES = ("-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25")
SOUND = ("-f", "lavfi", "-i", "sine=frequency=440:sample_rate=8000")
COUNT = 15


def units(stream):
    """The NAL units of a byte stream."""
    return [unit.rstrip(b"\0") for unit in stream.split(b"\0\0\1")[1:]]


def slices(units):
    """Those of pictures, of the NAL units of H.265."""
    return [unit for unit in units if unit[0] >> 1 < 32]


def frames(stream):
    """The pictures of raw I420."""
    size = 160 * 120 * 3 // 2
    return [stream[index:index + size] for index in range(0, len(stream) - size + 1, size)]


class PayloadTests(StreamTestCase):
    LATER = True

    def run_command(self, *arguments):
        result = media.command(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr.decode(errors="replace"))
        return result.stdout

    def ffmpeg(self, *arguments):
        return self.run_command("ffmpeg", "-v", "error", "-nostdin", *arguments)

    def serve(self, name, *encoding):
        """A run that passes on a film that is longer than any player here needs, the film, and the URL."""
        film = self.folder / name
        self.ffmpeg(*PICTURES, *SOUND, *encoding, "-t", "40", film)
        server = self.start(
            "--input", film, "--codec", "copy", "--stats", "json", "-o", "rtsp://127.0.0.1:0/cam?listen")
        return server, film, f"rtsp://127.0.0.1:{self.wait_for_port(server, SERVING)}/cam"

    def play(self, url, *outputs):
        """What ffmpeg gets at once over TCP and by datagrams: the bytes of each output."""
        players = {}
        for way in ("tcp", "udp"):
            arguments = []
            for number, output in enumerate(outputs):
                arguments += [*output, self.folder / f"{way}.{number}"]
            players[way] = subprocess.Popen(
                ["ffmpeg", "-v", "error", "-nostdin", "-y", "-rtsp_transport", way, "-i", url, *map(str, arguments)],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(players[way].kill)
        for way, player in players.items():
            _, stderr = player.communicate(timeout=60)
            self.assertEqual(player.returncode, 0, stderr.decode(errors="replace"))
            yield way, [(self.folder / f"{way}.{number}").read_bytes() for number in range(len(outputs))]

    def gstreamer(self, url, *elements):
        """A player that writes to the file `gst`, but for the buffer that ends the stream."""
        player = subprocess.Popen(
            ["gst-launch-1.0", "-q", "rtspsrc", f"location={url}", "protocols=tcp", "!", *elements, "!", "identity",
             f"eos-after={COUNT + 1}", "!", "filesink", f"location={self.folder / 'gst'}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(player.kill)
        return player

    def received(self, player):
        """What GStreamer got; its exit code says nothing, as in test_rtsp."""
        player.communicate(timeout=60)
        return (self.folder / "gst").read_bytes()

    def assertPart(self, found, whole, at_least):
        """That a list follows itself somewhere in another one, without a gap."""
        self.assertGreaterEqual(len(found), at_least)
        whole = [hashlib.md5(item).digest() for item in whole]
        found = [hashlib.md5(item).digest() for item in found]
        places = [index for index, item in enumerate(whole) if item == found[0]]
        self.assertTrue(any(whole[index:index + len(found)] == found for index in places), len(found))

    def test_h265_and_mu_law(self):
        server, film, url = self.serve(
            "film.mkv", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:keyint=25:pools=1",
            "-c:a", "pcm_mulaw")
        served = units(self.ffmpeg("-i", film, "-c", "copy", "-f", "hevc", "-"))
        sound = self.ffmpeg("-i", film, "-map", "0:a", "-c", "copy", "-f", "mulaw", "-")
        outputs = (("-map", "0:v", "-c", "copy", "-frames:v", COUNT, "-f", "hevc"),
                   ("-map", "0:a", "-c", "copy", "-t", "1", "-f", "mulaw"))
        other = self.gstreamer(url, "rtph265depay", "!", "video/x-h265,stream-format=byte-stream,alignment=au")
        for way, (pictures, heard) in self.play(url, *outputs):
            with self.subTest(way=way):
                self.assertPart(units(pictures), served, COUNT)
                self.assertGreater(len(heard), 4000)
                self.assertIn(heard, sound)
        # GStreamer repeats the parameter sets of the description.
        self.assertPart(slices(units(self.received(other))), slices(served), COUNT)
        self.end(server)

    def test_vp9(self):
        server, film, url = self.serve(
            "film.webm", "-map", "0:v", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "25")
        served = frames(self.ffmpeg("-i", film, "-fps_mode", "passthrough", "-f", "rawvideo", "-"))
        # FFmpeg does not recognize the key frames of VP9 in RTP.
        output = ("-c", "copy", "-copyinkf", "-frames:v", COUNT, "-f", "ivf")
        other = self.gstreamer(url, "rtpvp9depay", "!", "vp9dec", "!", "video/x-raw,format=I420")
        for way, _ in self.play(url, output):
            with self.subTest(way=way):
                found = self.ffmpeg(
                    "-f", "ivf", "-i", self.folder / f"{way}.0", "-fps_mode", "passthrough", "-f", "rawvideo", "-")
                self.assertPart(frames(found), served, COUNT)
        self.assertPart(frames(self.received(other)), served, COUNT)
        self.end(server)

    def test_jpeg_and_a_law(self):
        server, film, url = self.serve(
            "film.avi", "-c:v", "mjpeg", "-huffman", "default", "-pix_fmt", "yuvj420p", "-q:v", "9", "-c:a", "pcm_alaw")
        decoded = ("-fps_mode", "passthrough", "-f", "rawvideo", "-")
        served = frames(self.ffmpeg("-i", film, *decoded))
        sound = self.ffmpeg("-i", film, "-map", "0:a", "-c", "copy", "-f", "alaw", "-")
        outputs = (("-map", "0:v", "-c", "copy", "-frames:v", COUNT, "-f", "mjpeg"),
                   ("-map", "0:a", "-c", "copy", "-t", "1", "-f", "alaw"))
        other = self.gstreamer(url, "rtpjpegdepay")
        for way, (_, heard) in self.play(url, *outputs):
            with self.subTest(way=way):
                self.assertPart(frames(self.ffmpeg("-f", "mjpeg", "-i", self.folder / f"{way}.0", *decoded)), served, COUNT)
                self.assertGreater(len(heard), 4000)
                self.assertIn(heard, sound)
        (self.folder / "gst.mjpeg").write_bytes(self.received(other))
        self.assertPart(frames(self.ffmpeg("-f", "mjpeg", "-i", self.folder / "gst.mjpeg", *decoded)), served, COUNT)
        self.end(server)

    def test_what_is_not_carried(self):
        film = self.folder / "film.mkv"
        # The pictures that can be decoded are encoded again, with a warning.
        for encoding, code, words in (
                (("-c:v", "mpeg4"), USAGE, "mpeg4; encode it"),
                (("-c:v", "mjpeg", "-s", "2048x64"), OK, "up to 2040 pixels"),
                (("-c:v", "libx264", "-c:a", "flac"), OK, "here is flac")):
            with self.subTest(encoding=encoding):
                self.ffmpeg("-y", *PICTURES, *SOUND, "-map", "0", "-map", "1:a", *encoding, "-t", "0.2", film)
                run = self.run_tool(
                    "--input", film, "--codec", "copy", "-o", "rtsp://127.0.0.1:0/cam?listen")
                self.assertEqual(run.code, code, str(run))
                self.assertIn(words, run.stderr)
        # Optimized tables cannot be told before the images come.
        self.ffmpeg("-y", *PICTURES, "-c:v", "mjpeg", "-huffman", "optimal", "-t", "0.2", film)
        run = self.succeed("--input", film, "--codec", "copy", "-o", "rtsp://127.0.0.1:0/cam?listen")
        self.assertIn("Huffman", run.stderr)
