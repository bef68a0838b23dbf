"""PipeWire between the tool and other programs: their nodes as a source, our camera before their readers."""

import json
import os
import signal
import subprocess
import time

from support.tool import NO_INPUT, OK, UNAVAILABLE, ToolTestCase

START = """
run() { setpriv --pdeathsig KILL "$@" >>"$HOME/log" 2>&1 & }
run dbus-daemon --session --nofork --nopidfile --address="unix:path=$XDG_RUNTIME_DIR/bus"
until [ -S "$XDG_RUNTIME_DIR/bus" ]; do sleep 0.02; done
run pipewire
server=$!
until [ -S "$XDG_RUNTIME_DIR/pipewire-0" ]; do sleep 0.02; done
run wireplumber
echo ready $server
wait
"""


class PipeWireTests(ToolTestCase):
    WAITS = True

    def setUp(self):
        super().setUp()
        self.environment = {
            **{name: value for name, value in os.environ.items()
               if name not in {"DISPLAY", "WAYLAND_DISPLAY", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}},
            "HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder), "SWIFT_BACKTRACE": "enable=no",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.folder}/bus"}
        self.server = self.run_peer(["bash", "-c", START], stdout=subprocess.PIPE)
        words = self.server.stdout.readline().split()
        self.assertEqual(words[:1], [b"ready"], "pipewire, wireplumber or dbus-daemon is missing")
        self.pipewire = int(words[1])

    def run_peer(self, command, **options):
        peer = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command], env=self.environment, stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, **options)

        def end():
            peer.kill()
            peer.wait()
            if peer.stdout:
                peer.stdout.close()

        self.addCleanup(end)
        return peer

    def start(self, *arguments, **options):
        return super().start(*arguments, env=self.environment, **options)

    def nodes(self):
        return subprocess.run(
            ["pw-cli", "ls", "Node"], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60).stdout

    def wait_for(self, condition, what):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.05)

    def assertBars(self, luma, what, count=7):
        """A row of the bars of 75 %: white, yellow, cyan, green, magenta, red, blue, black."""
        found = [luma[len(luma) * (2 * bar + 1) // (2 * count)] for bar in range(count)]
        for have, wanted in zip(found, (180, 162, 131, 112, 84, 65, 35, 16)):
            self.assertAlmostEqual(have, wanted, delta=3, msg=f"{what}: {found}")

    def test_nodes_of_gstreamer(self):
        """The same picture in each format and several sizes."""
        for form, width in (("BGRx", 320), ("NV12", 322), ("YUY2", 160), ("RGB", 240)):
            with self.subTest(form):
                source = self.run_peer([
                    "gst-launch-1.0", "-q", "videotestsrc", "is-live=true", "pattern=smpte75", "!",
                    f"video/x-raw,format={form},width={width},height=240,framerate=30/1", "!", "pipewiresink",
                    "mode=provide", f"stream-properties=p,media.class=Video/Source,node.name=gst-{form}"])
                self.wait_for(lambda: f"gst-{form}" in self.nodes(), "there is no node of GStreamer's")
                run = self.succeed(
                    "--source", "pipewire-node", "--node", f"gst-{form}", "--pixel-format", "i420", "--frames", 10, "-o",
                    "out.yuv", "--force")
                self.assertIn(f"{width}x240", run.stderr)
                data, size = (self.folder / "out.yuv").read_bytes(), width * 240 * 3 // 2
                # A file of raw pictures has a constant rate: a busy machine's are repeated.
                self.assertTrue(data and len(data) % size == 0, len(data))
                for start in range(0, len(data), size):
                    self.assertBars(data[start + 20 * width:start + 21 * width], form)
                source.kill()

    def test_a_camera_is_listed_once(self):
        """A node of a V4L2 device is listed where this user cannot open the device."""
        for name, device in (("shared", "/dev/video-of-another-user"), ("ours", "/dev/null")):
            self.run_peer([
                "gst-launch-1.0", "-q", "videotestsrc", "is-live=true", "!", "video/x-raw,format=NV12,width=64,height=48", "!",
                "pipewiresink", "mode=provide",
                f"stream-properties=p,media.class=Video/Source,node.name={name},object.path=v4l2:{device}"])
            self.wait_for(lambda: name in self.nodes(), "there is no node of GStreamer's")
        listed = json.loads(self.succeed("list", "--json").stdout)
        self.assertEqual([node["name"] for node in listed["nodes"]], ["shared"])
        # It can be captured by its name still.
        self.succeed("--source", "pipewire-node", "--node", "ours", "--frames", 3, "-o", "null")

    def test_our_camera_before_gstreamer_and_ourselves(self):
        camera = self.start(
            "--source", "pattern", "--pattern", "bars", "--size", "320x240", "--fps", 30, "-o", "pipewire:Test camera",
            "--stats", "json")
        self.wait_for(lambda: "Test camera" in self.nodes(), "there is no camera")
        # A reader that leaves takes buffers with it; the others must not notice.
        for _ in range(10):
            self.succeed("--source", "pipewire-node", "--node", "test-camera", "--frames", 3, "-o", "null")
        reader = self.run_peer([
            "gst-launch-1.0", "-q", "pipewiresrc", "target-object=test-camera", "num-buffers=30", "!",
            "video/x-raw,format=NV12", "!", "filesink", "location=out.nv12"], cwd=self.folder)
        self.succeed("--source", "pipewire-node", "--node", "test-camera", "--frames", 30, "-o", "null")
        self.assertEqual(reader.wait(timeout=60), 0)
        data, size = (self.folder / "out.nv12").read_bytes(), 320 * 240 * 3 // 2
        self.assertEqual(len(data), 30 * size)
        for start in range(0, len(data), size):
            self.assertBars(data[start + 20 * 320:start + 21 * 320], "GStreamer", 8)
        listed = json.loads(self.succeed("list", "--json").stdout)
        self.assertIn("Test camera", [node["title"] for node in listed["nodes"]])
        camera.send(signal.SIGINT)
        run = camera.finish()
        self.assertEqual(run.code, OK, str(run))
        output = json.loads(run.stderr.splitlines()[-1])["outputs"][0]
        self.assertGreaterEqual(output["framesSent"], 60, output)
        self.assertEqual(output["connectionsLost"], 0, output)
        self.wait_for(lambda: "Test camera" not in self.nodes(), "the camera does not go")

    def test_refusals(self):
        run = self.run_tool("--source", "pipewire-node", "--node", "nobody", "-o", "null")
        self.assertRefused(run, NO_INPUT, "nobody", "no such source")
        # A server that hangs accepts connections; one that ends may have done so for the last one.
        for end, advice in [(self.hang_server, "--user restart"), (self.end_server, "--user start")]:
            end()
            self.assertRefused(self.run_tool("--source", "pipewire-node", "-o", "null"), UNAVAILABLE, advice)
            run = self.run_tool("--source", "noise", "--frames", 3, "-o", "pipewire:Test camera")
            self.assertRefused(run, UNAVAILABLE, advice)

    def hang_server(self):
        os.kill(self.pipewire, signal.SIGSTOP)

    def end_server(self):
        self.server.kill()
        self.server.wait()
