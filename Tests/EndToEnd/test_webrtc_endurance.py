"""Sessions that are made, dropped and made again in one process, which keeps its memory, threads and descriptors.

    CAPTURER_SESSIONS=3000 Tests/EndToEnd/run test_webrtc_endurance       as many as some hours have; 120 otherwise
"""

import json
import os
import re
import time
import urllib.request

from support import network
from support.webrtc import LIMIT, Endpoint, WebRTCTestCase, WHEPViewers

SESSIONS = int(os.environ.get("CAPTURER_SESSIONS", 120))
# Viewers of the page that are there at a time.
VIEWERS = 10
OUTPUTS = 20
# A peer that says goodbye; one whose server is busy afterwards, too; one that vanishes, which is noticed by its silence.
WAYS = ("close", "busy", "vanish")
WHEP_WAYS = ("delete", "close", "vanish")


class EnduranceTests(WebRTCTestCase):
    # It must have its share of a busy machine.
    WAITS = False
    LATER = True

    def usage(self, running):
        folder = f"/proc/{running.process.pid}"
        with open(f"{folder}/status", encoding="utf-8") as file:
            memory = int(re.search(r"RssAnon:\s+(\d+) kB", file.read())[1]) << 10
        return len(os.listdir(f"{folder}/fd")), len(os.listdir(f"{folder}/task")), memory

    def viewers(self, url):
        with urllib.request.urlopen(url + "state", timeout=LIMIT) as answer:
            return json.load(answer)["result"]["viewer_page"]["viewers"]

    def assertNothingLeft(self, running, before, made):
        self.wait("descriptors and threads as before", lambda: all(
            now <= then for now, then in zip(self.usage(running)[:2], before[:2])), running)
        after = self.usage(running)
        if "CAPTURER_SESSIONS" in os.environ:
            print(f"descriptors, threads, bytes: {before}, {made} sessions later {after}")
        # A session that stayed would take some hundred kilobytes.
        self.assertLess(after[2] - before[2], (4 << 20) + made * 2048)

    def wait_for_frames(self, running):
        """Waits until each output sends frames of a session that has begun since it was lost."""
        sent = [output["framesSent"] for output in self.outputs(running, "whip")] or [0] * OUTPUTS
        self.wait("frames of all", lambda: len(now := self.outputs(running, "whip")) == OUTPUTS and all(
            output["state"] == "live" and output["framesSent"] > before + 5 for output, before in zip(now, sent)), running, 120)

    def lose(self, way, endpoint, running):
        before = [output["reconnects"] for output in self.outputs(running, "whip")]
        if way == "vanish":
            network.drop()
        # What the server still has ends at once; where nothing arrives, the publishers do not notice.
        endpoint.ask(f"drop?busy={OUTPUTS // 2 if way == 'busy' else 0}")
        self.wait("the losses", lambda: all(
            output["reconnects"] > count for output, count in zip(self.outputs(running, "whip"), before)), running)
        network.drop_nothing()

    def test_sessions_leave_nothing_behind(self):
        self.addCleanup(network.drop_nothing)
        endpoint = self.ended(Endpoint())
        running = self.publish(
            *(word for number in range(OUTPUTS) for word in ("-o", f"{endpoint.url}?{number}")), "--plain-http",
            source=("--source", "pattern", "--preset", "64x48", "--fps", "10"))
        self.wait_for_frames(running)
        for way in WAYS:
            self.lose(way, endpoint, running)
            self.wait_for_frames(running)
        before, count = self.usage(running), len(endpoint.all("offer"))
        while len(endpoint.all("offer")) < SESSIONS:
            self.lose(WAYS[len(endpoint.all("offer")) // OUTPUTS % 2], endpoint, running)
            self.wait_for_frames(running)
        made = len(endpoint.all("offer")) - count
        self.assertNothingLeft(running, before, made)
        self.end(running)

    def test_viewers_leave_nothing_behind(self):
        running = self.publish(
            "--serve", f"{network.ADDRESS}:0", "--audio", "tone",
            source=("--source", "pattern", "--preset", "64x48", "--fps", "10"))
        url = self.wait("where it serves", lambda: self.output(running, "mjpeg").get("url"), running)
        viewers = self.ended(WHEPViewers(url))

        def view(way):
            seen = viewers.view(VIEWERS, way)
            self.assertTrue(all(viewer["status"] == 201 and viewer["video"] and viewer["audio"] for viewer in seen), seen)
            # Also those that have vanished, whose silence is noticed.
            self.wait("no viewer", lambda: self.viewers(url) == 0, running)

        for way in WHEP_WAYS:
            view(way)
        # What is being closed may take a moment.
        before, made = min((time.sleep(0.1), self.usage(running))[1] for _ in range(20)), 0
        while made < SESSIONS:
            view(WHEP_WAYS[made // VIEWERS % 2])
            made += VIEWERS
        self.assertNothingLeft(running, before, made)
        self.end(running)
