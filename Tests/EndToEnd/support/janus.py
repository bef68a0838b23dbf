"""Janus with a VideoRoom and a mountpoint of its streaming plugin, and simple-whip-server before it."""

import json
import os
import pathlib
import shutil
import urllib.request

from support import network
from support.webrtc import Process, free_port

MODULES = pathlib.Path("/usr/lib/x86_64-linux-gnu/janus")
# Where scripts/setup unpacks it: Debian's package refuses another node than Debian's.
SIMPLE_WHIP = pathlib.Path("/opt/simple-whip-server/usr")
PLUGINS_LEFT_OUT = ("audiobridge", "duktape", "echotest", "lua", "nosip", "recordplay", "sip", "textroom", "videocall",
                    "voicemail")
TRANSPORTS_LEFT_OUT = ("mqtt", "nanomsg", "pfunix", "rabbitmq")


def modules(names):
    return ",".join(f"libjanus_{name}.so" for name in names)


class Janus(Process):
    """The room 1234, whose pin is `secret-pin`, the mountpoint 1, whose first of four ports is `MOUNT`, and the mountpoint 2,
    whose viewers may ask for lower temporal layers, at `LAYERS`: as no other program is in this network, the ports are free."""

    MOUNT = 15004
    LAYERS = 15014

    def __init__(self, folder, port=None):
        self.folder, self.port = folder, port or free_port()
        self.web_socket = free_port()
        folder.mkdir(exist_ok=True)
        address = network.ADDRESS
        for name, text in {
            "janus": f"""
general: {{ configs_folder = "{folder}"; plugins_folder = "{MODULES}/plugins"; transports_folder = "{MODULES}/transports"
  events_folder = "{MODULES}/events"; loggers_folder = "{MODULES}/loggers"; debug_level = 4; session_timeout = 20 }}
media: {{ ipv6 = false; rtp_port_range = "20000-20100"; dtls_mtu = 1200 }}
nat: {{ full_trickle = false; ice_enforce_list = "{address}" }}
plugins: {{ disable = "{modules(PLUGINS_LEFT_OUT)}" }}
transports: {{ disable = "{modules(TRANSPORTS_LEFT_OUT)}" }}
""",
            "transport.http": f"""
general: {{ http = true; port = {self.port}; base_path = "/janus" }}
admin: {{ admin_http = false }}
""",
            "transport.websockets": f'general: {{ ws = true; ws_port = {self.web_socket}; ws_ip = "{address}" }}',
            "plugin.videoroom": """
room-1234: { description = "test"; secret = "room-secret"; pin = "secret-pin"; publishers = 6; bitrate = 3000000
  videocodec = "vp8,h264"; audiocodec = "opus"; transport_wide_cc_ext = true }
""",
            "plugin.streaming": f"""
test: {{ type = "rtp"; id = 1; secret = "secret"
  media = (
    {{ type = "video"; mid = "v"; label = "video"; iface = "{address}"; port = {self.MOUNT}; rtcpport = {self.MOUNT + 1}
      pt = 96; codec = "vp8"; bufferkf = true }},
    {{ type = "audio"; mid = "a"; label = "audio"; iface = "{address}"; port = {self.MOUNT + 2}; pt = 111; codec = "opus" }}
  ) }}
layers: {{ type = "rtp"; id = 2; secret = "secret"
  media = (
    {{ type = "video"; mid = "v"; label = "video"; iface = "{address}"; port = {self.LAYERS}; rtcpport = {self.LAYERS + 1}
      port2 = {self.LAYERS + 2}; port3 = {self.LAYERS + 3}; simulcast = true; pt = 96; codec = "vp8" }}
  ) }}
""",
        }.items():
            (folder / (f"janus.{name}.jcfg" if name != "janus" else "janus.jcfg")).write_text(text)
        super().__init__("janus", "-F", folder, "-o")
        self.answers(self.port)
        self.answers(self.web_socket)

    @property
    def url(self):
        return f"http://{network.ADDRESS}:{self.port}/janus"


class SimpleWHIPServer(Process):
    """WHIP endpoints before rooms of Janus."""

    def __init__(self, janus, folder):
        if not SIMPLE_WHIP.is_dir():
            raise RuntimeError("simple-whip-server is not unpacked; try scripts/setup --tests")
        self.port = free_port()
        # It reads the configuration that lies beside it.
        shutil.copytree(SIMPLE_WHIP / "share/simple-whip-server/src", folder, ignore=shutil.ignore_patterns("config.js"))
        (folder / "config.js").write_text("module.exports = " + json.dumps({
            "janus": {"address": f"ws://{network.ADDRESS}:{janus.web_socket}"}, "port": self.port, "rest": "/whip",
            "allowTrickle": True, "strictETags": True, "iceServers": []}))
        libraries = [SIMPLE_WHIP / "share/nodejs", *SIMPLE_WHIP.glob("lib/*/nodejs")]
        super().__init__(
            "node", "server.js", cwd=folder,
            env={**os.environ, "NODE_PATH": ":".join(map(str, libraries)), "DEBUG": "whip:*"})
        self.answers(self.port)

    def ask(self, path, body=None):
        request = urllib.request.Request(
            f"http://{network.ADDRESS}:{self.port}/whip/{path}", None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def make_endpoint(self, name, token):
        """An endpoint for the room 1234; its address."""
        self.ask("create", {"id": name, "room": 1234, "pin": "secret-pin", "token": token, "label": name})
        return f"whip:http://{network.ADDRESS}:{self.port}/whip/endpoint/{name}"

    def is_in_use(self, name):
        return next(found["enabled"] for found in json.loads(self.ask("endpoints")) if found["id"] == name)
