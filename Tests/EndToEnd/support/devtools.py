"""Drives headless Chromium by its DevTools protocol, over a pair of pipes: what a page shows, asks for and says."""

import base64
import fcntl
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from support.browsing import chromium

ANSWER = 30  # seconds that Chromium may take to answer a command on a busy machine


def high(descriptor):
    """The same descriptor under a number that is in nobody's way."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 20)
    os.close(descriptor)
    return moved


class DevTools:
    """One Chromium with a profile of its own, behind the words of `prefix`. It ends with `close()`."""

    def __init__(self, prefix=()):
        self.profile = tempfile.mkdtemp(prefix="chromium-")
        self.log = tempfile.TemporaryFile()
        command_out, self.command = (high(end) for end in os.pipe())
        self.answers, answer_in = (high(end) for end in os.pipe())
        # Chromium reads commands from descriptor 3 and writes answers to 4. A session of its own, so that its own
        # processes can be ended and no others.
        self.process = subprocess.Popen(
            [*prefix, "bash", "-c", f'exec "$@" 3<&{command_out}- 4>&{answer_in}-', "bash",
             *chromium(self.profile, "--hide-scrollbars", "--remote-debugging-pipe")],
            pass_fds=[command_out, answer_in], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            start_new_session=True)
        os.close(command_out)
        os.close(answer_in)
        self.numbers, self.waiting, self.tabs = itertools.count(1), {}, {}
        self.changed = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        """Takes apart what Chromium says: messages that end with a zero byte."""
        rest = b""
        while True:
            try:
                chunk = os.read(self.answers, 1 << 20)
            except OSError:
                return
            if not chunk:
                return
            *whole, rest = (rest + chunk).split(b"\0")
            for text in whole:
                message = json.loads(text)
                with self.changed:
                    if "id" in message:
                        self.waiting[message["id"]] = message
                        self.changed.notify_all()
                        continue
                tab = self.tabs.get(message.get("sessionId"))
                if tab:
                    tab.happened(message["method"], message["params"])

    def post(self, method, session=None, **parameters):
        """Sends a command and does not wait; returns its number."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        with self.changed:
            while data:
                data = data[os.write(self.command, data):]
        return number

    def send(self, method, session=None, **parameters):
        number = self.post(method, session, **parameters)
        with self.changed:
            if not self.changed.wait_for(lambda: number in self.waiting, ANSWER):
                said = os.pread(self.log.fileno(), 1 << 16, 0).decode(errors="replace")
                raise AssertionError(f"Chromium did not answer {method}. It said:\n{said[-2000:]}")
            message = self.waiting.pop(number)
        if "error" in message:
            raise AssertionError(f"{method}: {message['error']}")
        return message["result"]

    def open(self, **options):
        return Tab(self, **options)

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.command)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)


class Tab:
    """A page without memory of others (a browser context of its own), and all that it asked for and complained of."""

    def __init__(self, browser, policy=None, downloads=None):
        self.browser, self.policy = browser, policy
        self.complaints, self.requests, self.answers = [], [], {}
        self.context = browser.send("Target.createBrowserContext")["browserContextId"]
        self.target = browser.send(
            "Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = browser.send("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        browser.tabs[self.session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        if downloads:
            browser.send(
                "Browser.setDownloadBehavior", behavior="allow", browserContextId=self.context,
                downloadPath=str(downloads))
        patterns = [{"urlPattern": "*/state*"}]
        if policy:
            patterns.append({"resourceType": "Document", "requestStage": "Response"})
        self.send("Fetch.enable", patterns=patterns)

    def send(self, method, **parameters):
        return self.browser.send(method, self.session, **parameters)

    def happened(self, method, parameters):
        """On the reader's thread: may post, must not send."""
        if method == "Runtime.consoleAPICalled" and parameters["type"] in {"error", "warning", "assert"}:
            self.complaints.append(str([argument.get("value") for argument in parameters["args"]]))
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Fetch.requestPaused":
            self.meddle(parameters)

    def meddle(self, paused):
        """Puts the content security policy on a document, and made-up answers (`answers[name]`, or what that
        returns) in the place of real."""
        made_up = self.answers.get(pathlib.PurePosixPath(paused["request"]["url"].partition("?")[0]).name)
        if callable(made_up) and "responseStatusCode" not in paused:
            made_up = made_up()
        if "responseStatusCode" in paused:
            headers = [header for header in paused["responseHeaders"]
                       if header["name"].lower() != "content-security-policy"]
            headers.append({"name": "Content-Security-Policy", "value": self.policy})
            self.browser.post(
                "Fetch.continueResponse", self.session, requestId=paused["requestId"],
                responseCode=paused["responseStatusCode"], responseHeaders=headers)
        elif made_up is not None:
            self.browser.post(
                "Fetch.fulfillRequest", self.session, requestId=paused["requestId"], responseCode=200,
                responseHeaders=[{"name": "Content-Type", "value": "application/json"}],
                body=base64.b64encode(json.dumps(made_up).encode()).decode())
        else:
            self.browser.post("Fetch.continueRequest", self.session, requestId=paused["requestId"])

    def viewport(self, width, height, scale=1, mobile=False):
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile)
        self.send("Emulation.setTouchEmulationEnabled", enabled=mobile)

    def prefer(self, **features):
        """What the system asks for, as in `prefer(color_scheme="dark")`."""
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()])

    def go(self, url):
        failed = self.send("Page.navigate", url=url).get("errorText")
        if failed:
            raise AssertionError(f"{url}: {failed}")

    def reload(self):
        self.evaluate("window.isOld = true")
        self.send("Page.reload")
        self.wait("!window.isOld && document.readyState !== 'loading'")

    def evaluate(self, expression):
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression, limit=60):
        """Waits until an expression is true, and returns its value."""
        deadline = time.monotonic() + limit
        while True:
            try:
                value = self.evaluate(expression)
            except AssertionError as failure:  # between two documents
                value, last = None, failure
            else:
                last = value
            if value:
                return value
            if time.monotonic() > deadline:
                body = self.evaluate("document.body && document.body.innerText")
                raise AssertionError(f"not within {limit} s: {expression}\nbut {last}. The page shows: {body}")
            time.sleep(0.05)

    def press(self, key):
        """A key, as a keyboard gives it."""
        codes = {"Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowRight": 39, "Enter": 13}
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = codes.get(key, ord(key[0].upper()))
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def middle(self, selector):
        return self.evaluate(
            f"(b => [b.left + b.width / 2, b.top + b.height / 2])(document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect())")

    def point(self, selector):
        x, y = self.middle(selector)
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector):
        x, y = self.middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def tap(self, selector):
        x, y = self.middle(selector)
        self.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def screenshot(self):
        """The page as a PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])

    def close(self):
        self.browser.send("Target.disposeBrowserContext", browserContextId=self.context)
        self.browser.tabs.pop(self.session, None)
