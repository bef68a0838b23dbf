"""Publishing by WebRTC to aiortc: what it decodes, and what becomes of a session that has faults."""

import signal

from support import media, network
from support.stream import free_udp_port
from support.tool import IO, OK
from support.webrtc import LIMIT, Endpoint, Process, WebRTCTestCase, free_port


class WHIPTests(WebRTCTestCase):
    def test_video_arrives(self):
        endpoint = self.ended(Endpoint("--redirect"))
        running = self.publish("-o", endpoint.url, "--plain-http", "-o", "film.webm")
        self.wait("video", lambda: endpoint.last("stats").get("video", 0) >= 60 and endpoint.last("stats")["bars"] >= 6, running)
        last = self.end(running)
        # Later ones are smaller where a busy machine lets the estimate fall.
        self.assertIn("640x360", [stats["size"] for stats in endpoint.all("stats")])
        # The session is ended at the server too.
        self.wait("the end", lambda: len(endpoint.all("delete")) == 1)
        output = next(output for output in last["outputs"] if output["format"] == "whip")
        self.assertGreaterEqual(output["framesSent"], 60)
        self.assertEqual(output["state"], "ended")
        self.assertEqual(output["reconnects"], 0)
        # A file beside it has each frame.
        self.assertIn(len(media.times(self.folder / "film.webm")), [encoder["frames"] for encoder in last["encoders"]])
        offer = endpoint.last("offer")["sdp"]
        candidates = [line for line in offer.splitlines() if line.startswith("a=candidate:")]
        self.assertEqual(len(candidates), 1, "the one address from which the server is reached")

    def test_sound_and_h264(self):
        endpoint = self.ended(Endpoint())
        running = self.publish(
            "-o", endpoint.url, "--plain-http", "--audio", "tone", "--codec", "h264", "--pattern", "bars")
        seen = self.wait(
            "video and sound", lambda: (stats := endpoint.last("stats")) and stats["video"] >= 30 and stats["audio"] >= 50
            and stats["peak"] > 500 and stats["bars"] == 8 and stats, running)
        # Later ones are smaller where a busy machine lets the estimate fall.
        self.assertIn("640x360", [stats["size"] for stats in endpoint.all("stats")])
        self.end(running)

    def test_packets_as_they_come(self):
        """Of a camera whose key frames are fifteen seconds apart, the peer sees the next picture once it is connected."""
        port = free_udp_port()
        self.ended(Process(
            "ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=5", "-f", "lavfi", "-i",
            "sine=r=48000", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "75",
            "-c:a", "libopus", "-f", "mpegts", f"udp://127.0.0.1:{port}?pkt_size=1316"))
        endpoint = self.ended(Endpoint())
        running = self.publish(
            "-o", endpoint.url, "--plain-http", "--codec", "copy", source=("--input", f"udp://127.0.0.1:{port}"))
        self.wait(
            "video and sound", lambda: (stats := endpoint.last("stats")) and stats["video"] >= 15 and stats["audio"] >= 50
            and stats["peak"] > 500, running)
        self.assertEqual({stats["size"] for stats in endpoint.all("stats") if stats["video"]}, {"320x240"})
        last = self.end(running)
        self.assertEqual((last["encoders"], last["outputs"][0]["passedOn"]["tracks"]), ([], ["h264", "opus"]))

    def test_tokens(self):
        endpoint = self.ended(Endpoint("--token", "sesame"))
        (self.folder / "token").write_text("sesame\n")
        running = self.publish("-o", endpoint.url, "--plain-http", "--token", "@token")
        self.wait("video", lambda: endpoint.last("stats").get("video", 0) > 0, running)
        self.end(running)
        self.wait("the end", lambda: len(endpoint.all("delete")) == 1)
        run = self.run_tool(
            "--source", "pattern", "-o", endpoint.url, "--plain-http", "--token", "opensesame", limit=LIMIT)
        self.assertEqual(run.code, IO, str(run))
        self.assertIn("refuses the token", run.stderr)
        self.assertNotIn("opensesame", run.stderr)
        # Nothing of the secrets of a session is shown, whatever is written.
        self.assertNotRegex(run.stderr, "ice-pwd|sesame")

    def test_an_endpoint_without_https_is_refused(self):
        endpoint = self.ended(Endpoint())
        run = self.run_tool("--source", "pattern", "-o", endpoint.url)
        self.assertNotEqual(run.code, OK)
        self.assertIn("https", run.stderr)
        self.assertEqual(endpoint.all("offer"), [])

    def test_answers_that_cannot_be(self):
        for answer, words in [("garbage", "session description"), ("huge", ""), ("fingerprint", "certificate")]:
            with self.subTest(answer):
                endpoint = self.ended(Endpoint("--answer", answer))
                running = self.publish("-o", endpoint.url, "--plain-http", "-o", "beside.webm", "--keep-going", "--force")
                self.wait("a reason", lambda: words in running.peek() and endpoint.all("offer"), running)
                self.wait("frames beside", lambda: (self.statistics(running.peek()) or {}).get("capture", {}).get(
                    "frames", 0) > 30, running)
                running.send(signal.SIGINT)
                run = running.finish(LIMIT)
                self.assertNotIn("Fatal", run.stderr)
                self.assertEqual(self.output_of(run)["framesSent"], 0)
                self.assertGreater(len(media.times(self.folder / "beside.webm")), 30)
                self.assertLess(run.peak, 500 << 20)

    def output_of(self, run):
        return next(output for output in self.statistics(run.stderr)["outputs"] if output["format"] == "whip")

    def test_a_busy_server_is_asked_again_when_it_says(self):
        endpoint = self.ended(Endpoint("--busy", "2"))
        running = self.publish("-o", endpoint.url, "--plain-http")
        self.wait("video", lambda: endpoint.last("stats").get("video", 0) > 0, running)
        self.end(running)
        times = [event["time"] for event in endpoint.all("busy")] + [endpoint.last("offer")["time"]]
        self.assertGreaterEqual(min(later - earlier for earlier, later in zip(times, times[1:])), 1.0)

    def test_nothing_published_is_no_success(self):
        port = free_port()
        for address, words in [(f"whip:http://{network.ADDRESS}:{port}/whip", "Nothing was published"),
                               (f"janus:http://{network.ADDRESS}:{port}/janus?room=1234", "Nothing was published")]:
            for more in ((), ("--keep-going", "-o", "beside.webm", "--force")):
                with self.subTest(address, more=more):
                    run = self.run_tool(
                        "--source", "noise", "--preset", "64x48", "-o", address, "--plain-http", "--duration", "2", *more,
                        limit=LIMIT)
                    self.assertEqual(run.code, IO, str(run))
                    self.assertIn(words, run.stderr)
                    if more:
                        self.assertGreater(len(media.times(self.folder / "beside.webm")), 0)

    def test_a_server_that_is_gone_at_the_end(self):
        endpoint = self.ended(Endpoint())
        running = self.publish("-o", endpoint.url, "--plain-http")
        self.wait("video", lambda: endpoint.last("stats").get("video", 0) > 0, running)
        endpoint.close()
        self.wait("the loss", lambda: self.output(running, "whip").get("state") == "reconnecting", running)
        running.send(signal.SIGINT)
        run = running.finish(LIMIT)
        self.assertEqual(run.code, IO, str(run))
        self.assertIn("not there again at the end", run.stderr)

    def test_a_server_that_goes_and_returns(self):
        first = self.ended(Endpoint())
        running = self.publish("-o", first.url, "--plain-http", "-o", "film.webm")
        self.wait("video", lambda: first.last("stats").get("video", 0) > 30, running)
        first.close()
        self.wait("the loss", lambda: self.output(running, "whip").get("state") == "reconnecting", running)
        second = self.ended(Endpoint(port=first.port))
        self.wait("video again", lambda: second.last("stats").get("video", 0) > 30, running)
        last = self.end(running)
        output = next(output for output in last["outputs"] if output["format"] == "whip")
        self.assertEqual(output["reconnects"], 1, output)
        self.wait("the end", lambda: len(second.all("delete")) == 1)
        # What goes to a file has not noticed.
        times = media.times(self.folder / "film.webm")
        self.assertIn(len(times), [encoder["frames"] for encoder in last["encoders"]])


class FloodTests(WebRTCTestCase):
    LATER = True

    def flood(self, kind):
        endpoint = self.ended(Endpoint("--flood", kind))
        running = self.publish("-o", endpoint.url, "--plain-http")
        self.wait("video", lambda: endpoint.last("stats").get("video", 0) >= 90, running)
        return next(output for output in self.end(running)["outputs"] if output["format"] == "whip")

    def test_key_frames_asked_for_1000_times_a_second(self):
        output = self.flood("pli")
        self.assertGreater(output["keyFrameRequests"], 100, output)
        # However many requests there are, they share a key frame per 300 ms: 9 frames of 30 per second.
        self.assertLessEqual(output["keyFramesRequested"], output["framesSent"] / 9 + 5, output)

    def test_reports_and_lost_packets_in_a_flood(self):
        for kind in ("rr", "nack"):
            with self.subTest(kind):
                output = self.flood(kind)
                # What is sent again is at most half of what is sent.
                self.assertLess(output["packetsResent"], output["packetsSent"] * 0.6, output)
