"""A WHIP endpoint (RFC 9725) on aiortc: decodes what comes, and says what it saw, one JSON object a line.

Run by the Python that has aiortc; its faults are options.
"""

import argparse
import array
import asyncio
import json
import ssl
import time
import uuid

from aiohttp import web
from aiortc import RTCPeerConnection, RTCSessionDescription
from aiortc.rtp import RtcpRrPacket, RtcpSrPacket

options = argparse.ArgumentParser()
options.add_argument("--host", default="127.0.0.1")
options.add_argument("--port", type=int, required=True)
options.add_argument("--token")
options.add_argument("--redirect", action="store_true", help="answers with 307 first")
options.add_argument("--busy", type=int, default=0, help="answers the first offers with 503 and Retry-After: 1")
options.add_argument("--answer", choices=["good", "garbage", "huge", "fingerprint", "no-candidates"], default="good")
options.add_argument("--flood", choices=["none", "pli", "rr", "nack"], default="none", help="1,000 packets per second")
options.add_argument("--clock", action="store_true", help="says when bright pictures and loud samples were taken")
options.add_argument("--keep", metavar="FILE", help="writes the pictures of H.264 as they came")
options.add_argument("--certificate", help="for https, in PEM, with --key")
options.add_argument("--key")
options = options.parse_args()
resources = {}
busy = options.busy
# Of the test pattern's bars at 75 %.
BARS = [(180, 180, 180), (180, 180, 16), (16, 180, 180), (16, 180, 16), (180, 16, 180), (180, 16, 16), (16, 16, 180),
        (16, 16, 16)]


def say(**members):
    print(json.dumps(members), flush=True)


def authorize(request):
    if options.token and request.headers.get("Authorization") != "Bearer " + options.token:
        raise web.HTTPUnauthorized(headers={"WWW-Authenticate": "Bearer"})


def bars(frame):
    """How many of the eight color bars are there."""
    plane = frame.reformat(format="rgb24").planes[0]
    row = bytes(plane)[frame.height // 3 * plane.line_size:]
    found = 0
    for index, color in enumerate(BARS):
        start = frame.width * (2 * index + 1) // 16 * 3
        pixel = row[start:start + 3]
        found += all(abs(int(a) - b) < 40 for a, b in zip(pixel, color))
    return found


class SenderClock:
    """Maps a stream's timestamps to the sender's wall clock, by its reports (RFC 3550, 6.4.1)."""

    def __init__(self, receiver):
        self.report, self.receiver = None, receiver
        handle = receiver._handle_rtcp_packet

        async def handle_report(packet):
            if isinstance(packet, RtcpSrPacket):
                self.report = packet.sender_info
            await handle(packet)

        receiver._handle_rtcp_packet = handle_report

    def time(self, frame):
        """In seconds; None before the first report."""
        if not self.report:
            return None
        # aiortc counts from the first packet on.
        origin = self.receiver._RTCRtpReceiver__timestamp_mapper._origin
        ticks = (frame.pts + origin - self.report.rtp_timestamp + (1 << 31)) % (1 << 32) - (1 << 31)
        return self.report.ntp_timestamp / (1 << 32) + ticks / frame.time_base.denominator


def say_brightness(frame, time):
    plane = frame.reformat(format="gray").planes[0]
    say(event="picture", time=time, bright=bytes(plane)[plane.line_size * (frame.height // 2) + frame.width // 2] > 128)


def say_beginning(frame, time, state):
    """Says when a sound begins after silence."""
    samples = array.array("h", bytes(frame.planes[0])[:frame.samples * 4])[::2]
    for index, sample in enumerate(samples):
        state["silent"] += 1
        if abs(sample) > 3000:
            if state["silent"] > 4800:
                say(event="beep", time=time + index / frame.sample_rate)
            state["silent"] = 0


def keep_pictures(receiver):
    """Writes what the decoder gets."""
    queue = receiver._RTCRtpReceiver__decoder_queue
    put = queue.put

    def keep(task, *arguments):
        if task:
            with open(options.keep, "ab") as file:
                file.write(task[1].data)
        put(task, *arguments)

    queue.put = keep


async def consume(track, state, clock):
    try:
        while True:
            frame = await track.recv()
            state[track.kind] += 1
            if options.clock and clock.time(frame) is not None:
                if track.kind == "video":
                    say_brightness(frame, clock.time(frame))
                else:
                    say_beginning(frame, clock.time(frame), state)
            if track.kind == "video":
                state["size"] = f"{frame.width}x{frame.height}"
                if state["video"] % 15 == 1:
                    state["bars"] = max(state["bars"], bars(frame))
            else:
                samples = array.array("h", bytes(frame.planes[0])[:frame.samples * 4])
                state["peak"] = max(state["peak"], max(map(abs, samples)))
    except Exception as error:
        say(event="ended", kind=track.kind, why=type(error).__name__)


async def flood(connection, video):
    """Sends reports, or asks for key frames, as fast as it can: some 1,000 times per second."""
    receiver = connection.getTransceivers()[0].receiver
    while connection.connectionState == "connected":
        for _ in range(20):
            if options.flood == "pli":
                await receiver._send_rtcp_pli(video)
            elif options.flood == "nack":
                await receiver._send_rtcp_nack(video, list(range(0, 60000, 17))[:200])
            else:
                await receiver._send_rtcp(RtcpRrPacket(ssrc=1, reports=[]))
        await asyncio.sleep(0.02)


async def report(connection, state):
    while connection.connectionState not in ("closed", "failed"):
        await asyncio.sleep(0.5)
        say(event="stats", **{name: state[name] for name in ("video", "audio", "size", "bars", "peak")})


async def offer(request):
    global busy
    authorize(request)
    if options.redirect and request.path == "/whip":
        raise web.HTTPTemporaryRedirect("/elsewhere")
    if busy > 0:
        busy -= 1
        say(event="busy", time=time.monotonic())
        return web.Response(status=503, headers={"Retry-After": "1"})
    if request.content_type != "application/sdp":
        raise web.HTTPUnsupportedMediaType()
    text = await request.text()
    say(event="offer", sdp=text, time=time.monotonic())
    if options.answer in ("garbage", "huge"):
        body = "v=0\r\n" + ("a=x\r\n" * 250_000 if options.answer == "huge" else "hello\r\n\0\r\nm=\r\n")
        return web.Response(status=201, text=body, content_type="application/sdp", headers={"Location": "/res/x"})
    connection = RTCPeerConnection()
    name = uuid.uuid4().hex[:12]
    state = {"video": 0, "audio": 0, "size": None, "bars": 0, "peak": 0, "silent": 0, "connection": connection}
    resources[name] = state
    ssrc = next((int(line.split(":")[1].split()[0]) for line in text.splitlines() if line.startswith("a=ssrc:")), 0)

    @connection.on("track")
    def on_track(track):
        receiver = next(found.receiver for found in connection.getTransceivers() if found.receiver.track is track)
        if options.keep and track.kind == "video":
            keep_pictures(receiver)
        asyncio.ensure_future(consume(track, state, SenderClock(receiver)))

    @connection.on("connectionstatechange")
    async def on_state():
        say(event="state", state=connection.connectionState)
        if connection.connectionState == "connected" and options.flood != "none":
            asyncio.ensure_future(flood(connection, ssrc))

    await connection.setRemoteDescription(RTCSessionDescription(text, "offer"))
    await connection.setLocalDescription(await connection.createAnswer())
    answer = connection.localDescription.sdp
    if options.answer == "fingerprint":
        answer = "\r\n".join(
            line[:-2] + ("00" if line[-2:] != "00" else "01") if line.startswith("a=fingerprint:") else line
            for line in answer.split("\r\n"))
    if options.answer == "no-candidates":
        answer = "\r\n".join(line for line in answer.split("\r\n") if not line.startswith("a=candidate:"))
    asyncio.ensure_future(report(connection, state))
    return web.Response(
        status=201, text=answer, content_type="application/sdp",
        headers={"Location": f"/res/{name}", "ETag": f'"{name}"', "Link": '<stun:127.0.0.1:9>; rel="ice-server"'})


async def delete(request):
    authorize(request)
    state = resources.pop(request.match_info["name"], None)
    say(event="delete", known=state is not None)
    if state:
        await state["connection"].close()
    return web.Response(status=200 if state else 404)


async def drop(request):
    """Ends all sessions, and is busy for some offers."""
    global busy
    busy = int(request.query.get("busy", 0))
    states = list(resources.values())
    resources.clear()
    await asyncio.gather(*(state["connection"].close() for state in states))
    return web.Response(status=200)


application = web.Application(client_max_size=65536)
application.router.add_post("/whip", offer)
application.router.add_post("/elsewhere", offer)
application.router.add_post("/drop", drop)
application.router.add_delete("/res/{name}", delete)
tls = None
if options.certificate:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(options.certificate, options.key)
web.run_app(application, host=options.host, port=options.port, ssl_context=tls, print=None)
