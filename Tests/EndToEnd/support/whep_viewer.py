"""Viewers of `/whep` on aiortc, which decode what they are shown; says what each has seen, one JSON object a line.

Run by the Python that has aiortc. A line on standard input has a batch of viewers come, see something and leave.
"""

import argparse
import array
import asyncio
import json
import sys

import aiohttp
from aiortc import RTCPeerConnection, RTCSessionDescription

options = argparse.ArgumentParser()
options.add_argument("url", help="of the server's page")
options = options.parse_args()
FRAMES = 5  # that each waits for


async def consume(track, seen):
    try:
        while True:
            frame = await track.recv()
            seen[track.kind] += 1
            if track.kind == "audio":
                samples = array.array("h", bytes(frame.planes[0])[:frame.samples * 4])
                seen["peak"] = max(seen["peak"], max(map(abs, samples)))
    except Exception:  # The track has ended.
        pass


async def view(web, kinds, leave):
    """One viewer; `leave` is how it goes: `delete`, `close`, or `vanish` without a word."""
    connection = RTCPeerConnection()
    seen = {"video": 0, "audio": 0, "peak": 0}
    connection.on("track", lambda track: asyncio.ensure_future(consume(track, seen)))
    for kind in kinds:
        connection.addTransceiver(kind, direction="recvonly")
    await connection.setLocalDescription(await connection.createOffer())
    async with web.post(options.url + "whep", data=connection.localDescription.sdp,
                        headers={"Content-Type": "application/sdp"}) as response:
        answer = await response.text()
        if response.status != 201:
            await connection.close()
            return {"status": response.status, "answer": answer}
        resource = options.url + response.headers["Location"]
    await connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
    wanted = ["video", "audio"] if "audio" in kinds and "m=audio 0" not in answer else ["video"]
    for _ in range(600):
        if all(seen[kind] >= FRAMES for kind in wanted):
            break
        await asyncio.sleep(0.1)
    if leave == "delete":
        async with web.delete(resource) as response:
            seen["deleted"] = response.status
    if leave == "vanish":
        # Its sockets close, and nothing is said.
        transport = connection.getTransceivers()[0].receiver.transport
        await transport.transport.stop()
    await connection.close()
    return {"status": 201, "answer": answer, **seen}


async def main():
    loop = asyncio.get_running_loop()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as web:
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            batch = json.loads(line)
            seen = await asyncio.gather(
                *(view(web, batch["kinds"], batch["leave"]) for _ in range(batch["count"])), return_exceptions=True)
            print(json.dumps({"event": "batch", "viewers": [
                viewer if isinstance(viewer, dict) else {"status": 0, "answer": repr(viewer)} for viewer in seen]}), flush=True)


asyncio.run(main())
