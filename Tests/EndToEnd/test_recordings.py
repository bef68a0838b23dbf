"""What was recorded, at /recordings of the server: the list, clips over the borders of files, and the page in Chromium."""

import http.client
import json
import os
import signal
import subprocess
import time
import unittest
import urllib.parse

from support.devtools import DevTools
from support.tool import OK, ToolTestCase

SOURCE = ["--source", "pattern", "--size", "160x120", "--fps", "10", "--keyframe-interval", "1", "--audio", "tone", "--tone-sound", "noise"]
POLICY = ("default-src 'none'; img-src 'self' data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
          "connect-src 'self'; media-src 'self'")


class RecordingsTestCase(ToolTestCase):
    WAITS = True

    def serve(self, *options):
        stats = self.folder / f"stats-{time.monotonic_ns()}.json"
        running = self.start(*SOURCE, "--serve", "127.0.0.1:0", "--stats-file", stats.name, *options)
        deadline = time.monotonic() + 60
        self.url = None
        while not self.url:
            self.assertIsNone(running.process.poll(), running.peek())
            self.assertLess(time.monotonic(), deadline, running.peek())
            time.sleep(0.05)
            lines = stats.read_text().splitlines() if stats.exists() else []
            outputs = [output for line in lines if line.endswith("}") for output in json.loads(line).get("outputs", [])]
            self.url = next((output["url"] for output in outputs if output.get("url")), None)
        return running

    def ask(self, path, login=None, method="GET"):
        """The status, the headers and the body of an answer, however it ends."""
        address = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        self.addCleanup(connection.close)
        connection.request(method, path, headers={"Authorization": login} if login else {})
        response = connection.getresponse()
        return response.status, response.headers, response.read()

    def list(self):
        status, _, body = self.ask("/recordings/list")
        self.assertEqual(status, 200, body)
        return json.loads(body)["recordings"]

    def wait_for(self, running, condition):
        """The recordings, once they meet a condition."""
        deadline = time.monotonic() + 90
        while not condition(found := self.list()):
            self.assertIsNone(running.process.poll(), running.peek())
            self.assertLess(time.monotonic(), deadline, found)
            time.sleep(0.1)
        return found

    def packets(self, file):
        """The checksum of each packet of the pictures, in order; nothing of the file is damaged."""
        done = subprocess.run(
            ["ffprobe", "-v", "error", "-select_streams", "v", "-show_packets", "-show_data_hash", "md5", "-of", "json", str(file)],
            capture_output=True, text=True, check=True)
        return [packet["data_hash"] for packet in json.loads(done.stdout)["packets"]]

    def save(self, path):
        """The headers of a clip, and its packets; a decoder has nothing to complain of."""
        status, headers, body = self.ask(path)
        self.assertEqual(status, 200, body[:300])
        file = self.folder / f"saved-{time.monotonic_ns()}"
        file.write_bytes(body)
        decoded = subprocess.run(
            ["ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames", str(file)], capture_output=True,
            text=True)
        self.assertEqual((decoded.returncode, decoded.stderr), (0, ""))
        return headers, self.packets(file)

    def assertPartOf(self, clip, files):
        """The packets of a clip are some of those of the files, each once and none left out."""
        whole = [packet for file in files for packet in self.packets(file)]
        first = whole.index(clip[0])
        self.assertEqual(clip, whole[first:first + len(clip)])


class RecordingsTests(RecordingsTestCase):
    def test_clips_of_files_that_follow_each_other(self):
        """Over the borders of files, while the last of them is written; after a kill, a restart, and the loss of the index."""
        running = self.serve("--split", "1", "-o", "cam-%03d.webm")
        found = self.wait_for(running, lambda found: len(found) >= 4)
        for one, other in zip(found, found[1:]):
            self.assertAlmostEqual(one["start"] + one["duration"], other["start"], delta=1)
        self.assertEqual([one["ongoing"] for one in found], [False] * (len(found) - 1) + [True])
        start = found[0]["start"] + found[0]["duration"] - 0.5
        headers, packets = self.save(f"/recordings/clip?start={start:.3f}&duration=1.2&download=1")
        self.assertEqual(headers["Content-Type"], "video/webm")
        self.assertRegex(headers["Content-Disposition"], r'^attachment; filename="recording-\d+\.webm"$')
        # With the last key frame not later than its start.
        self.assertLessEqual(float(headers["X-Recording-Start"]), start)
        self.assertGreaterEqual(float(headers["X-Recording-Start"]), found[0]["start"] - 0.01)
        files = sorted(self.folder.glob("cam-*.webm"))
        self.assertPartOf(packets, files[:4])
        self.assertIn(self.packets(files[1])[0], packets, "it goes over the border")
        # The file that is being written, to where it is.
        self.save(f"/recordings/clip?start={found[-2]['start']:.3f}&duration=1000")
        self.assertHostile(found)
        running.process.kill()
        running.process.wait()
        before = sorted(self.folder.glob("cam-*.webm"))
        index = self.folder / ".cam-%03d.webm.index"
        self.assertTrue(index.exists())
        index.unlink()
        running = self.serve("--split", "1", "-o", "cam-%03d.webm")
        again = self.wait_for(running, lambda found: any(one["ongoing"] for one in found))
        for one, other in zip(found[:-1], again):
            self.assertAlmostEqual(one["duration"], other["duration"], delta=0.2)
        _, packets = self.save(f"/recordings/clip?start={again[0]['start'] + 0.1:.3f}&duration=3")
        self.assertPartOf(packets, before[:6])
        # Deleted meanwhile.
        for file in before:
            file.unlink()
        self.assertEqual(self.ask(f"/recordings/clip?start={again[0]['start']:.3f}&duration=0.5")[0], 404)
        running.send(signal.SIGTERM)
        self.assertEqual(running.finish().code, OK)

    def assertHostile(self, found):
        """A request names times and never a file; what makes no sense is said to be so."""
        start = found[0]["start"]
        for query, status in [
                ("", 400), ("start=1", 400), ("duration=1", 400), ("start=x&duration=1", 400), (f"start={start}&duration=-1", 400),
                (f"start={start}&duration=0", 400), (f"start={start}&duration=1e3", 400), (f"start={start}&duration=86401", 400),
                ("start=99999999999999999999&duration=1", 400), ("start=../../etc/passwd&duration=1", 400), ("start=0&duration=5", 404),
                ("start=8999999999&duration=86400", 404), ("start=%00&duration=1", 400)]:
            self.assertEqual(self.ask(f"/recordings/clip?{query}")[0], status, query)
        self.assertEqual(self.ask("/recordings/list?from=x")[0], 400)
        self.assertEqual(json.loads(self.ask("/recordings/list?from=8999999999")[2])["recordings"], [])
        for path in ["/recordings/../cam-001.webm", "/recordings/cam-001.webm", "/cam-001.webm", "/recordings/%2e%2e/cam-001.webm",
                     "/recordings/clip/x", "/recordings//list"]:
            self.assertEqual(self.ask(path)[0], 404, path)
        self.assertEqual(self.ask("/recordings/list", method="POST")[0], 405)
        status, headers, body = self.ask(f"/recordings/clip?start={start}&duration=1", method="HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertAlmostEqual(float(headers["X-Recording-Start"]), start, delta=1.1)
        # Clients that leave after the head hold no thread: there are eight.
        address = urllib.parse.urlsplit(self.url)
        for _ in range(10):
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
            connection.request("GET", f"/recordings/clip?start={start}&duration=1000")
            status = connection.getresponse().status
            connection.close()
            self.assertIn(status, (200, 503))
        deadline = time.monotonic() + 60
        while self.ask("/recordings/list")[0] == 503:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    def test_the_login_is_that_of_the_server(self):
        (self.folder / "login").write_text("user:secret")
        running = self.serve("--serve-login", "@login", "--split", "2", "-o", "cam.webm")
        for path in ("/recordings", "/recordings/list", "/recordings/clip?start=1&duration=1"):
            self.assertEqual(self.ask(path)[0], 401, path)
            self.assertIn(self.ask(path, "Basic dXNlcjpzZWNyZXQ=")[0], (200, 404), path)
        running.send(signal.SIGTERM)
        run = running.finish()
        self.assertEqual(run.code, OK)
        self.assertIn(f"The recordings are at {self.url}recordings.", run.stderr)

    def test_there_are_none_without_such_files(self):
        self.serve("-o", "whole.webm")
        self.assertEqual(self.ask("/recordings")[0], 404)
        self.assertEqual(list(self.folder.glob(".*")), [], "and no index")

    def test_the_page_plays_an_event(self):
        """A clip of a trigger, chosen in the list of events, is played to its end."""
        running = self.serve("--record-on", "signal", "--preroll", "0", "--postroll", "1", "-o", "clip-%03d.mp4")
        running.send(signal.SIGUSR1)
        self.wait_for(running, lambda found: found and not found[0]["ongoing"])
        browser = DevTools()
        self.addCleanup(browser.close)
        tab = browser.open(policy=POLICY, downloads=self.folder)
        self.addCleanup(tab.close)
        tab.viewport(1280, 800, 1, False)
        tab.go(self.url)
        tab.wait("document.querySelector('#recordings-item').hidden === false")
        tab.go(self.url + "recordings")
        tab.wait("document.querySelectorAll('#days button').length === 1")
        self.assertRegex(tab.evaluate("document.querySelector('#events button').textContent"), "signal")
        tab.wait("document.querySelector('#save').href.includes('clip?start=')")
        tab.click("#events button")
        tab.wait("document.querySelector('video').videoWidth === 160")
        tab.wait("document.querySelector('video').currentTime > 0.3")
        tab.wait("document.querySelector('#status').textContent === 'Nothing is recorded after that'")
        self.assertEqual(tab.complaints, [])
        for url in tab.requests:
            self.assertTrue(url.startswith(self.url) or urllib.parse.urlsplit(url).scheme in {"data", "blob"}, url)


class RecorderTests(ToolTestCase):
    WAITS = True

    def lines(self, name="stats.json"):
        file = self.folder / name
        text = file.read_text() if file.exists() else ""
        return [json.loads(line) for line in text.splitlines() if line.endswith("}")]

    def wait_for(self, running, condition):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertIsNone(running.process.poll(), running.peek())
            self.assertLess(time.monotonic(), deadline, running.peek())
            time.sleep(0.05)

    def test_a_hangup_begins_the_next_files(self):
        """As log tools do it: they move a file away and send SIGHUP. A run without a terminal goes on."""
        running = self.start(*SOURCE, "--split", "1h", "--stats-file", "stats.json", "-o", "cam-%03d.webm",
                             prefix=("setsid",))
        running.wait_for_file(self.folder / "cam-001.webm", size=1000)
        self.wait_for(running, self.lines)
        (self.folder / "stats.json").rename(self.folder / "stats.json.1")
        running.send(signal.SIGHUP)
        self.wait_for(running, lambda: self.lines() and (self.folder / "cam-002.webm").exists())
        running.send(signal.SIGTERM)
        self.assertEqual(running.finish().code, OK)
        self.assertEqual(self.lines()[-1]["event"], "summary")
        for name in ("cam-001.webm", "cam-002.webm"):
            subprocess.run(["ffmpeg", "-v", "error", "-xerror", "-i", str(self.folder / name), "-f", "null", "-"], check=True)

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small disk needs root")
    def test_a_full_disk_loses_only_its_time(self):
        """Files that follow each other go on when the disk takes them again; one that is unmounted gets no files at its place."""
        disk = self.folder / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)]
        mounted = subprocess.run(mount, stderr=subprocess.PIPE)
        if mounted.returncode != 0:
            self.skipTest(f"mount: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", str(disk)])
        (disk / "filler").write_bytes(bytes(512 * 1024 - 32768))
        running = self.start("--source", "noise", "--size", "64x48", "--fps", "20", "--keyframe-interval", "1", "--bitrate", "400k",
                             "--split", "1h", "--stats-file", "stats.json", "-o", "disk/cam-%03d.webm", prefix=("setsid",))
        output = lambda: next((line["outputs"][0] for line in reversed(self.lines()) if line.get("outputs")), {})
        self.wait_for(running, lambda: output().get("outages") == 1)
        (disk / "filler").unlink()
        self.wait_for(running, lambda: output().get("secondsLost", 0) > 0)
        self.assertGreaterEqual(len(list(disk.glob("cam-*.webm"))), 2)
        # The disk goes away, as a stick that is pulled: the open file goes on, the next one waits for the disk.
        subprocess.run(["umount", "--lazy", str(disk)], check=True)
        running.send(signal.SIGHUP)
        self.wait_for(running, lambda: output().get("outages") == 2)
        subprocess.run(mount, check=True)
        self.wait_for(running, lambda: list(disk.glob("cam-*.webm")))
        running.send(signal.SIGTERM)
        run = running.finish()
        self.assertEqual(run.code, OK, run)
        for words in ("not whole", "the recording goes on", "is away", "The disk failed 2 times"):
            self.assertIn(words, run.stderr)
        subprocess.run(["umount", str(disk)], check=True)
        self.assertEqual(list(disk.iterdir()), [])

    def test_each_clip_has_a_still(self):
        """Its path is in the events, and in the environment of their program."""
        program = self.folder / "notify"
        program.write_text('#!/bin/sh\necho "$1 $RECORDING_STILL" >>"${0%/*}/stills"\n')
        program.chmod(0o700)
        running = self.start(*SOURCE, "--record-on", "signal", "--event-still", "--on-event", "./notify", "--preroll", "0", "--postroll",
                             "0", "--stats-file", "stats.json", "-o", "clip.webm")
        self.wait_for(running, self.lines)
        running.send(signal.SIGUSR1)
        events = lambda: [line for line in self.lines() if line["event"] == "recording"]
        self.wait_for(running, lambda: len(events()) == 2)
        running.send(signal.SIGTERM)
        self.assertEqual(running.finish().code, OK)
        self.assertEqual([event["still"] for event in events()], ["clip-001.jpg"] * 2)
        still = self.folder / "clip-001.jpg"
        self.assertEqual((self.folder / "stills").read_text().split(), ["begin", str(still), "end", str(still)])
        size = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=codec_name,width,height", "-of", "csv=p=0", str(still)],
                              capture_output=True, text=True, check=True).stdout.strip()
        self.assertEqual(size, "mjpeg,160,120")
