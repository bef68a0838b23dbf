"""A camera to viewers, and uStreamer as a camera: MJPEG over the guest's loopback."""

import re
import socket
import subprocess
import time

import ours


class ServingTests(ours.CameraTestCase):
    def picture_of(self, host, port, path):
        """One whole answer."""
        with socket.create_connection((host, port), timeout=10) as connection:
            connection.sendall(f"GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
            answer = b""
            while block := connection.recv(1 << 16):
                answer += block
        head, _, body = answer.partition(b"\r\n\r\n")
        self.assertIn(b" 200 ", head.splitlines()[0])
        return body

    def test_reads_ustreamer(self):
        node = self.fresh_camera().node()
        peer = subprocess.Popen(
            ["ustreamer", f"--device={node}", "--resolution=640x360", "--desired-fps=15", "--format=YUYV",
             "--host=127.0.0.1", "--port=8080"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 20
            while True:
                try:
                    self.picture_of("127.0.0.1", 8080, "/snapshot")
                    break
                except OSError:
                    self.assertLess(time.monotonic(), deadline, "uStreamer does not serve")
                    time.sleep(0.1)
            for path in ("stream", "?action=stream", "stream?extra_headers=1", "stream?zero_data=0&dual_final_frames=1"):
                with self.subTest(path=path):
                    running = ours.Running(
                        "--input", f"http://127.0.0.1:8080/{path}", "--frames", 10, "-o", "a.ivf", "--force", "--stats",
                        "json", folder=self.folder)
                    self.addCleanup(running.end)
                    self.assertEqual(running.finish(30), ours.OK, running.text())
                    self.assertEqual(ours.decoded_frames(self.folder / "a.ivf"), 10)
        finally:
            peer.kill()
            peer.wait()

    def address_of(self, running):
        """The address of the server, which is the only output."""
        def urls():
            return [event["outputs"][0]["url"] for event in running.events() if event.get("outputs")]
        running.wait_for(urls, "the address")
        return urls()[0]

    def test_passes_a_webcams_pictures_on(self):
        webcam = self.plugged_webcam()
        running = self.start(
            "--device", webcam.node(), "--capture-format", "MJPG", "--serve", "127.0.0.1:0")
        url = self.address_of(running)
        port = int(re.search(r":(\d+)/", url)[1])
        body = self.picture_of("127.0.0.1", port, "/snapshot")
        self.assertEqual((body[:2], body[-2:]), (b"\xff\xd8", b"\xff\xd9"))
        with socket.create_connection(("127.0.0.1", port), timeout=10) as viewer:
            viewer.sendall(b"GET /stream HTTP/1.0\r\n\r\n")
            received = b""
            while received.count(b"Content-Length:") < 20:
                received += viewer.recv(1 << 16)
        running.interrupt()
        self.assertEqual(running.process.returncode, ours.OK, running.text())
        serving = ours.summary(running.events())["outputs"][0]
        self.assertGreaterEqual(serving["framesPassedThrough"], 19, serving)
        # The first may come before the camera knows that JPEG is enough.
        self.assertLessEqual(serving["framesEncoded"], 1, serving)

    def test_tells_viewers_of_an_unplugged_camera(self):
        webcam = self.plugged_webcam()
        running = self.start("--device", webcam.node(), "--serve", "127.0.0.1:0")
        running.wait_for_frames(5)
        url = self.address_of(running)
        port = int(re.search(r":(\d+)/", url)[1])
        webcam("pull")
        running.wait_for(lambda: any(event.get("interrupted") for event in running.events()), "the interruption")
        state = self.picture_of("127.0.0.1", port, "/state").decode()
        self.assertRegex(state, r'"online": ?false')
        webcam("plug")
        running.wait_for_frames(10, limit=30)
        self.assertRegex(self.picture_of("127.0.0.1", port, "/state").decode(), r'"online": ?true')
        running.interrupt()
