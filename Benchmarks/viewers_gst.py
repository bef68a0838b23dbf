#!/usr/bin/python3
"""A WHEP server on GStreamer's webrtcbin, one for each viewer: `viewers_gst.py ADDRESS:PORT CLIP.ivf`.

The clip is packetized once. Debian's Python has GStreamer's bindings; it negotiates, and C sends.
"""

import http.server
import sys
import threading
import time

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
from gi.repository import GLib, Gst, GstSdp, GstWebRTC  # noqa: E402

Gst.init(None)
CAPS = "application/x-rtp,media=video,encoding-name=VP8,clock-rate=90000,payload=96"
pipeline = Gst.parse_launch(
    f"filesrc location={sys.argv[2]} ! ivfparse ! identity sync=true ! rtpvp8pay pt=96 mtu=1200 picture-id-mode=15-bit ! {CAPS} ! "
    "tee name=tee allow-not-linked=true")
tee = pipeline.get_by_name("tee")


def call(element, signal, *arguments):
    """Emits a signal that answers by a promise. The answer's values live as long as the promise and its reply."""
    promise = Gst.Promise.new()
    element.emit(signal, *arguments, promise)
    promise.wait()
    return promise, promise.get_reply()


def answer(offer):
    """Adds a viewer, and returns the answer with all candidates."""
    peer = Gst.ElementFactory.make("webrtcbin")
    peer.set_property("bundle-policy", GstWebRTC.WebRTCBundlePolicy.MAX_BUNDLE)
    queue = Gst.ElementFactory.make("queue")
    queue.set_property("leaky", 2)
    pipeline.add(queue)
    pipeline.add(peer)
    peer.sync_state_with_parent()
    gathered = threading.Event()

    def changed(*_):
        if peer.get_property("ice-gathering-state") == GstWebRTC.WebRTCICEGatheringState.COMPLETE:
            gathered.set()

    peer.connect("notify::ice-gathering-state", changed)
    # Before the offer, which is compared with what the peer sends.
    sink = peer.request_pad_simple("sink_%u")
    queue.get_static_pad("src").link(sink)
    queue.sync_state_with_parent()
    tee.request_pad(tee.get_pad_template("src_%u"), None, None).link(queue.get_static_pad("sink"))
    while sink.get_current_caps() is None:
        time.sleep(0.005)
    _, message = GstSdp.SDPMessage.new_from_text(offer)
    call(peer, "set-remote-description",
         GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.OFFER, message))
    _promise, made = call(peer, "create-answer", None)
    call(peer, "set-local-description", made.get_value("answer"))
    gathered.wait(10)
    return peer.get_property("local-description").sdp.as_text()


class Handler(http.server.BaseHTTPRequestHandler):
    """Takes offers."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        offer = self.rfile.read(int(self.headers["Content-Length"])).decode()
        body = answer(offer).encode()
        self.send_response(201)
        self.send_header("Content-Type", "application/sdp")
        self.send_header("Location", "/whep/1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


host, port = sys.argv[1].rsplit(":", 1)
server = http.server.ThreadingHTTPServer((host, int(port)), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
pipeline.set_state(Gst.State.PLAYING)
GLib.MainLoop().run()
