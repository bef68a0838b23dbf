"""Packets of network streams that are passed on as they are: those that the sender has sent, over a lost connection too."""

import base64
import http.server
import json
import re
import socket
import threading
import time
import urllib.request

from support import media
from support.mjpeg import free_port, wait_for_listener
from support.stream import LISTENING, PICTURES, WAITING, StreamTestCase, free_udp_port
from support.tool import NO_INPUT, OK, PERMISSION, USAGE

SERVING = re.compile(r'"url":"rtsp://127\.0\.0\.1:(\d+)/"')
SOUND = ("-re", "-f", "lavfi", "-i", "sine=r=48000")


class LiveTestCase(StreamTestCase):
    def send_and_keep(self, name, url, options=""):
        """ffmpeg, which sends pictures and sound in MPEG-TS, and writes the same to NAME.sent.ts."""
        outputs = f"[f=mpegts{options}]{url}|[f=mpegts:flush_packets=1]{name}.sent.ts"
        return self.begin(
            "ffmpeg", "-v", "error", *PICTURES[:5], *SOUND, *PICTURES[5:], "-c:a", "aac", "-map", "0:v", "-map", "1:a",
            "-flags", "+global_header", "-bsf:v", "dump_extra", "-f", "tee", outputs)

    def copy(self, url, output, *options):
        return self.start("--input", url, "--codec", "copy", "-o", output, "--stats", "json", *options)

    def digests(self, name, kind):
        """Those of the packets of the video (`v`) or the sound (`a`), without what is the container's to place."""
        # All in one container, which places them in one way.
        same = self.folder / f"{name}.same.mkv"
        media.command("ffmpeg", "-v", "error", "-y", "-i", self.folder / name, "-c", "copy", same)
        filters = ["-bsf:v", "h264_mp4toannexb,filter_units=remove_types=6-9"] if kind == "v" else []
        made = media.command(
            "ffmpeg", "-v", "error", "-i", same, "-map", f"0:{kind}:0", "-c", "copy", *filters, "-f", "framemd5", "-")
        lines = [line.split(",") for line in made.stdout.decode().splitlines() if line and line[0] != "#"]
        return [line[5].strip() for line in lines]

    def assertInOrder(self, ours, theirs):
        """Whether packets are those that were sent from some point on. The last ones of a sender that is killed may be in one
        of the places only."""
        def continues(start):
            length = min(len(ours), len(theirs) - start)
            return length > 15 and ours[:length] == theirs[start:start + length]

        # Sound may repeat itself.
        starts = [place for place, packet in enumerate(theirs) if packet == ours[0]]
        self.assertTrue(any(continues(start) for start in starts), f"{len(ours)}, {len(theirs)}, {starts}")

    def assertPlays(self, output):
        """Whether a file decodes without a complaint, and its times increase. Returns the times of its pictures."""
        count, complaints = media.decode(self.folder / output)
        self.assertEqual(complaints, "", output)
        packets = [packet for packet in media.probe(self.folder / output)["packets"] if packet["codec_type"] == "video"]
        times = [float(packet["pts_time"]) for packet in packets]
        self.assertEqual(times, sorted(set(times)), output)
        self.assertEqual(packets[0]["flags"][0], "K")
        return times


class LiveCopyTests(LiveTestCase):
    WAITS = True

    def test_equals_what_was_sent(self):
        udp, srt, http, rtmp = free_udp_port(), free_udp_port(), free_port(), free_port()
        self.begin_nginx(rtmp)
        self.begin(
            "ffmpeg", "-v", "error", *PICTURES[:5], *SOUND, *PICTURES[5:], "-c:a", "aac", "-f", "flv",
            f"rtmp://127.0.0.1:{rtmp}/live/key")
        self.send_and_keep("udp", f"udp://127.0.0.1:{udp}?pkt_size=1316")
        self.send_and_keep("srt", f"srt://127.0.0.1:{srt}?mode=listener")
        self.send_and_keep("http", f"http://127.0.0.1:{http}", ":listen=1")
        wait_for_listener(srt, "udp")
        wait_for_listener(http)
        self.wait_for_packets(self.folder / "key.flv", 5)
        running = [
            (self.copy(url, output), output, sent) for url, output, sent in [
                (f"udp://127.0.0.1:{udp}", "udp.mkv", "udp.sent.ts"), (f"srt://127.0.0.1:{srt}", "srt.mp4", "srt.sent.ts"),
                (f"http://127.0.0.1:{http}/live.ts", "http.copy.ts", "http.sent.ts"),
                (f"rtmp://127.0.0.1:{rtmp}/live/key", "rtmp.ts", "key.flv")]]
        for run, _, _ in running:
            self.wait_for_status(run, lambda status: status["capture"]["frames"] >= 45)
        for run, output, sent in running:
            with self.subTest(output=output):
                last = json.loads(self.end(run).stderr.splitlines()[-1])
                self.assertEqual(last["outputs"][0]["passedOn"]["tracks"], ["h264", "aac"])
                self.assertEqual(last["encoders"], [])
                ours = [self.digests(output, kind) for kind in "va"]
                theirs = [self.digests(sent, kind) for kind in "va"]
                for own, their in zip(ours, theirs, strict=True):
                    self.assertInOrder(own, their)
                self.assertPlays(output)

    def test_a_key_frame_that_is_late(self):
        """Who comes in mid-stream waits for it, and has the sound then, too."""
        film = self.folder / "film.ts"
        media.command(
            "ffmpeg", "-v", "error", *PICTURES[1:5], *SOUND[1:], "-t", "24", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset",
            "ultrafast", "-g", "100000", "-force_key_frames", "22", "-c:a", "libopus", film)
        keys = [int(packet["pos"]) for packet in media.probe(film)["packets"] if packet["codec_type"] == "video"
                and "K" in packet["flags"]]
        begin = keys[0] + 188 * 500
        with socket.create_server(("127.0.0.1", 0)) as server:
            running = self.start(
                "--input", f"tcp://127.0.0.1:{server.getsockname()[1]}", "--codec", "copy", "-o", "a.mkv", "--duration", "1",
                "--stats", "json")
            server.settimeout(60)
            connection, _ = server.accept()
            with connection, open(film, "rb") as data:
                data.seek(begin)
                connection.sendall(data.read(keys[1] - begin))
                time.sleep(6)  # longer than sound is waited for
                connection.sendall(data.read())
                run = running.finish(60)
        self.assertEqual(run.code, OK, str(run))
        self.assertEqual(json.loads(run.stderr.splitlines()[-1])["outputs"][0]["passedOn"]["tracks"], ["h264", "opus"])

    def test_on_to_a_server(self):
        """A camera's packets, with B-frames beside sound, go to RTMP as they come, without being asked to."""
        udp, rtmp = free_udp_port(), free_port()
        self.begin_nginx(rtmp)
        run = self.start("--input", f"udp://127.0.0.1:{udp}", "-o", f"rtmp://127.0.0.1:{rtmp}/live/on", "--stats", "json")
        self.begin(
            "ffmpeg", "-v", "error", *PICTURES[:5], *SOUND, "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-bf",
            "3", "-g", "15", "-c:a", "aac", "-f", "mpegts", f"udp://127.0.0.1:{udp}?pkt_size=1316")
        self.wait_for_packets(self.folder / "on.flv", 60)
        last = json.loads(self.end(run).stderr.splitlines()[-1])
        self.assertEqual(last["outputs"][0]["passedOn"]["tracks"], ["h264", "aac"])
        self.assertEqual(last["encoders"], [])
        count, complaints = media.decode(self.folder / "on.flv")
        self.assertEqual(complaints, "")
        self.assertGreater(count, 20)

    def test_outputs_that_need_frames(self):
        """One connection, and the frames are those of the packets that are passed on."""
        run = self.copy(
            "tcp://127.0.0.1:0?listen", "a.mkv", "-o", "b.y4m", "-o", "c.webm,size=50%", "--frames", "60")
        self.send_and_keep("one", f"tcp://127.0.0.1:{self.wait_for_port(run, WAITING)}")
        run = run.finish()
        self.assertEqual(run.code, OK, str(run))
        last = json.loads(run.stderr.splitlines()[-1])
        passed = [output["passedOn"] and output["passedOn"]["tracks"] for output in last["outputs"]]
        self.assertEqual(passed, [["h264", "aac"], None, None])
        self.assertEqual([encoder["name"] for encoder in last["encoders"]], ["vp8"])
        pictures = [
            media.command("ffmpeg", "-v", "error", "-i", self.folder / name, "-map", "0:v", "-f", "rawvideo", "-").stdout
            for name in ("a.mkv", "b.y4m")]
        self.assertEqual(len(pictures[0]), 60 * 160 * 120 * 3 // 2)
        self.assertEqual(pictures[0], pictures[1])
        small = media.probe(self.folder / "c.webm")["stream"]
        self.assertEqual((small["codec_name"], small["width"], small["height"]), ("vp8", 80, 60))

    def test_a_page_without_viewers(self):
        """It has one frame in four seconds; a snapshot still shows the moment."""
        port = free_port()
        run = self.copy("tcp://127.0.0.1:0?listen", "a.mkv", "--serve", f"127.0.0.1:{port}")
        self.send_and_keep("one", f"tcp://127.0.0.1:{self.wait_for_port(run, WAITING)}")

        def rests(status):
            """Whether no frame has come since the report two before."""
            counts = [
                output["consumer"]["delivered"] for line in run.peek().splitlines()[:-1] if line.startswith("{")
                for output in json.loads(line).get("outputs", []) if output["format"] == "mjpeg"]
            return counts[-1] > 0 and len(counts) > 2 and counts[-3] == counts[-1]

        for _ in range(2):
            self.wait_for_status(run, rests)
            asked = time.time()
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/snapshot", timeout=30) as answer:
                shown = float(answer.headers["X-Timestamp"])
            # A key frame of before would be up to four seconds old.
            self.assertLess(abs(shown - asked), 2)
        self.end(run)
        self.assertPlays("a.mkv")

    def test_a_live_peer_that_lacks_the_codec(self):
        """It has an encoder, and the tool says so once."""
        run = self.copy("tcp://127.0.0.1:0?listen", "a.webm", "-o", "tcp://127.0.0.1:0?listen")
        port = self.wait_for_port(run, WAITING)
        self.begin(
            "ffmpeg", "-v", "error", *PICTURES[:7], "-c:v", "libvpx", "-deadline", "realtime", "-g", "15", "-f", "webm",
            f"tcp://127.0.0.1:{port}")
        peer = self.wait_for_port(run, LISTENING)
        self.assertEqual(self.frames("-f", "h264", "-i", f"tcp://127.0.0.1:{peer}"), 30)
        run = self.end(run)
        self.assertEqual(run.stderr.count("decoded, and encoded again"), 1, str(run))
        last = json.loads(run.stderr.splitlines()[-1])
        self.assertEqual(last["outputs"][0]["passedOn"]["tracks"], ["vp8"])
        self.assertEqual([encoder["codec"] for encoder in last["encoders"]], ["h264"])
        self.assertPlays("a.webm")

    def test_without_being_asked(self):
        """Files and clients of RTSP get what they can carry; a file that cannot, and a live peer, have an encoder and no
        warning."""
        run = self.start(
            "--input", "tcp://127.0.0.1:0?listen", "-o", "a.mkv", "-o", "b.webm", "-o", "tcp://127.0.0.1:0?listen",
            "--serve-rtsp", "0", "--stats", "json", "--explain")
        self.send_and_keep("one", f"tcp://127.0.0.1:{self.wait_for_port(run, WAITING)}")
        peer = self.wait_for_port(run, LISTENING)
        self.assertEqual(self.frames("-f", "h264", "-i", f"tcp://127.0.0.1:{peer}"), 30)
        client = f"rtsp://127.0.0.1:{self.wait_for_port(run, SERVING)}/"
        self.begin("ffmpeg", "-v", "error", "-nostdin", "-rtsp_transport", "tcp", "-i", client, "-c", "copy", "-frames:v", "60",
                   self.folder / "client.mkv").wait(60)
        run = self.end(run)
        last = json.loads(run.stderr.splitlines()[-1])
        passed = [output["passedOn"] and output["passedOn"]["tracks"] for output in last["outputs"]]
        self.assertEqual(passed, [["h264", "aac"], None, None, ["h264", "aac"]])
        self.assertEqual([encoder["codec"] for encoder in last["encoders"]], ["vp8", "h264"])
        self.assertIn("a.mkv: h264 and aac, passed on as it comes.", run.stderr)
        self.assertNotIn("warning", run.stderr)
        for own, sent in zip([self.digests("a.mkv", kind) for kind in "va"],
                             [self.digests("one.sent.ts", kind) for kind in "va"], strict=True):
            self.assertInOrder(own, sent)
        self.assertInOrder(self.digests("client.mkv", "a"), self.digests("one.sent.ts", "a"))
        self.assertPlays("a.mkv")
        self.assertPlays("b.webm")
        # ffmpeg gives the first picture of any RTSP server the time of the second.
        self.assertEqual(media.decode(self.folder / "client.mkv")[1], "")

    def test_our_own_server(self):
        sender, port = self.send("--codec", "h264")
        run = self.copy(f"tcp://127.0.0.1:{port}", "a.mkv", "--frames", "40").finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertEqual(len(self.assertPlays("a.mkv")), 40)
        self.end(sender)

    def test_a_login_over_http(self):
        """It goes to the host that it was given for, and to no other one to which that leads."""
        media.command("ffmpeg", "-v", "error", *PICTURES, "-t", "2", self.folder / "film.ts")
        film = (self.folder / "film.ts").read_bytes()
        given = base64.b64encode(b"bob:s3cret").decode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                login = self.headers.get("Authorization")
                heard.append((self.server, self.path, login))
                leads = self.path == "/moved.ts"
                isRefused = self.path == "/a.ts" and login != f"Basic {given}"
                self.send_response(302 if leads else 401 if isRefused else 200)
                if leads:
                    self.send_header("Location", f"http://127.0.0.1:{other.server_port}/open.ts")
                if isRefused:
                    self.send_header("WWW-Authenticate", 'Basic realm="film"')
                content = b"" if leads or isRefused else film
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        heard = []
        server, other = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
        for one in server, other:
            threading.Thread(target=one.serve_forever, daemon=True).start()
            self.addCleanup(one.server_close)
            self.addCleanup(one.shutdown)
        (self.folder / "login").write_text("bob:s3cret\n")
        for path, login, code in ("a.ts", "@login", OK), ("moved.ts", "@login", OK), ("a.ts", "bob:wrong", PERMISSION):
            with self.subTest(path=path, login=login):
                run = self.run_tool(
                    "--input", f"http://127.0.0.1:{server.server_port}/{path}", "--login", login, "--codec", "copy", "-o",
                    "a.mkv", "--frames", "40", "--force")
                self.assertEqual(run.code, code, str(run))
                self.assertNotIn("s3cret", run.stderr)
                if code == OK:
                    self.assertEqual(len(self.assertPlays("a.mkv")), 40)
        self.assertIn((server, "/a.ts", f"Basic {given}"), heard)
        self.assertEqual({login for one, _, login in heard if one is other}, {None})

    def test_what_cannot_be(self):
        for code, words, url, options in [
            (USAGE, "needs frames", "rtsp://127.0.0.1:1/a", ["--bitrate", "1M"]),
            (NO_INPUT, "cannot be passed on", "tcp://127.0.0.1:1?format=avcc", []),
        ]:
            with self.subTest(url=url):
                run = self.run_tool("--input", url, "--codec", "copy", "-o", "a.mkv", *options)
                self.assertEqual(run.code, code, run.stderr)
                self.assertIn(words, run.stderr)
        # A list could name other addresses.
        (self.folder / "list.m3u8").write_text("#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:5,\nfile:///etc/passwd\n")
        port = free_port()
        self.begin("python3", "-m", "http.server", port, "--bind", "127.0.0.1")
        wait_for_listener(port)
        for name, words in ("list.m3u8", "cannot be opened"), ("nothing.ts", "404"):
            run = self.run_tool("--input", f"http://bob:s3cret@127.0.0.1:{port}/{name}", "--codec", "copy", "-o", "a.mkv")
            self.assertEqual(run.code, NO_INPUT, str(run))
            self.assertIn(words, run.stderr)
            self.assertNotIn("s3cret", run.stderr)
        url = f"rtsp://bob:s3cret@127.0.0.1:{free_port()}/a"
        run = self.run_tool("--input", url, "--codec", "copy", "-o", "a.mkv", "--stats", "json")
        self.assertEqual(run.code, NO_INPUT, str(run))
        self.assertIn("No server answers there", run.stderr)
        self.assertNotIn("s3cret", run.stderr)


class ReturnTests(LiveTestCase):
    WAITS = True

    def test_a_camera_that_comes_back(self):
        """One file of two connections: all packets that came, with the times of the clock."""
        run = self.copy("tcp://127.0.0.1:0?listen", "a.mkv")
        port = self.wait_for_port(run, WAITING)
        first = self.send_and_keep("first", f"tcp://127.0.0.1:{port}")
        self.wait_for_status(run, lambda status: status["capture"]["frames"] >= 30)
        self.kill(first)
        before = self.wait_for_status(run, lambda status: status["interrupted"])["capture"]["frames"]
        self.send_and_keep("second", f"tcp://127.0.0.1:{port}")
        self.wait_for_status(
            run, lambda status: not status["interrupted"] and status["capture"]["frames"] >= before + 30)
        last = json.loads(self.end(run).stderr.splitlines()[-1])
        times = self.assertPlays("a.mkv")
        self.assertEqual(len(times), last["capture"]["frames"])
        self.assertGreater(times[before] - times[before - 1], 0.1, "the time between the connections is in the file")
        pictures = self.digests("a.mkv", "v")
        self.assertEqual(len(pictures), len(times))
        self.assertInOrder(pictures[:before], self.digests("first.sent.ts", "v"))
        self.assertInOrder(pictures[before:], self.digests("second.sent.ts", "v"))

    def test_an_rtsp_server_that_restarts(self):
        server, port = self.begin_rtsp_server()
        run = self.copy(f"rtsp://127.0.0.1:{port}/live", "a.mp4")
        self.wait_for_status(run, lambda status: status["capture"]["frames"] >= 20)
        self.kill(server)
        before = self.wait_for_status(run, lambda status: status["interrupted"])["capture"]["frames"]
        self.begin_rtsp_server(port)
        self.wait_for_status(
            run, lambda status: not status["interrupted"] and status["capture"]["frames"] >= before + 20)
        last = json.loads(self.end(run).stderr.splitlines()[-1])
        self.assertEqual(len(self.assertPlays("a.mp4")), last["capture"]["frames"])
