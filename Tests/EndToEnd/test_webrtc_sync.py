"""Sound and pictures that belong together, published by WebRTC: when they were taken, by the sender's clock, as a receiver
reads it from timestamps and sender reports."""

from support import media
from support.webrtc import Endpoint, WebRTCTestCase

RATE = 25


class SyncTests(WebRTCTestCase):
    # It must have its share of a busy machine.
    WAITS = False
    LATER = True

    def make_film(self, name):
        """A film that flashes and beeps at each whole second."""
        made = media.command(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i",
            f"color=black:s=160x120:r={RATE},drawbox=c=white:t=fill:enable='lt(mod(n,{RATE}),3)'", "-f", "lavfi", "-i",
            "aevalsrc='if(lt(mod(t,1),0.05),0.5*sin(2*PI*1000*t),0)':s=48000", "-t", "120", "-c:v", "libvpx", "-b:v", "500k",
            "-c:a", "pcm_s16le", self.folder / name)
        self.assertEqual(made.returncode, 0, made.stderr)

    def offsets(self, endpoint):
        """How much later than the flash each beep was taken, in seconds."""
        pictures = endpoint.all("picture")
        flashes = [now["time"] for before, now in zip(pictures, pictures[1:]) if now["bright"] and not before["bright"]
                   # A picture that was left out before it would be the first.
                   and now["time"] - before["time"] < 1.5 / RATE]
        beeps = [event["time"] for event in endpoint.all("beep")]
        return [beep - flash for flash in flashes for beep in beeps if abs(beep - flash) < 0.5]

    def test_flashes_and_beeps_are_together(self):
        self.make_film("film.mkv")
        endpoint = self.ended(Endpoint("--clock"))
        running = self.publish("-o", endpoint.url, "--plain-http", source=("--input", "film.mkv"))
        # A busy machine loses the beginning of a beep now and then, so that what is left of it is late.
        self.wait("five within 20 ms of their flashes", lambda: len(
            [offset for offset in self.offsets(endpoint)[-7:] if abs(offset) < 0.02]) >= 5, running, 110)
        self.end(running)
