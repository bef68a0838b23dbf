"""Publishing by WebRTC to browsers, through a WHIP endpoint of the test's own and through Janus; under loss; by relay only."""

import json
import pathlib
import subprocess

from support import network
from support.webrtc import LIMIT, Endpoint, Process, Viewer, WebRTCTestCase, free_port

MODULES = pathlib.Path("/usr/lib/x86_64-linux-gnu/janus")
PION = pathlib.Path(__file__).parent / "support" / "whip_pion.go"


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
        self.wait("sound", lambda: (viewer.last().get("audio") or {}).get("packetsReceived", 0) >= 50, running)
        seen = viewer.last()
        self.assertEqual(seen["size"], "640x360")
        self.assertGreater(seen["reports"], 0)
        self.assertIn("GCM", seen["srtp"])
        output = next(output for output in self.end(running)["outputs"] if output["format"] == "whip")
        self.assertGreater(output["targetBitrate"] + output["framesSent"], 60)
        self.wait("the end", lambda: viewer.last("delete"))

    def test_chromium_decodes_h264(self):
        viewer = self.ended(Viewer())
        self.end(self.publish_to(viewer, "--codec", "h264"))
        self.assertGreaterEqual(viewer.last()["bars"], 6)

    def test_lost_packets_are_sent_again(self):
        viewer = self.ended(Viewer())
        running = self.publish_to(viewer, "--bitrate", "2M", frames=1)
        self.addCleanup(network.lose, 0)
        network.lose(5)
        before = viewer.video()
        self.wait("frames", lambda: viewer.video() >= before + 240 and viewer.video("retransmittedPacketsReceived") > 20, running)
        network.lose(0)
        output = next(output for output in self.end(running)["outputs"] if output["format"] == "whip")
        self.assertGreater(output["packetsResent"], 20, output)
        self.assertGreater(output["nacks"], 0, output)

    def test_firefox_decodes_it(self):
        viewer = self.ended(Viewer("firefox-esr"))
        running = self.publish_to(viewer)
        self.wait("bars", lambda: viewer.last()["bars"] >= 6, running)
        self.end(running)


class JanusTests(WebRTCTestCase):
    LATER = True

    def janus(self):
        """A VideoRoom with the room 1234, whose pin is `secret-pin`."""
        port = free_port()
        folder = self.folder / "janus"
        folder.mkdir()
        (folder / "janus.jcfg").write_text(f"""
general: {{ configs_folder = "{folder}"; plugins_folder = "{MODULES}/plugins"; transports_folder = "{MODULES}/transports"
  events_folder = "{MODULES}/events"; loggers_folder = "{MODULES}/loggers"; debug_level = 4; session_timeout = 20 }}
media: {{ ipv6 = false; rtp_port_range = "20000-20100"; dtls_mtu = 1200 }}
nat: {{ full_trickle = false; ice_enforce_list = "{network.ADDRESS}" }}
plugins: {{ disable = "libjanus_audiobridge.so,libjanus_duktape.so,libjanus_lua.so,libjanus_nosip.so,libjanus_recordplay.so,libjanus_sip.so,libjanus_textroom.so,libjanus_videocall.so,libjanus_voicemail.so,libjanus_streaming.so,libjanus_echotest.so" }}
transports: {{ disable = "libjanus_rabbitmq.so,libjanus_mqtt.so,libjanus_nanomsg.so,libjanus_pfunix.so,libjanus_websockets.so" }}
""")
        (folder / "janus.transport.http.jcfg").write_text(
            f'general: {{ http = true; port = {port}; base_path = "/janus" }}\nadmin: {{ admin_http = false }}\n')
        (folder / "janus.plugin.videoroom.jcfg").write_text("""
room-1234: { description = "test"; secret = "room-secret"; pin = "secret-pin"; publishers = 6; bitrate = 3000000
  videocodec = "vp8,h264"; audiocodec = "opus"; transport_wide_cc_ext = true }
""")
        janus = self.ended(Process("janus", "-F", folder, "-o"))
        janus.answers(port)
        return janus, f"http://{network.ADDRESS}:{port}/janus", port

    def test_a_room_and_its_viewer(self):
        _, url, _ = self.janus()
        running = self.publish("-o", f"janus:{url}?room=1234&pin=secret-pin", "--plain-http", "--audio", "tone")
        viewer = self.ended(Viewer(query=f"?janus={url}&room=1234&pin=secret-pin"))
        self.wait("decoded frames", lambda: viewer.video() >= 60 and viewer.last()["bars"] >= 6, running)
        self.wait("sound", lambda: (viewer.last().get("audio") or {}).get("packetsReceived", 0) >= 50, running)
        last = self.end(running)
        output = next(output for output in last["outputs"] if output["format"] == "janus")
        self.assertGreater(output["framesSent"], 60)
        self.assertNotIn("secret-pin", json.dumps(last))

    def test_a_wrong_pin_and_no_room(self):
        _, url, _ = self.janus()
        for query, words in [("room=1234&pin=wrong-pin", "pin"), ("room=77&pin=wrong-pin", "no room 77")]:
            run = self.run_tool("--source", "pattern", "-o", f"janus:{url}?{query}", "--plain-http", limit=LIMIT)
            self.assertNotEqual(run.code, 0, str(run))
            self.assertIn(words, run.stderr)
            self.assertNotIn("wrong-pin", run.stderr)

    def test_janus_restarts(self):
        janus, url, port = self.janus()
        running = self.publish("-o", f"janus:{url}?room=1234&pin=secret-pin", "--plain-http")
        self.wait("live", lambda: self.output(running, "janus").get("framesSent", 0) > 30, running)
        janus.close()
        self.wait("the loss", lambda: self.output(running, "janus").get("state") == "reconnecting", running)
        again = self.ended(Process(*janus.command))
        again.answers(port)
        sent = self.output(running, "janus")["framesSent"]
        self.wait("live again", lambda: self.output(running, "janus").get("state") == "live", running)
        self.wait("frames again", lambda: self.output(running, "janus")["framesSent"] > sent + 30, running)
        self.end(running)


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
        # Debian's packages lie in a GOPATH, where the major version of an import is understood beside a go.mod only.
        source = self.folder / "go" / "src" / "peer"
        source.mkdir(parents=True)
        (source / "main.go").write_bytes(PION.read_bytes())
        (source / "go.mod").write_text("module peer\n")
        program = self.folder / "pion"
        subprocess.run(
            ["go", "build", "-o", program, "."], check=True, stdin=subprocess.DEVNULL, timeout=600, cwd=source,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "GO111MODULE": "off",
                 "GOPATH": f"{self.folder / 'go'}:/usr/share/gocode"})
        port = free_port()
        pion = self.ended(Process(program, f"{network.ADDRESS}:{port}"))
        pion.answers(port)
        running = self.publish("-o", f"whip:http://{network.ADDRESS}:{port}/whip", "--plain-http")
        self.wait("frames", lambda: pion.last("stats").get("frames", 0) >= 60, running)
        # It asks for a key frame each second.
        self.assertGreater(pion.last("stats")["keys"], 1)
        output = next(output for output in self.end(running)["outputs"] if output["format"] == "whip")
        self.assertGreater(output["keyFrameRequests"], 0)
        self.wait("the end", lambda: pion.all("delete"))
