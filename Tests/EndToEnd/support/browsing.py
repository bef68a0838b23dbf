"""What tests with browsers share: Chromium's command, and how the servers of their pages answer."""

import http.server
import shutil


def chromium(profile, *options, page="about:blank"):
    """The command that shows a page in headless Chromium."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        raise RuntimeError("chromium is not installed; try scripts/setup --tests")
    return [
        program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio",
        "--no-first-run", "--disable-extensions", "--disable-background-networking", f"--user-data-dir={profile}", *options,
        page]


class PageHandler(http.server.BaseHTTPRequestHandler):
    """One connection of a browser; subclasses have the paths."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass  # the browser has ended

    def answer(self, code, body=b"", kind="text/plain", **headers):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # the browser has seen enough

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))
