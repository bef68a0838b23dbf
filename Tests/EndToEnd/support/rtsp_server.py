#!/usr/bin/python3
"""An RTSP server of numbered pictures in H.264 at /live, until it is killed: `rtsp_server PORT`.

Says `ready` once it listens. GStreamer's own server is the peer; Debian's Python has its bindings.
"""

import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer

Gst.init(None)
server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service(sys.argv[1])
factory = GstRtspServer.RTSPMediaFactory()
factory.set_launch(
    "( videotestsrc is-live=true ! video/x-raw,width=160,height=120,framerate=30/1 ! x264enc tune=zerolatency threads=2 "
    # Parameter sets before each slice of a key frame, of which there are two.
    "key-int-max=15 ! rtph264pay name=pay0 pt=96 config-interval=-1 )")
factory.set_shared(True)
server.get_mount_points().add_factory("/live", factory)
if not server.attach(None):
    sys.exit("the port is in use")
print("ready", server.get_bound_port(), flush=True)
GLib.MainLoop().run()
