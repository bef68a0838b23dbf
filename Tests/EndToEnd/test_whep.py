"""`/whep` as an output of the tool's publisher: its encoder has the settings of the others, shows a screen as a screen, and
works only while there are viewers. The viewers are aiortc's."""

import re
import time

from support import network
from support.screen import Screen
from support.stream import free_udp_port
from support.webrtc import Process, WebRTCTestCase, WHEPViewers


class WHEPTests(WebRTCTestCase):
    def serve(self, *arguments, source):
        running = self.publish("--serve", f"{network.ADDRESS}:0", *arguments, source=source)
        found = self.wait("its address", lambda: re.search(r"http://[\d.]+:\d+/", running.peek()), running)
        return running, self.ended(WHEPViewers(found[0]))

    def test_a_screen_is_shown_as_a_screen(self):
        """As in the file next to it: at the bitrate that was asked for, and refined while nothing changes."""
        screen = Screen()
        self.addCleanup(screen.close)
        screen.open("xterm", "-geometry", "30x10+20+20", "-e", "sh", "-c", "while :; do date +%N; sleep 0.5; done")
        running, viewers = self.serve(
            "--bitrate", "400k", "-o", self.folder / "a.webm", source=("--source", "screen", "--display", screen.display))
        for _ in range(2):
            seen = viewers.view(1, kinds=["video"])[0]
            self.assertEqual(seen["deleted"], 200, seen)
            self.assertGreaterEqual(seen["video"], 5, seen)
        last = self.end(running)
        self.assertEqual([output["format"] for output in last["outputs"]], ["webm", "mjpeg", "webrtc"])
        self.assertEqual([output["encoder"] for output in last["outputs"]], [0, None, 1])
        for key, value in (("bitsPerSecondAsked", 400_000), ("contentHint", "text")):
            self.assertEqual([encoder[key] for encoder in last["encoders"]], [value, value])
        for encoder in last["encoders"]:
            # Which a camera's encoder does not make.
            self.assertGreater(encoder["refinements"], 0, encoder)
        self.assertGreaterEqual(last["encoders"][1]["keyFrames"], 2, "the second viewer has an encoder of its own")

    def test_it_works_while_there_are_viewers(self):
        running, viewers = self.serve(source=("--source", "noise", "--preset", "320x240"))

        def encoded():
            return (self.statistics(running.peek_at_end()) or {}).get("encoders", [{}])[0].get("frames", 0)

        self.wait("statistics", lambda: self.output(running, "webrtc"), running)
        self.assertEqual(encoded(), 0)
        for viewer in viewers.view(3, kinds=["video"]):
            self.assertGreaterEqual(viewer["video"], 5, viewer)
        after = self.wait("the frames of viewers", encoded, running)
        self.wait("no viewers", lambda: self.output(running, "webrtc").get("viewers") == 0, running)
        last = self.end(running)
        # The last viewer left before the statistics said so; at most the frames of one interval of statistics come between.
        self.assertLess(last["encoders"][0]["frames"], last["capture"]["frames"])
        self.assertGreaterEqual(last["encoders"][0]["frames"], after)

    def test_h264_and_constant_quality(self):
        running, viewers = self.serve(
            "--encoder", "openh264", "--quality", "30", source=("--source", "pattern", "--preset", "320x240"))
        seen = viewers.view(1, kinds=["video"])[0]
        self.assertGreaterEqual(seen["video"], 5, seen)
        self.assertIn("H264/90000", seen["answer"])
        encoder = self.end(running)["encoders"][0]
        self.assertEqual((encoder["name"], encoder["constantQuantizer"]), ("openh264", 30))

    def test_packets_as_they_come(self):
        """A camera whose key frames are nine seconds apart, and that makes none on request: viewers see it at once, and nothing
        is decoded or encoded."""
        port = free_udp_port()
        self.ended(Process(
            "ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=10", "-f", "lavfi", "-i",
            "sine=r=48000", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "90",
            "-c:a", "libopus", "-f", "mpegts", f"udp://127.0.0.1:{port}?pkt_size=1316"))
        running, viewers = self.serve("--codec", "copy", "-o", self.folder / "a.mkv", source=("--input", f"udp://127.0.0.1:{port}"))
        self.wait("the stream", lambda: (self.statistics(running.peek_at_end()) or {}).get("capture", {}).get("frames"), running)
        waits = []
        for _ in range(4):
            begin = time.monotonic()
            for seen in viewers.view(2):
                self.assertGreaterEqual(seen["video"], 5, seen)
                self.assertGreater(seen["peak"], 500, seen)
                self.assertIn("H264/90000", seen["answer"])
            waits.append(time.monotonic() - begin)
        self.assertLess(min(waits), 4, waits)
        last = self.end(running)
        self.assertEqual(last["encoders"], [])
        passed = [output["passedOn"] and output["passedOn"]["tracks"] for output in last["outputs"]]
        self.assertEqual(passed, [["h264", "opus"], None, ["h264", "opus"]])
