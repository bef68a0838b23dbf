"""The configurations of Examples that carry many viewers: each is started by its one command, published to, and read from
the far end."""

import os
import pathlib
import signal
import subprocess
import time
import urllib.request

from support import network, webrtc
from support.icecast import free_port
from support.tool import OK, ToolTestCase

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "Examples"


class IcecastRelayTests(ToolTestCase):
    WAITS = True
    LATER = True

    def setUp(self):
        super().setUp()
        self.master, self.relay = free_port(), free_port()
        self.log = open(self.folder / "servers.log", "w+")
        self.servers = subprocess.Popen(
            [EXAMPLES / "icecast" / "run"], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env={**os.environ, "MASTER_PORT": str(self.master), "RELAY_PORT": str(self.relay), "SOURCE_PASSWORD": "hackme"})
        self.addCleanup(self.log.close)
        self.addCleanup(self.end_servers)

    def end_servers(self):
        self.servers.terminate()
        self.servers.wait(timeout=30)

    def wait(self, condition, failure, limit=60):
        deadline = time.monotonic() + limit
        while not condition():
            if self.servers.poll() is not None or time.monotonic() > deadline:
                self.fail(f"{failure}\n{(self.folder / 'servers.log').read_text()}")
            time.sleep(0.2)

    def answers(self, port, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5) as answer:
                return bool(answer.read(1))
        except OSError:
            return False

    def test_a_listener_of_the_relay(self):
        self.wait(lambda: all(self.answers(port, "status-json.xsl") for port in (self.master, self.relay)), "no servers")
        running = self.start(
            "--source", "pattern", "--preset", "160x120", "--audio", "tone", "-o",
            f"icecast://source:hackme@127.0.0.1:{self.master}/live.webm")
        self.wait(lambda: self.answers(self.relay, "live.webm"), "the relay has no such mount")
        run = subprocess.run(
            ["ffmpeg", "-v", "error", "-t", "3", "-i", f"http://127.0.0.1:{self.relay}/live.webm", "-map", "0:v", "-f",
             "framemd5", "-"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=90, check=True)
        frames = [line for line in run.stdout.splitlines() if line and not line.startswith("#")]
        self.assertGreater(len(frames), 30)
        self.assertEqual(run.stderr, "")
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))


class JanusPairTests(webrtc.WebRTCTestCase):
    LATER = True

    def test_a_viewer_of_the_edge(self):
        ports = {name: str(webrtc.free_port()) for name in ("PORT", "EDGE_PORT", "VIDEO_PORT", "RTCP_PORT", "AUDIO_PORT")}
        servers = self.ended(webrtc.Process(
            EXAMPLES / "janus" / "run", env={**os.environ, **ports, "ADDRESS": network.ADDRESS, "PIN": "secret-pin"}))
        # So that it can end its own processes and remove its folder.
        self.addCleanup(lambda: (servers.process.terminate(), servers.process.wait(timeout=30)))
        for name in ("PORT", "EDGE_PORT"):
            servers.answers(int(ports[name]))
        running = self.publish(
            "-o", f"janus:http://{network.ADDRESS}:{ports['PORT']}/janus?room=1234&pin=secret-pin", "--plain-http",
            "--audio", "tone")
        self.wait("a forwarded publisher", lambda: any("forwarded" in line for line in servers.text), running)
        edge = f"http://{network.ADDRESS}:{ports['EDGE_PORT']}/janus"
        before = self.output(running, "janus").get("keyFrameRequests", 0)
        viewer = self.ended(webrtc.Viewer(query=f"?janus={edge}&mount=1"))
        self.wait("decoded frames", lambda: viewer.video() >= 60 and viewer.last()["bars"] >= 6, running)
        self.wait("sound", lambda: (viewer.last().get("audio") or {}).get("packetsReceived", 0) >= 50, running)
        # The viewer's request for a key frame has gone all the way back.
        output = next(output for output in self.end(running)["outputs"] if output["format"] == "janus")
        self.assertGreater(output["keyFrameRequests"], before, output)
