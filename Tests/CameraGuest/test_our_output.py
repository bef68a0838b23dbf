"""Our frames as a camera of V4L2: by v4l2loopback, read by other programs, and at the output of vivid."""

import http.server
import os
import pathlib
import subprocess
import threading
import time
import unittest

import ours

LATER = True
KERNEL_ARGS = ("vivid.n_devs=1 vivid.node_types=0x101 v4l2loopback.devices=8 v4l2loopback.exclusive_caps=1,0 "
               "v4l2loopback.video_nr=20,21,22,23,24,25,26,27 v4l2loopback.max_buffers=4 v4l2loopback.card_label=OurCam,Plain")
SIZE = (160, 120)
# Takes the camera until 40 frames have come, and says what it has seen. How fast they come depends on the machine.
PAGE = """<video autoplay muted></video><script>
const video = document.querySelector("video"), answer = text => fetch("/", {method: "POST", body: text})
const media = navigator.mediaDevices
media.getUserMedia({video: true}).then(async first => {
  // Names are told from here on.
  first.getTracks().forEach(track => track.stop())
  const device = (await media.enumerateDevices()).find(device => device.label.startsWith("OurCam"))
  const stream = await media.getUserMedia({video: {deviceId: {exact: device.deviceId}}})
  video.srcObject = stream
  for (let frames = 0; frames < 40; frames++) await new Promise(resolve => video.requestVideoFrameCallback(resolve))
  answer([stream.getVideoTracks()[0].label, video.videoWidth, video.videoHeight].join())
}).catch(error => answer(String(error)))
</script>"""
LARGE = (1280, 720)


class OutputTests(ours.CameraTestCase):
    def film(self, count=90, rate=30, size=SIZE):
        """Each picture has a luma of its own."""
        file = self.folder / "film.y4m"
        luma = size[0] * size[1]
        with open(file, "wb") as out:
            out.write(f"YUV4MPEG2 W{size[0]} H{size[1]} F{rate}:1 Ip A1:1 C420jpeg\n".encode())
            for number in range(count):
                out.write(b"FRAME\n" + bytes([16 + 2 * number]) * luma + bytes([90]) * (luma // 4) + bytes([170]) * (luma // 4))
        return file

    def show(self, device, *arguments, source=None):
        source = source or ("--input", self.film())
        running = ours.Running(*source, "-o", device, "--stats", "json", *arguments, folder=self.folder)
        self.addCleanup(running.end)
        return running

    def shown(self, running):
        return [event["outputs"][0].get("framesShown", 0) for event in running.events() if event.get("outputs")]

    def shows(self, running, count):
        """Waits until so many frames were shown, and ends the run."""
        running.wait_for(lambda: max(self.shown(running), default=0) >= count, f"{count} frames", limit=60)
        running.interrupt()
        self.assertEqual(running.process.returncode, ours.OK, running.text())

    def read(self, device, count, buffers=4, size=SIZE):
        """Frames as a program gets them, by their luma; each must be whole, and none comes late."""
        raw = self.folder / "read.raw"
        subprocess.run(
            ["v4l2-ctl", "-d", device, f"--stream-mmap={buffers}", f"--stream-count={count}", f"--stream-to={raw}"],
            check=True, capture_output=True, timeout=60)
        data = raw.read_bytes()
        pixels, step = size[0] * size[1], len(data) // count
        self.assertGreaterEqual(step, pixels * 3 // 2)
        found = []
        for start in range(0, count * step, step):
            luma, chroma = data[start:start + pixels], data[start + pixels:start + pixels * 3 // 2]
            self.assertEqual(len(set(luma)), 1, "a picture is whole")
            self.assertEqual((set(chroma[::2]), set(chroma[1::2])), ({90}, {170}), "NV12")
            found.append((luma[0] - 16) // 2)
        # A reader may see a picture twice, and a busy machine leaves some out.
        self.assertTrue(all((after - before) % 90 < 45 for before, after in zip(found, found[1:])), found)
        return found

    def test_others_read_it(self):
        # A picture stays for four intervals, and a busy machine may stop the reader for longer than some of 33 ms.
        running = self.show("v4l2:/dev/video20", "--loop", source=("--input", self.film(rate=8)))
        running.wait_for(lambda: sum(self.shown(running)) > 0, "frames")
        numbers = self.read("/dev/video20", 30)
        self.assertGreater(len(set(numbers)), 5, numbers)
        listed = subprocess.run(["v4l2-ctl", "-d", "/dev/video20", "-D"], capture_output=True, text=True).stdout
        self.assertIn("OurCam", listed)
        # A second run of ours, and another program.
        # Not of the film, which the first one reads again and again.
        second = self.show("v4l2:/dev/video20", source=("--source", "noise"))
        self.assertEqual(second.finish(), ours.BUSY, f"{second.text()}\nThe first one: {running.text()}")
        self.assertIn("Another program shows frames at it", second.text())
        running.interrupt()
        self.assertEqual(running.process.returncode, ours.OK, running.text())
        # The next run finds it by itself, and shows another size.
        again = self.show("v4l2", source=("--source", "noise", "--size", "320x240", "--fps", "30"))
        self.shows(again, 20)
        output = ours.summary(again.events())["outputs"][0]
        self.assertEqual((output["width"], output["height"]), (320, 240))

    def test_readers_with_fewer_buffers(self):
        """The driver lets them take buffers away from all, whichever we fill next: no old picture is shown for a new one."""
        source = "--input", self.film(count=60, rate=8, size=LARGE)
        for number in range(22, 28):
            with self.subTest(device=number):
                device = f"/dev/video{number}"
                running = self.show(device.replace("/dev", "v4l2:/dev"), source=source)
                running.wait_for(lambda: sum(self.shown(running)) > 0, "frames")
                time.sleep(number % 4 / 8)
                self.read(device, 6, buffers=2, size=LARGE)
                running.interrupt()
                self.assertEqual(running.process.returncode, ours.OK, running.text())

    def test_a_browser_takes_it(self):
        answers = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(PAGE.encode())

            def do_POST(self):
                answers.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            running = self.show("v4l2:/dev/video20", source=("--source", "pattern", "--size", "320x240", "--fps", "30"))
            running.wait_for(lambda: sum(self.shown(running)) > 0, "frames")
            browser = subprocess.Popen(
                ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--use-fake-ui-for-media-stream",
                 f"--user-data-dir={self.folder}/profile", f"http://127.0.0.1:{server.server_port}/"],
                env={**os.environ, "HOME": str(self.folder)}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
            try:
                running.wait_for(lambda: answers, "the browser", limit=120)
            finally:
                browser.kill()
                browser.wait()
                server.shutdown()
        self.assertEqual(answers[0], "OurCam,320,240")

    def test_the_last_picture_stays(self):
        """A still source is shown again, since programs take a camera that is silent for broken."""
        running = self.show("v4l2:/dev/video20", source=("--source", "pattern", "--size", "160x120", "--fps", "1"))
        self.shows(running, 10)
        last = ours.summary(running.events())
        self.assertGreater(last["outputs"][0]["framesShown"], 2 * last["capture"]["frames"])

    def test_what_it_says_of_devices(self):
        plain = self.show("v4l2:/dev/video21", "--duration", "1")
        self.assertEqual(plain.finish(), ours.OK, plain.text())
        self.assertTrue(any("exclusive_caps=1" in message for message in plain.messages()), plain.text())
        ours_doctor = subprocess.run([os.environ["CAPTURER_DEMO"], "doctor"], capture_output=True, text=True).stdout
        self.assertRegex(ours_doctor, r"ok +v4l2loopback +OurCam \(/dev/video20\)")
        camera = self.camera.node()
        for device, code, words in [
            ("/dev/video77", ours.NO_INPUT, "There is no such device"), (camera, ours.NO_INPUT, "shows no frames"),
            ("/dev/null", ours.NO_INPUT, "not a device of V4L2"),
        ]:
            with self.subTest(device=device):
                run = self.show(f"v4l2:{device}")
                self.assertEqual(run.finish(), code, run.text())
                self.assertIn(words, run.text())

    def test_another_program_writes(self):
        # FFmpeg would leave a device with exclusive_caps=1 that no program can write to.
        writer = subprocess.Popen(
            ["ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=s=640x480:r=30", "-pix_fmt", "yuyv422", "-f", "v4l2",
             "/dev/video21"], stdin=subprocess.DEVNULL)
        try:
            time.sleep(2)
            run = self.show("v4l2:/dev/video21")
            self.assertEqual(run.finish(), ours.BUSY, run.text())
            self.assertIsNone(writer.poll(), "the other one goes on")
        finally:
            writer.kill()
            writer.wait()

    def test_an_output_of_a_card(self):
        """Its size and rate are fixed."""
        [node] = [f"/dev/{entry.name}" for entry in pathlib.Path("/sys/class/video4linux").glob("video*")
                  if (entry / "name").read_text().strip() == "vivid-000-vid-out"]
        self.shows(self.show(f"v4l2:{node}", source=("--source", "pattern", "--size", "320x240", "--fps", "25")), 20)


if __name__ == "__main__":
    unittest.main()
