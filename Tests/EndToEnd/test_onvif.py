"""The ONVIF device: clients of other projects find it, with a login, and ffmpeg opens the stream that it names."""

import json
import pathlib
import subprocess

from support import network
from support.stream import StreamTestCase
from support.tool import USAGE

PYTHON = "/opt/onvif/bin/python"
CLIENT = pathlib.Path(__file__).resolve().parent / "support" / "onvif_client.py"


class DeviceTests(StreamTestCase):
    LATER = True

    def test_a_recorder_finds_the_stream(self):
        network.enter()
        other = network.Other()
        self.addCleanup(other.close)
        other.command("ip", "route", "add", "239.0.0.0/8", "dev", "there")
        secret = self.folder / "secret"
        secret.write_text("bob:pa ss\n")
        server = self.start(
            "--source", "pattern", "--preset", "320x240", "--stats", "json", "--serve-login", f"@{secret}",
            "--serve-rtsp", f"{network.ADDRESS}:8554", "--onvif", "8000", "--onvif-snapshot", "http://*:8080/snapshot",
            "--serve", f"{network.ADDRESS}:8080")
        self.wait_for_status(server, lambda status: status["elapsedSeconds"] > 0)
        client = subprocess.Popen(
            [*other.prefix, PYTHON, CLIENT, "bob", "pa ss"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(client.kill)
        steps = {}
        while "refused" not in steps:
            line = client.stdout.readline()
            self.assertTrue(line, client.communicate()[1] if not line else "")
            step = json.loads(line)
            steps[step["step"]] = step
        self.assertEqual(steps["found"]["address"], f"http://{network.ADDRESS}:8000/onvif/device_service")
        self.assertRegex(steps["device"]["address"], "^([0-9a-f]{2}:){5}[0-9a-f]{2}$")
        stream = steps["stream"]
        self.assertEqual(
            (stream["uri"], stream["encoding"], stream["width"], stream["sources"], stream["snapshot"]),
            (f"rtsp://{network.ADDRESS}:8554/", "H264", 320, 1, "ffd8"))
        player = subprocess.run(
            [*other.prefix, "ffmpeg", "-v", "error", "-nostdin", "-rtsp_transport", "tcp", "-i",
             stream["uri"].replace("//", "//bob:pa%20ss@"), "-frames:v", "5", "-f", "null", "-"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(player.returncode, 0, player.stderr)
        run = self.end(server)
        self.assertNotIn("pa ss", run.stderr)
        self.assertTrue(json.loads(client.communicate(timeout=60)[0].splitlines()[-1])["came"])

    def test_wrong_options(self):
        for arguments, words in (
                (("--onvif", "x"), "onvif"), (("--onvif", "70000"), "65535"),
                (("--onvif-snapshot", "http://h/"), "--onvif PORT"),
                (("--onvif", "8000", "--onvif-snapshot", "ftp://h/"), "http://")):
            with self.subTest(arguments=arguments):
                run = self.run_tool("--source", "pattern", "--serve-rtsp", "8554", *arguments)
                self.assertEqual(run.code, USAGE, str(run))
                self.assertIn(words, run.stderr)
