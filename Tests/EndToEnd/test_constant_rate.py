"""Y4M, .yuv and .nv12 have one frame rate and no timestamps: what is written plays for as long as it lasted."""

from support import media
from support.mjpeg import MJPEGTestCase, SteadyCamera


class ConstantRateTests(MJPEGTestCase):
    def film(self, name, source, *options):
        self.run_program("ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", source, *options, "-c:v", "libx264", "-pix_fmt",
                         "yuv420p", name)
        return self.folder / name

    def test_the_rate_of_a_network_camera(self):
        self.run_program("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x48", "-frames:v", "1", "-pix_fmt",
                         "yuvj420p", "one.jpg")
        camera = SteadyCamera((self.folder / "one.jpg").read_bytes(), rate=25)
        self.addCleanup(camera.close)
        run = self.succeed("--input", camera.url, "--duration", "3", "-o", "a.y4m")
        header, frames = media.y4m_frames(self.folder / "a.y4m")
        self.assertIn(" F25:1 ", header, str(run))
        self.assertEqual(len(frames), 75, str(run))
        self.assertIn("3.0 s at 25 fps", run.stderr)

    def test_a_film_of_variable_rate_keeps_its_time(self):
        ours = self.folder / "a.y4m"
        film = self.film("a.mp4", "testsrc2=size=64x48:rate=30", "-t", "10", "-vf",
                         "select=not(mod(n\\,7))+lt(mod(n\\,30)\\,4)", "-fps_mode", "vfr")
        run = self.succeed("--input", film, "--fps", "max", "--output", ours)
        times = media.times(film)
        header, frames = media.y4m_frames(ours)
        self.assertIn(" F30:1 ", header)
        # The last frame is number 294.
        self.assertEqual(len(frames), 295, str(run))
        self.assertIn(f"9.8 s at 30 fps, {295 - len(times)} repeated, 0 dropped", run.stderr)

    def test_rounded_timestamps_repeat_and_drop_nothing(self):
        for rate in ("24000/1001", "30000/1001", "60000/1001"):
            with self.subTest(rate=rate):
                film = self.film("a.mkv", f"testsrc2=size=64x48:rate={rate}", "-frames:v", "500", "-preset", "ultrafast")
                run = self.succeed("--input", film, "--fps", "max", "--output", "a.y4m", "--force")
                header, frames = media.y4m_frames(self.folder / "a.y4m")
                self.assertIn(f" F{rate.replace('/', ':')} ", header)
                self.assertEqual(len(frames), 500)
                self.assertIn(f"at {rate} fps, 0 repeated, 0 dropped", run.stderr)
