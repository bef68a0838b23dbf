#!/usr/bin/env python3
"""Has the origin forward what is published in its room to the edge, whenever a publisher comes; until it is ended.

    forward.py ORIGIN ROOM PIN SECRET EDGE-ADDRESS VIDEO-PORT RTCP-PORT AUDIO-PORT
"""

import json
import sys
import time
import urllib.request
import uuid


class Room:
    """A participant of the room who publishes nothing, and so learns who does."""

    def __init__(self, origin, room, pin):
        self.origin, self.room = origin, room
        self.session = f"{origin}/{self.ask(origin, janus='create')['data']['id']}"
        handle = self.ask(self.session, janus="attach", plugin="janus.plugin.videoroom")["data"]["id"]
        self.handle = f"{self.session}/{handle}"
        self.message(request="join", ptype="publisher", room=room, pin=pin, display="forwarder")

    def ask(self, address, **body):
        body["transaction"] = uuid.uuid4().hex
        request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            answered = json.load(answer)
        if answered["janus"] == "error":
            raise RuntimeError(answered["error"]["reason"])
        return answered

    def message(self, **body):
        return self.ask(self.handle, janus="message", body=body)

    def publishers(self):
        """Those that come, for ever; a server that is gone raises."""
        while True:
            with urllib.request.urlopen(f"{self.session}?maxev=1", timeout=60) as answer:
                event = json.load(answer)
            data = event.get("plugindata", {}).get("data", {})
            if "error" in data:
                raise RuntimeError(data["error"])
            yield from data.get("publishers", [])


def main(origin, room, pin, secret, address, *ports):
    video, rtcp, audio = map(int, ports)
    while True:
        try:
            joined = Room(origin, int(room), pin)
            for publisher in joined.publishers():
                streams = []
                for stream in publisher.get("streams", []):
                    if stream["type"] == "video":
                        streams.append({"mid": stream["mid"], "port": video, "rtcp_port": rtcp, "pt": 96})
                    elif stream["type"] == "audio":
                        streams.append({"mid": stream["mid"], "port": audio, "pt": 111})
                answered = joined.message(
                    request="rtp_forward", room=int(room), secret=secret, publisher_id=publisher["id"], host=address,
                    host_family="ipv4", streams=streams)
                error = answered["plugindata"]["data"].get("error")
                print(f"publisher {publisher['id']}: {error or 'forwarded'}", flush=True)
        except (OSError, RuntimeError, KeyError, ValueError) as error:
            print(f"{error}; trying again", file=sys.stderr, flush=True)
            time.sleep(1)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        pass
