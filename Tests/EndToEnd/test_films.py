"""Files that FFmpeg reads as a source: films, pictures, and what is none."""

import os
import subprocess

from support import media
from support.tool import NO_INPUT, OK, ToolTestCase


class FilmTests(ToolTestCase):
    WAITS = True

    def make(self, name, *options, source="testsrc2=size=128x96:rate=25", frames=25):
        file = self.folder / name
        subprocess.run(
            ["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", source, "-frames:v", str(frames), *options,
             str(file)], check=True)
        return file

    def size(self, file):
        stream = media.probe(file)["stream"]
        return stream["width"], stream["height"]

    def convert(self, source, *options):
        webm = self.folder / "out.webm"
        self.succeed("--input", source, "--fps", "max", *options, "--output", webm, "--force")
        self.assertEqual(media.probe(webm)["errors"], "")
        return media.times(webm)

    def test_films_and_pictures(self):
        h264 = ("-c:v", "libx264", "-pix_fmt", "yuv420p")
        for name, options, count in [
            ("a.mp4", h264, 25), ("a.mov", h264, 25), ("a.mkv", h264, 25), ("a.avi", ("-c:v", "mjpeg"), 25),
            ("a.webm", ("-c:v", "libvpx-vp9", "-deadline", "realtime"), 25), ("a.gif", (), 25),
            ("a.mjpeg", ("-c:v", "mjpeg"), 25),
        ]:
            with self.subTest(name=name):
                times = self.convert(self.make(name, *options))
                self.assertEqual(len(times), count)
                self.assertAlmostEqual(times[-1], 0.96, delta=0.01)
        for name in ("a.png", "a.jpg"):
            with self.subTest(name=name):
                self.assertEqual(len(self.convert(self.make(name, frames=1))), 1)
        self.make("i%03d.png", frames=5)
        self.assertEqual(len(self.convert(self.folder / "i%03d.png")), 5)

    def test_pictures_are_the_file_s_own(self):
        film, ours = self.make("a.mkv", "-c:v", "ffv1", "-pix_fmt", "yuv420p"), self.folder / "ours.y4m"
        self.succeed("--input", film, "--fps", "max", "--output", ours)
        theirs = subprocess.run(
            ["ffmpeg", "-v", "error", "-i", str(film), "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"], check=True,
            stdout=subprocess.PIPE).stdout
        self.assertEqual(b"".join(media.y4m_frames(ours)[1]), theirs)

    def test_says_whether_its_sound_is_left_out(self):
        film = self.folder / "a.mkv"
        subprocess.run(
            ["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=128x96:rate=25:duration=1", "-f", "lavfi",
             "-i", "sine=duration=1", "-c:v", "mjpeg", "-c:a", "pcm_s16le", str(film)], check=True)
        words = "has sound, which is left out"
        run = self.succeed("--input", film, "--rate", "2", "-o", "a.webm")
        self.assertIn(words + " at another speed (leave out --rate to keep it)", run.stderr)
        run = self.succeed("--input", film, "-o", "b.webm")
        self.assertNotIn(words, run.stderr)
        self.assertIn("Sound: ", run.stderr)
        # A pipe can be opened only once: to look for its sound would take its pictures.
        pipe = self.folder / "pipe.mkv"
        os.mkfifo(pipe)
        with subprocess.Popen(["cp", str(film), str(pipe)]):
            run = self.succeed("--input", pipe, "-o", "c.webm")
        self.assertIn(words + ", since a pipe can be read only once", run.stderr)
        self.assertIn("Captured 25 frames", run.stderr)

    def test_a_film_that_lies_on_its_side(self):
        film = self.make("a.mp4", "-c:v", "libx264", "-pix_fmt", "yuv420p")
        turned = self.folder / "turned.mov"
        subprocess.run(
            ["ffmpeg", "-v", "error", "-i", str(film), "-c", "copy", "-metadata:s:v", "rotate=90", str(turned)],
            check=True)
        self.convert(turned)
        self.assertEqual(self.size(self.folder / "out.webm"), (96, 128))

    def test_pipes(self):
        for flags, code, word in ((("-movflags", "+faststart"), OK, "25 frames"), ((), NO_INPUT, "index lies at its end")):
            # Of a size that nothing on the way keeps whole.
            film = self.make(
                "a.mp4", "-c:v", "libx264", "-qp", "0", "-pix_fmt", "yuv420p", *flags,
                source="testsrc2=size=640x480:rate=25,noise=alls=20:allf=t")
            with self.subTest(flags=flags), open(film, "rb") as file:
                producer = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
                run = self.run_tool(
                    "--input", "-", "--fps", "max", "--output", "out.webm", "--force", stdin=producer.stdout)
                producer.stdout.close()
                producer.wait()
                self.assertEqual(run.code, code, str(run))
                self.assertIn(word, run.stderr)

    def test_what_is_no_film(self):
        sound = self.folder / "sound.m4a"
        subprocess.run(
            ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine", "-t", "1", "-c:a", "aac", str(sound)], check=True)
        whole = self.make("whole.mp4", "-c:v", "libx264", "-pix_fmt", "yuv420p").read_bytes()
        (self.folder / "cut.mp4").write_bytes(whole[:len(whole) // 2])
        (self.folder / "empty.mp4").write_bytes(b"")
        (self.folder / "text.mp4").write_text("this is no film\n" * 20)
        for name, word in (("sound.m4a", "no video"), ("cut.mp4", "cut.mp4"), ("empty.mp4", "empty"),
                           ("text.mp4", "text.mp4"), ("missing.mp4", "no such file")):
            with self.subTest(name=name):
                run = self.run_tool("--input", self.folder / name, "--output", "out.webm")
                self.assertRefused(run, NO_INPUT, word)
        self.assertFalse((self.folder / "out.webm").exists())
