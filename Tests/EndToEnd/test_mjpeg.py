"""MJPEG over HTTP as a source: what the tool itself serves, and what others do."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

from support import media
from support.mjpeg import HastyCamera, MJPEGTestCase, free_port, wait_for_listener
from support.tool import IO, NO_INPUT, OK, PERMISSION, environment


class CapturerTests(MJPEGTestCase):
    WAITS = True
    LATER = True

    def test_round_trip(self):
        clip = self.folder / "clip.y4m"
        media.make_y4m(clip, width=160, height=120, frames=10)
        server, url = self.serve("--jpeg-quality", "95", source=("--input", clip, "--loop"))
        # A stream may begin with the picture that says that the source is being opened; a snapshot waits for the first frame.
        self.fetch(url + "snapshot")
        self.succeed("--source", "mjpeg", "--input", f"{url}stream", "--frames", "30", "-o", "a.webm", "-o", "a.y4m")
        self.assertEqual(media.probe(self.folder / "a.webm")["errors"], "")
        self.assertEqual(len(media.times(self.folder / "a.webm")), 30)
        # JPEG's numbers are of full range, the clip's are not; both show the same.
        own = self.decode_gray(clip, "10")
        ours = self.decode_gray(self.folder / "a.y4m", "30")
        size = 160 * 120
        pictures = [own[index:index + size] for index in range(0, len(own), size)]
        for start in range(0, len(ours), size):
            shown = ours[start:start + size]
            least = min(sum(abs(a - b) for a, b in zip(shown, picture)) / size for picture in pictures)
            self.assertLess(least, 3, "mean difference of luma from the nearest picture of the clip")
        self.end(server)

    def decode_gray(self, file, frames):
        return self.run_program("ffmpeg", "-v", "error", "-i", str(file), "-frames:v", frames, "-vf",
                                "scale=out_range=full,format=gray", "-f", "rawvideo", "-")

    def test_passes_a_cameras_pictures_on_untouched(self):
        """Server → tool as a client and a server → viewer: the JPEG is the same byte for byte."""
        clip = self.folder / "clip.y4m"
        media.make_y4m(clip, width=160, height=120, frames=1)
        camera, camera_url = self.serve(source=("--input", clip, "--loop"))
        relay, relay_url = self.serve(source=("--input", f"{camera_url}stream"))
        self.assertEqual(self.fetch(camera_url + "snapshot"), self.fetch(relay_url + "snapshot"))
        self.end(relay)
        self.end(camera)

    def test_reads_ffmpeg(self):
        port = free_port()
        peer = subprocess.Popen(
            ["ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25", "-f", "mpjpeg",
             "-listen", "1", f"http://127.0.0.1:{port}/x"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for_listener(port)
            self.succeed("--input", f"http://127.0.0.1:{port}/x", "--frames", "25", "-o", "a.webm")
        finally:
            peer.kill()
            peer.wait()
        probe = media.probe(self.folder / "a.webm")
        self.assertEqual(probe["errors"], "")

    def test_reads_motion_that_reads_it(self):
        camera, url = self.serve(source=("--source", "noise", "--preset", "320x240", "--fps", "15"))
        port = free_port()
        (self.folder / "motion.conf").write_text(f"""
            daemon off
            setup_mode off
            target_dir {self.folder}
            netcam_url {url}stream
            width 320
            height 240
            framerate 15
            stream_port {port}
            stream_localhost on
            stream_maxrate 15
            webcontrol_port 0
            picture_output off
            movie_output off
            threshold 76000
            """.replace("            ", ""))
        peer = subprocess.Popen(["motion", "-n", "-c", "motion.conf"], cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.wait_for_stream(f"http://127.0.0.1:{port}/")
            self.succeed("--input", f"http://127.0.0.1:{port}/", "--frames", "20", "-o", "a.webm")
        finally:
            peer.terminate()
            try:
                peer.wait(10)
            except subprocess.TimeoutExpired:
                peer.kill()
                peer.wait()
        self.assertEqual(media.probe(self.folder / "a.webm")["errors"], "")
        self.end(camera)

    def test_reads_vlc(self):
        self.run_program("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=15", "-t", "5", "-pix_fmt",
                         "yuvj420p", "-c:v", "mjpeg", "clip.avi")
        port = free_port()
        # Its server names no boundary by itself.
        output = ("#std{access=http{mime=multipart/x-mixed-replace;boundary=7b3cc56e5f51db803f790dad720ed50a},mux=mpjpeg,"
                  f"dst=127.0.0.1:{port}/v}}")
        command = ["cvlc", "-I", "dummy", "--loop", "--no-audio", "clip.avi", "--sout", output]
        if os.geteuid() == 0:
            # It refuses to be run by root.
            os.chmod(self.folder, 0o755)
            command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
        peer = subprocess.Popen(command, cwd=self.folder, env={**os.environ, "HOME": "/nonexistent"},
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.wait_for_stream(f"http://127.0.0.1:{port}/v")
            self.succeed("--input", f"http://127.0.0.1:{port}/v", "--frames", "20", "-o", "a.webm")
        finally:
            peer.kill()
            peer.wait()
        self.assertEqual(media.probe(self.folder / "a.webm")["errors"], "")

    def test_an_hour_of_pictures_with_reconnects(self):
        """108,000 pictures as fast as they come, and the connection lost after each 3,600. The newest win; all count."""
        self.run_program("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x48", "-frames:v", "1", "-pix_fmt",
                         "yuvj420p", "one.jpg")
        camera = HastyCamera((self.folder / "one.jpg").read_bytes(), frames=3600)
        self.addCleanup(camera.close)
        run = self.start("--input", camera.url, "-o", "null", "--stats", "json")
        memory, descriptors, came = [], [], 0
        deadline = time.monotonic() + 120
        while came < 108_000:
            self.assertLess(time.monotonic(), deadline, f"{came} pictures, {camera.connections} connections")
            time.sleep(0.5)
            told = [json.loads(line) for line in run.peek().splitlines() if line.startswith("{")]
            came = max((event["capture"]["frames"] + event["capture"]["dropped"]["total"]
                        for event in told if "capture" in event), default=0)
            process = pathlib.Path(f"/proc/{run.process.pid}")
            memory.append(int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
            descriptors.append(len(list((process / "fd").iterdir())))
        run.send(signal.SIGINT)
        run.finish()
        self.assertGreaterEqual(camera.connections, 30)
        settled = len(memory) // 3
        self.assertLess(max(memory[settled:]) - memory[settled], 8 << 20, f"resident memory: {memory}")
        self.assertLessEqual(max(descriptors[settled:]), max(descriptors[:settled]) + 2, f"descriptors: {descriptors}")

    def test_goes_on_after_a_loss(self):
        server, url = self.serve()
        port = re.search(r":(\d+)/", url)[1]
        reader = self.start("--input", f"{url}stream", "-o", "a.webm")
        reader.wait_for_file(self.folder / "a.webm", 30_000)
        self.end(server)
        size = (self.folder / "a.webm").stat().st_size
        again = self.start("--source", "noise", "--preset", "160x120", "--serve", f"127.0.0.1:{port}")
        reader.wait_for_file(self.folder / "a.webm", size + 60_000)
        reader.send(signal.SIGINT)
        run = reader.finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertEqual(media.probe(self.folder / "a.webm")["errors"], "")
        self.end(again)

    def test_one_line_for_an_outage(self):
        server, url = self.serve()
        port = re.search(r":(\d+)/", url)[1]
        reader = self.start("--input", f"{url}stream", "-o", "a.webm")
        reader.wait_for_file(self.folder / "a.webm", 20_000)
        self.end(server)
        deadline = time.monotonic() + 60
        # The status, every five seconds: several attempts have failed by then.
        while reader.peek().count("waiting (not connected)") < 2:
            self.assertLess(time.monotonic(), deadline, reader.peek())
            time.sleep(0.1)
        again = self.start("--source", "noise", "--preset", "160x120", "--serve", f"127.0.0.1:{port}")
        while "The stream is back" not in reader.peek():
            self.assertLess(time.monotonic(), deadline, reader.peek())
            time.sleep(0.1)
        reader.send(signal.SIGINT)
        run = reader.finish()
        self.assertEqual(run.code, OK, str(run))
        said = [line for line in run.stderr.splitlines() if "stream" in line or "ttempt" in line]
        self.assertEqual(len([line for line in said if "interrupted" in line]), 1, run)
        self.assertEqual(len([line for line in said if "is back" in line]), 1, run)
        self.assertEqual([line for line in said if line.startswith(("Trying", "Attempt"))], [], run)
        self.end(again)

    def test_a_playlist_goes_on_while_the_camera_is_away(self):
        """Its target duration may not change (RFC 8216, 6.2.1), and no segment is longer."""
        server, url = self.serve()
        reader = self.start("--input", f"{url}stream", "-o", "a.m3u8")
        playlist = self.folder / "a.m3u8"
        targets = set()

        def wait_for_segments(count):
            deadline = time.monotonic() + 60
            while True:
                text = playlist.read_text() if playlist.exists() else ""
                targets.update(re.findall(r"TARGETDURATION:(\d+)", text))
                if text.count("#EXTINF") >= count:
                    return
                self.assertLess(time.monotonic(), deadline, reader.peek())
                time.sleep(0.1)

        wait_for_segments(1)
        self.end(server)
        wait_for_segments(3)
        reader.send(signal.SIGINT)
        # The camera is still away.
        self.assertEqual(reader.finish().code, IO)
        self.assertIn("ENDLIST", playlist.read_text())
        self.assertEqual(len(targets), 1)
        lengths = [float(length) for length in re.findall(r"EXTINF:([\d.]+)", playlist.read_text())]
        self.assertLessEqual(round(max(lengths)), int(targets.pop()), lengths)
        self.assertEqual(media.probe(playlist)["errors"], "")

    def test_logs_in_without_a_password_in_the_address(self):
        server, url = self.serve("--serve-login", "ann:secret")
        secret = self.folder / "login"
        secret.write_text("ann:secret\n")
        secret.chmod(0o600)
        camera = ("--input", f"{url}stream", "--frames", "3", "-o", "null")
        self.succeed(*camera, "--login", f"@{secret}")
        self.succeed(*camera, "--login", "ann:secret")
        self.succeed(*camera, env=environment(CAPTURER_LOGIN=f"@{secret}"))
        host = url.removeprefix("http://")
        # What is typed is more than what is set for all.
        self.succeed("--input", f"http://ann:secret@{host}stream", *camera[2:], env=environment(CAPTURER_LOGIN="ann:wrong"))
        self.assertRefused(self.run_tool(*camera, "--login", "ann:wrong"), PERMISSION, "password")
        self.end(server)

    def test_shows_no_password_of_an_address(self):
        for arguments in [
                ("--input", "rtsp://bob:geheim@h/x"), ("--source", "file", "--input", "rtsp://bob:geheim@h/x"),
                ("--source", "mjpeg", "--input", "rtsp://bob:geheim@h/x"), ("--input", "rtsp://bob:ge/heim@h/x"),
                ("--input", "foo://bob:geheim@h/x"), ("ndi://bob:geheim@h/x",), ("rtsp://bob:geheim@h/x",), ("--device", "rtsp://bob:geheim@h/x"),
                ("--display", "rtsp://bob:geheim@h/x"), ("--source", "noise", "--input", "http://bob:geheim@h/"),
                ("--input", "a.y4m", "--size", "http://bob:geheim@h/"), ("--source", "http://bob:geheim@h/")]:
            for style in ["text", "json"]:
                with self.subTest(arguments=arguments, style=style):
                    run = self.run_tool(*arguments, "--stats", style, "-o", "null")
                    self.assertNotEqual(run.code, OK)
                    self.assertNotIn("heim", run.stderr + run.stdout.decode())

    def test_wrong_addresses(self):
        server, url = self.serve("--serve-login", "ann:secret")
        host = url.removeprefix("http://")
        for address, code, words in [
                (f"http://127.0.0.1:{free_port()}/", NO_INPUT, ["127.0.0.1"]),
                ("http://nowhere.invalid/stream", NO_INPUT, ["nowhere.invalid"]),
                (f"{url}stream", PERMISSION, ["user"]),
                (f"http://ann:wrong@{host}stream", PERMISSION, []),
                (f"http://ann:secret@{host}nothing", NO_INPUT, ["404"]),
                (f"http://ann:secret@{host}", NO_INPUT, ["text/html"])]:
            with self.subTest(address=address):
                run = self.run_tool("--source", "mjpeg", "--input", address, "--frames", "1", "-o", "null")
                self.assertRefused(run, code, *words)
                self.assertNotIn("secret", run.stderr)
                self.assertNotIn("wrong", run.stderr)
        self.succeed("--input", f"http://ann:secret@{host}stream", "--frames", "3", "-o", "null")
        self.end(server)
