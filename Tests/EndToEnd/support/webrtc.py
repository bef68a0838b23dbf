"""Real peers of WebRTC, each an ordinary process in the test's own network: aiortc, browsers, Janus, Pion, coturn."""

import http.server
import json
import os
import pathlib
import queue
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request
import uuid

from support import network
from support.browsing import PageHandler, chromium
from support.tool import ToolTestCase

FOLDER = pathlib.Path(__file__).parent
# Where scripts/setup puts it.
AIORTC = os.environ.get("CAPTURER_AIORTC", "/opt/aiortc/bin/python")
LIMIT = 60  # seconds for what a busy machine may take


def free_port():
    with socket.socket() as found:
        found.bind((network.ADDRESS, 0))
        return found.getsockname()[1]


class WebRTCTestCase(ToolTestCase):
    """A test in a network of its own, at `network.ADDRESS`."""

    WAITS = True

    @classmethod
    def setUpClass(cls):
        network.enter()

    def ended(self, peer):
        self.addCleanup(peer.close)
        return peer

    def publish(self, *arguments, source=("--source", "pattern", "--preset", "640x360", "--fps", "30"), **options):
        return self.start(*source, "--stats", "json", *arguments, **options)

    def end(self, running):
        """Ends the tool by SIGINT; its last object of statistics."""
        running.send(signal.SIGINT)
        run = running.finish(LIMIT)
        self.assertEqual(run.code, 0, str(run))
        return self.statistics(run.stderr)

    @staticmethod
    def statistics(text):
        # There are other events, too.
        objects = [line for line in text.splitlines() if line.startswith("{") and line.endswith("}") and '"outputs"' in line]
        return json.loads(objects[-1]) if objects else None

    def wait(self, what, condition, running=None, limit=LIMIT):
        deadline = time.monotonic() + limit
        while True:
            found = condition()
            if found:
                return found
            if time.monotonic() > deadline or running and running.process.poll() is not None:
                self.fail(f"{what}: not within {limit} s" + (f": {running.peek()[-3000:]}" if running else ""))
            time.sleep(0.05)

    def output(self, running, kind):
        """The newest statistics of an output of a run that goes on."""
        return next(iter(self.outputs(running, kind)), {})

    def outputs(self, running, kind):
        found = self.statistics(running.peek_at_end())
        return [output for output in (found or {}).get("outputs", []) if output["format"] == kind]


class Process:
    """A peer that says what happens, one JSON object a line."""

    def __init__(self, *command, stdin=subprocess.DEVNULL, **options):
        self.command = command
        self.events, self.text = [], []
        # A session of its own, so that its own processes can be ended and no others.
        self.process = subprocess.Popen(
            [str(word) for word in command], stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True, **options)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                try:
                    self.events.append(json.loads(line))
                    continue
                except ValueError:
                    pass
            self.text.append(line)

    def all(self, event):
        return [found for found in list(self.events) if found.get("event") == event]

    def last(self, event):
        found = self.all(event)
        return found[-1] if found else {}

    def answers(self, port):
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline and self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex((network.ADDRESS, port)) == 0:
                    return self
            time.sleep(0.05)
        raise AssertionError(f"{self.command[0]} does not listen: {''.join(self.text)[-2000:]}")

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()


class Endpoint(Process):
    """aiortc behind a WHIP endpoint."""

    def __init__(self, *options, port=None, scheme="http"):
        self.scheme = scheme
        if not os.access(AIORTC, os.X_OK):
            raise RuntimeError(f"{AIORTC} is not there; try scripts/setup --tests")
        self.port = port or free_port()
        super().__init__(AIORTC, "-u", FOLDER / "whip_endpoint.py", "--host", network.ADDRESS, "--port", self.port, *options)
        self.answers(self.port)

    @property
    def url(self):
        return f"whip:{self.scheme}://{network.ADDRESS}:{self.port}/whip"

    def ask(self, path):
        """Asks it for one of its faults."""
        urllib.request.urlopen(f"http://{network.ADDRESS}:{self.port}/{path}", b"", LIMIT).close()


class WHEPViewers(Process):
    """aiortc as any number of viewers of a server's page."""

    def __init__(self, url):
        if not os.access(AIORTC, os.X_OK):
            raise RuntimeError(f"{AIORTC} is not there; try scripts/setup --tests")
        super().__init__(AIORTC, "-u", FOLDER / "whep_viewer.py", url, stdin=subprocess.PIPE)

    def view(self, count, leave="delete", kinds=("video", "audio")):
        """Has viewers come, see five frames each and leave; what each has seen."""
        before = len(self.all("batch"))
        self.process.stdin.write(json.dumps({"count": count, "leave": leave, "kinds": kinds}) + "\n")
        self.process.stdin.flush()
        deadline = time.monotonic() + 2 * LIMIT
        while len(self.all("batch")) == before:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise AssertionError(f"the viewers do not answer: {''.join(self.text)[-2000:]}")
            time.sleep(0.05)
        return self.last("batch")["viewers"]

    def close(self):
        self.process.stdin.close()
        super().close()


class Handler(PageHandler):
    def do_GET(self):
        if self.path.split("?")[0] == "/":
            self.answer(200, (FOLDER / "webrtc_page.html").read_bytes(), "text/html")
        elif self.path == "/offer":
            try:
                self.answer(200, json.dumps(self.server.viewer.offers.get(timeout=5)).encode(), "application/json")
            except queue.Empty:
                self.answer(200, b"{}", "application/json")
        else:
            self.answer(404)

    def do_POST(self):
        body = self.body()
        viewer = self.server.viewer
        if self.path == "/said":
            said = json.loads(body)
            if said["event"] == "answer":
                viewer.answers[said["id"]].put(said)
            else:
                viewer.events.append(said)
            return self.answer(204)
        if self.path == "/whep":
            request = urllib.request.Request(viewer.tool + "whep", body, {"Content-Type": "application/sdp"})
            with urllib.request.urlopen(request, timeout=LIMIT) as response:
                answer = response.read()
            viewer.events.append({"event": "whep", "offer": body.decode(), "answer": answer.decode()})
            return self.answer(201, answer, "application/sdp")
        name = uuid.uuid4().hex[:8]
        viewer.answers[name] = queue.Queue()
        viewer.offers.put({"id": name, "sdp": body.decode()})
        said = viewer.answers[name].get(timeout=LIMIT)
        if "error" in said:
            return self.answer(406, said["error"].encode())
        self.answer(201, said["sdp"].encode(), "application/sdp", Location=f"/res/{name}")

    def do_DELETE(self):
        self.server.viewer.events.append({"event": "delete"})
        self.server.viewer.offers.put({"close": True, "id": self.path.split("/")[-1]})
        self.answer(200)


class Viewer:
    """A browser that receives what is published to its WHIP endpoint or to a room of Janus, or what the tool serves at a URL."""

    def __init__(self, program="chromium", query="", tool=None):
        self.tool = tool
        self.offers, self.answers, self.events = queue.Queue(), {}, []
        self.server = http.server.ThreadingHTTPServer((network.ADDRESS, 0), Handler)
        self.server.daemon_threads, self.server.viewer = True, self
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.profile = tempfile.mkdtemp(prefix=program)
        page = f"http://{network.ADDRESS}:{self.port}/{query}"
        if program == "chromium":
            command = chromium(
                self.profile, "--autoplay-policy=no-user-gesture-required",
                # The API of single frames is for secure origins only.
                f"--unsafely-treat-insecure-origin-as-secure=http://{network.ADDRESS}:{self.port}", page=page)
        else:
            pathlib.Path(self.profile, "user.js").write_text(
                'user_pref("media.autoplay.default", 0);\nuser_pref("media.autoplay.blocking_policy", 0);\n')
            command = ["firefox-esr", "--headless", "--no-remote", "--profile", self.profile, page]
        self.process = Process(*command, env={**os.environ, "DBUS_SESSION_BUS_ADDRESS": "", "HOME": self.profile})
        deadline = time.monotonic() + LIMIT
        while not any(event["event"] == "page" for event in self.events):
            if time.monotonic() > deadline or self.process.process.poll() is not None:
                raise AssertionError(f"{program} shows no page: {''.join(self.process.text)[-2000:]}")
            time.sleep(0.05)

    @property
    def url(self):
        return f"whip:http://{network.ADDRESS}:{self.port}/whip"

    def last(self, event="stats"):
        found = [said for said in list(self.events) if said["event"] == event]
        return found[-1] if found else {}

    def frames(self):
        """With `?numbers`, all frames so far: when each came in ms, its time of RTP, and the number that it shows."""
        return [frame for said in list(self.events) for frame in said.get("frames", [])]

    def video(self, member="framesDecoded"):
        return (self.last().get("video") or {}).get(member) or 0

    def close(self):
        self.process.close()
        self.server.shutdown()
        self.server.server_close()
        shutil.rmtree(self.profile, ignore_errors=True)
