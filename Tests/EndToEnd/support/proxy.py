"""A reverse proxy that shows a server under a path of its own, as people put several cameras behind one name."""

import http.client
import http.server
import threading


class Proxy:
    """Gives `http://…/PREFIX/x` the answer of `netloc`'s `/x`."""

    def __init__(self, netloc, prefix="/cameras/door"):
        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                if not self.path.startswith(prefix + "/"):
                    return self.send_error(404)
                upstream = http.client.HTTPConnection(netloc, timeout=60)
                try:
                    upstream.request("GET", self.path[len(prefix):])
                    answer = upstream.getresponse()
                    self.send_response(answer.status)
                    for name, value in answer.getheaders():
                        if name.lower() not in {"connection", "transfer-encoding", "date", "server"}:
                            self.send_header(name, value)
                    self.end_headers()
                    while chunk := answer.read1(1 << 16):
                        self.wfile.write(chunk)
                except OSError:
                    pass  # one of both has gone
                finally:
                    upstream.close()

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}{prefix}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
