"""Sound and pictures that belong together, published by WebRTC: when they were taken, by the sender's clock, as a receiver
reads it from timestamps and sender reports; and when a browser presents them."""

import os

from support import media
from support.webrtc import Endpoint, Viewer, WebRTCTestCase

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
        return self.pairs(flashes, beeps)

    @staticmethod
    def pairs(flashes, beeps):
        return [beep - flash for flash in flashes for beep in beeps if abs(beep - flash) < 0.5]

    def test_flashes_and_beeps_are_together(self):
        self.make_film("film.mkv")
        endpoint = self.ended(Endpoint("--clock"))
        running = self.publish("-o", endpoint.url, "--plain-http", source=("--input", "film.mkv"))
        # A busy machine loses the beginning of a beep now and then, so that what is left of it is late.
        self.wait("five within 20 ms of their flashes", lambda: len(
            [offset for offset in self.offsets(endpoint)[-7:] if abs(offset) < 0.02]) >= 5, running, 110)
        self.end(running)

    def test_chromium_presents_them_together(self):
        """By its own estimate of the playout, and by the pixels and samples that it presents. It begins 50 ms apart, and takes
        some twenty seconds to bring them together."""
        self.make_film("film.mkv")
        viewer = self.ended(Viewer(query="?sync"))
        running = self.publish("-o", viewer.url, "--plain-http", source=("--input", "film.mkv"))

        def are_together():
            seen = [said for said in list(viewer.events) if said["event"] == "stats"]
            offsets = self.pairs(*([time / 1000 for said in seen for time in said[kind]] for kind in ("flashes", "beeps")))[-3:]
            times = [(seen[-1].get(kind) or {}).get("estimatedPlayoutTimestamp") for kind in ("audio", "video")] if seen else []
            # Of three in a row, at any time: a busy machine presents one too late now and then.
            return len([offset for offset in offsets if abs(offset) < 0.02]) >= 2 and all(times) and abs(times[0] - times[1]) < 20 and (
                times[0] - times[1], offsets)

        found = self.wait("two of three within 20 ms of their flashes", are_together, running, 110)
        if "CAPTURER_SYNC" in os.environ:
            print(f"by its estimate {found[0]} ms, presented {found[1]} s")
        self.end(running)
