"""Publishing by WebRTC to browsers, through a WHIP endpoint of the test's own; under loss; by relay only; and to Pion."""

from support import network, pion
from support.webrtc import LIMIT, Endpoint, Process, Viewer, WebRTCTestCase, free_port


class BrowserTests(WebRTCTestCase):
    LATER = True

    def publish_to(self, viewer, *options, frames=60):
        running = self.publish("-o", viewer.url, "--plain-http", *options)
        self.wait("decoded frames", lambda: viewer.video() >= frames, running)
        return running

    def test_chromium_decodes_vp8_and_opus(self):
        viewer = self.ended(Viewer())
        running = self.publish_to(viewer, "--audio", "tone")
        self.wait("bars", lambda: viewer.last()["bars"] >= 6, running)
        self.wait("a sound", lambda: (viewer.last().get("audio") or {}).get("totalAudioEnergy", 0) > 0, running)
        seen = viewer.last()
        # Later ones are smaller where a busy machine lets the estimate fall.
        self.assertIn("640x360", [said.get("size") for said in viewer.events])
        self.assertGreater(seen["reports"], 0)
        self.assertIn("GCM", seen["srtp"])
        output = next(output for output in self.end(running)["outputs"] if output["format"] == "whip")
        self.assertGreater(output["targetBitrate"] + output["framesSent"], 60)
        self.wait("the end", lambda: viewer.last("delete"))

    def test_chromium_decodes_h264(self):
        viewer = self.ended(Viewer())
        running = self.publish_to(viewer, "--codec", "h264")
        self.wait("bars", lambda: viewer.last()["bars"] >= 6, running)
        self.end(running)

    def test_lost_packets_are_sent_again(self):
        viewer = self.ended(Viewer())
        running = self.publish_to(viewer, "--bitrate", "2M", frames=1)
        self.addCleanup(network.drop_nothing)
        network.lose(5)
        before = viewer.video()
        self.wait("frames", lambda: viewer.video() >= before + 240 and viewer.video("retransmittedPacketsReceived") > 20
                  and self.output(running, "whip")["packetsResent"] > 20, running)
        network.drop_nothing()
        output = next(output for output in self.end(running)["outputs"] if output["format"] == "whip")
        self.assertGreater(output["packetsResent"], 20, output)
        self.assertGreater(output["nacks"], 0, output)

    def test_firefox_decodes_it(self):
        viewer = self.ended(Viewer("firefox-esr"))
        running = self.publish_to(viewer)
        self.wait("bars", lambda: viewer.last()["bars"] >= 6, running)
        # It names its formats behind what it says of them, such as that it takes lost packets again.
        self.addCleanup(network.drop_nothing)
        network.lose(10)
        self.wait("lost packets again", lambda: self.output(running, "whip")["packetsResent"] > 5, running)
        network.drop_nothing()
        self.end(running)

    def test_firefox_is_shown_both_over_one_transport(self):
        running = self.publish("--serve", f"{network.ADDRESS}:0", "--audio", "tone")
        url = self.wait("where it serves", lambda: self.output(running, "mjpeg").get("url"), running)
        viewer = self.ended(Viewer("firefox-esr", "?whep=max-bundle", url))
        self.wait("frames and sound", lambda: viewer.video() >= 30 and viewer.last()["bars"] >= 6
                  and viewer.last()["audio"]["packetsReceived"] > 50, running)
        said = viewer.last("whep")
        self.assertIn("a=bundle-only", said["offer"], "what players of WHEP send")
        self.assertRegex(said["offer"], "m=video 0 ")
        video = said["answer"].split("m=video 9 ")[1]
        for feedback in ("nack", "nack pli", "ccm fir", "goog-remb", "transport-cc"):
            self.assertRegex(video, rf"a=rtcp-fb:\d+ {feedback}\r")
        self.assertRegex(video, r"a=rtpmap:\d+ rtx/90000")
        output = self.output(running, "mjpeg")
        self.assertEqual((output["viewers"], output["webrtcViewers"]), (1, 1))
        last = next(output for output in self.end(running)["outputs"] if output["format"] == "mjpeg")
        self.assertGreaterEqual(last["webrtcFramesSent"], 30)


class RelayTests(WebRTCTestCase):
    LATER = True

    def test_through_a_relay_only(self):
        for transport in ("udp", "tcp"):
            with self.subTest(transport):
                port = free_port()
                relay = self.ended(Process(
                    "turnserver", "-n", "--log-file", "stdout", "--listening-ip", network.ADDRESS, "--relay-ip",
                    network.ADDRESS, "--listening-port", port, "--lt-cred-mech", "--user", "bob:sesame", "--realm", "test",
                    "--no-cli", "--no-tls", "--no-dtls", "--allow-loopback-peers", "--pidfile",
                    self.folder / "turn.pid"))
                relay.answers(port)
                endpoint = self.ended(Endpoint())
                running = self.publish(
                    "-o", endpoint.url, "--plain-http", "--relay-only", "--ice-server",
                    f"turn:bob:sesame@{network.ADDRESS}:{port}?transport={transport}")
                self.wait("video", lambda: endpoint.last("stats").get("video", 0) > 30, running)
                self.assertIn("relayed", self.wait("the path", lambda: self.output(running, "whip").get("path"), running))
                offer = endpoint.last("offer")["sdp"]
                kinds = {line.split(" typ ")[1].split()[0] for line in offer.splitlines() if line.startswith("a=candidate:")}
                self.assertEqual(kinds, {"relay"})
                self.assertNotIn("sesame", running.peek())
                self.end(running)
                relay.close()


class PionTests(WebRTCTestCase):
    LATER = True

    def test_pion_receives_frames(self):
        program = pion.build("whip_pion", self.folder)
        port = free_port()
        peer = self.ended(Process(program, f"{network.ADDRESS}:{port}"))
        peer.answers(port)
        running = self.publish("-o", f"whip:http://{network.ADDRESS}:{port}/whip", "--plain-http")
        self.wait("frames", lambda: peer.last("stats").get("frames", 0) >= 60, running)
        # It asks for a key frame each second.
        self.assertGreater(peer.last("stats")["keys"], 1)
        output = next(output for output in self.end(running)["outputs"] if output["format"] == "whip")
        self.assertGreater(output["keyFrameRequests"], 0)
        self.wait("the end", lambda: peer.all("delete"))
