"""Sound and pictures that belong together, published by WebRTC: when they were taken, by the sender's clock, as a receiver
reads it from timestamps and sender reports."""

import statistics

from support import media
from support.webrtc import Endpoint, WebRTCTestCase

RATE = 25


class SyncTests(WebRTCTestCase):
    LATER = True

    def make_film(self, name):
        """A film that flashes and beeps at each whole second."""
        made = media.command(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i",
            f"color=black:s=160x120:r={RATE},geq=lum='if(lt(mod(N,{RATE}),3),235,16)':cb=128:cr=128", "-f", "lavfi", "-i",
            "aevalsrc='if(lt(mod(t,1),0.05),0.5*sin(2*PI*1000*t),0)':s=48000", "-t", "12", "-c:v", "libvpx", "-b:v", "500k",
            "-c:a", "pcm_s16le", self.folder / name)
        self.assertEqual(made.returncode, 0, made.stderr)

    def test_flashes_and_beeps_are_together(self):
        self.make_film("film.mkv")
        endpoint = self.ended(Endpoint("--clock"))
        running = self.publish("-o", endpoint.url, "--plain-http", source=("--input", "film.mkv"))
        self.wait("the end of the film", lambda: running.process.poll() is not None)
        running.finish()
        pictures = endpoint.all("picture")
        flashes = [now["time"] for before, now in zip(pictures, pictures[1:]) if now["bright"] and not before["bright"]
                   # A picture that was left out before it would be the first.
                   and now["time"] - before["time"] < 1.5 / RATE]
        beeps = [event["time"] for event in endpoint.all("beep")]
        offsets = [beep - flash for flash in flashes for beep in beeps if abs(beep - flash) < 0.5]
        self.assertGreaterEqual(len(offsets), 5, (flashes, beeps))
        # The median, as a busy machine may lose a packet of the beginning of a beep.
        self.assertLess(abs(statistics.median(offsets)), 0.02, offsets)
