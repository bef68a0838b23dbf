"""Publishing by WebRTC to servers that others wrote, as they are: Janus's rooms and mountpoints, simple-whip-server, and a
WHIP endpoint with TLS."""

import json
import subprocess

from support import network
from support.janus import Janus, SimpleWHIPServer
from support.tool import IO
from support.webrtc import LIMIT, Endpoint, Viewer, WebRTCTestCase


class JanusTests(WebRTCTestCase):
    # It must have its share of a busy machine.
    WAITS = False
    LATER = True

    def setUp(self):
        super().setUp()
        self.janus = self.ended(Janus(self.folder / "janus"))
        self.room = f"janus:{self.janus.url}?room=1234&pin=secret-pin"

    def view_room(self):
        return self.ended(Viewer(query=f"?janus={self.janus.url}&room=1234&pin=secret-pin"))

    def wait_for_media(self, viewer, running):
        self.wait("decoded frames", lambda: viewer.video() >= 60 and viewer.last()["bars"] >= 6, running)
        self.wait("a sound", lambda: (viewer.last().get("audio") or {}).get("totalAudioEnergy", 0) > 0, running)

    def test_a_room_and_its_viewer(self):
        running = self.publish("-o", self.room, "--plain-http", "--audio", "tone")
        self.wait_for_media(self.view_room(), running)
        last = self.end(running)
        output = next(output for output in last["outputs"] if output["format"] == "janus")
        self.assertGreater(output["framesSent"], 60)
        self.assertNotIn("secret-pin", json.dumps(last))

    def test_a_wrong_pin_and_no_room(self):
        for query, words in [("room=1234&pin=wrong-pin", "pin"), ("room=77&pin=wrong-pin", "no room 77")]:
            run = self.run_tool("--source", "pattern", "-o", f"janus:{self.janus.url}?{query}", "--plain-http", limit=LIMIT)
            self.assertNotEqual(run.code, 0, str(run))
            self.assertIn(words, run.stderr)
            self.assertNotIn("wrong-pin", run.stderr)

    def test_janus_restarts(self):
        running = self.publish("-o", self.room, "--plain-http")
        self.wait("live", lambda: self.output(running, "janus").get("framesSent", 0) > 30, running)
        self.janus.close()
        self.wait("the loss", lambda: self.output(running, "janus").get("state") == "reconnecting", running)
        self.ended(Janus(self.folder / "janus", self.janus.port))
        sent = self.output(running, "janus")["framesSent"]
        self.wait("live again", lambda: self.output(running, "janus").get("state") == "live", running)
        self.wait("frames again", lambda: self.output(running, "janus")["framesSent"] > sent + 30, running)
        self.end(running)

    def test_a_mountpoint_of_plain_rtp(self):
        # No key frame comes but the first and those that are asked for.
        running = self.publish(
            "-o", f"rtp://{network.ADDRESS}:{Janus.MOUNT}", "--audio", "tone", "--keyframe-interval", "3600")
        self.wait("packets", lambda: self.output(running, "rtp").get("packetsSent", 0) > 60, running)
        viewer = self.ended(Viewer(query=f"?janus={self.janus.url}&mount=1"))
        self.wait_for_media(viewer, running)
        output = next(output for output in self.end(running)["outputs"] if output["format"] == "rtp")
        self.assertGreater(output["keyFramesAsked"], 0, output)

    def test_viewers_of_a_mountpoint_without_its_higher_layers(self):
        running = self.publish("-o", f"rtp://{network.ADDRESS}:{Janus.LAYERS}", "--temporal-layers", "3")
        # A quarter of the frames is of layer 0, a half of layers 0 and 1.
        shares = {2: 1, 1: 0.5, 0: 0.25}
        viewers = {
            layer: self.ended(Viewer(query=f"?janus={self.janus.url}&mount=2&temporal={layer}")) for layer in shares}
        for viewer in viewers.values():
            self.wait("decoded frames", lambda: viewer.video() >= 30 and viewer.last()["bars"] >= 6, running)
        # What is decoded is told twice a second, and a busy machine may be late.
        for _ in range(6):
            before = {layer: viewer.video() for layer, viewer in viewers.items()}
            self.wait("frames", lambda: viewers[2].video() >= before[2] + 200, running)
            decoded = {layer: viewer.video() - before[layer] for layer, viewer in viewers.items()}
            found = {layer: count / decoded[2] for layer, count in decoded.items()}
            if all(abs(found[layer] - share) < 0.2 * share for layer, share in shares.items()):
                break
        self.assertTrue(all(abs(found[layer] - share) < 0.2 * share for layer, share in shares.items()), found)
        for viewer in viewers.values():
            self.assertGreaterEqual(viewer.last()["bars"], 6)
            # Nothing is missing that a key frame would have to replace: those of the beginning are all.
            self.assertLess(viewer.video("pliCount"), 5)
        self.end(running)

    def test_simple_whip_server(self):
        server = self.ended(SimpleWHIPServer(self.janus, self.folder / "whip"))
        url = server.make_endpoint("abc", "sesame")
        (self.folder / "token").write_text("sesame")
        # It takes one publisher at a time: the second finds the first gone.
        for number in range(2):
            running = self.publish("-o", url, "--plain-http", "--token", "@token", "--audio", "tone")
            self.wait("frames", lambda: self.output(running, "whip").get("framesSent", 0) >= 60, running)
            self.assertEqual(self.output(running, "whip")["reconnects"], 0)
            if number == 0:
                self.wait_for_media(self.view_room(), running)
            self.assertTrue(server.is_in_use("abc"))
            self.end(running)
            self.wait("the end by DELETE", lambda: not server.is_in_use("abc"))
        run = self.run_tool("--source", "pattern", "-o", url, "--plain-http", "--token", "wrong", limit=LIMIT)
        self.assertEqual(run.code, IO, str(run))
        self.assertIn("check the token", run.stderr)


    def test_another_path_at_simple_whip_server(self):
        """No datagram passes until the peer is given up; then the session goes on over another path."""
        self.addCleanup(network.drop_nothing)
        server = self.ended(SimpleWHIPServer(self.janus, self.folder / "whip"))
        running = self.publish("-o", server.make_endpoint("abc", "sesame"), "--plain-http", "--token", "sesame")
        viewer = self.view_room()
        self.wait("decoded frames", lambda: viewer.video() >= 30, running)
        network.drop("udp", "dport", "!=", 53)
        self.wait("the loss", lambda: self.output(running, "whip").get("state") == "reconnecting", running)
        network.drop_nothing()
        seen = viewer.video()
        self.wait("live again", lambda: self.output(running, "whip").get("state") == "live", running)
        self.wait("decoded frames again", lambda: viewer.video() > seen + 30, running)
        said = "".join(server.text)
        self.assertIn("Performing ICE restart", said)
        self.assertEqual(said.count("Publishing to WHIP endpoint"), 1, "the session is the one that there was")
        self.assertEqual(self.output(running, "whip")["reconnects"], 1)
        self.end(running)


class SecureTests(WebRTCTestCase):
    LATER = True

    def make_certificate(self, name, address):
        """A certificate for an address that is its own authority."""
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
             f"/CN={name}", "-addext", f"subjectAltName=IP:{address}", "-keyout", self.folder / f"{name}.key", "-out",
             self.folder / f"{name}.pem"], check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def serve(self, name):
        return self.ended(Endpoint(
            "--certificate", self.folder / f"{name}.pem", "--key", self.folder / f"{name}.key", scheme="https"))

    def test_certificates(self):
        self.make_certificate("right", network.ADDRESS)
        self.make_certificate("misnamed", "10.77.0.9")
        right, misnamed = self.serve("right"), self.serve("misnamed")
        running = self.publish("-o", right.url, "--server-authority", "right.pem")
        self.wait("video", lambda: right.last("stats").get("video", 0) >= 30, running)
        self.end(running)
        self.wait("the end", lambda: len(right.all("delete")) == 1)
        for endpoint, authority in [(right, ()), (right, ("--server-authority", "misnamed.pem")),
                                    (misnamed, ("--server-authority", "misnamed.pem"))]:
            with self.subTest(authority=authority):
                before = len(endpoint.all("offer"))
                run = self.run_tool("--source", "pattern", "-o", endpoint.url, *authority, limit=LIMIT)
                self.assertNotEqual(run.code, 0, str(run))
                self.assertIn("certificate", run.stderr)
                self.assertEqual(len(endpoint.all("offer")), before)
