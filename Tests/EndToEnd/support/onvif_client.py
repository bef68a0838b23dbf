"""Finds an ONVIF device, asks it what Home Assistant asks, and waits until it says goodbye: with the clients of other
projects (WSDiscovery, onvif-zeep-async). `onvif_client.py USER PASSWORD`, a JSON line for each step."""

import asyncio
import json
import os
import sys
import threading
from urllib.parse import urlsplit

import onvif
import zeep
from wsdiscovery import QName
from wsdiscovery.discovery import ThreadedWSDiscovery

TYPE = QName("http://www.onvif.org/ver10/network/wsdl", "NetworkVideoTransmitter")


def say(step, **values):
    print(json.dumps({"step": step, **values}), flush=True)


async def steps(camera):
    await camera.update_xaddrs()
    device = await camera.create_devicemgmt_service()
    information = await device.GetDeviceInformation()
    interfaces = await device.GetNetworkInterfaces()
    say("device", date=(await device.GetSystemDateAndTime()).UTCDateTime.Date.Year, serial=information.SerialNumber,
        address=interfaces[0].Info.HwAddress)
    media = await camera.create_media_service()
    profile = (await media.GetProfiles())[0]
    encoder = profile.VideoEncoderConfiguration
    request = media.create_type("GetStreamUri")
    request.ProfileToken = profile.token
    request.StreamSetup = {"Stream": "RTP-Unicast", "Transport": {"Protocol": "RTSP"}}
    image = await camera.get_snapshot(profile.token)
    say("stream", uri=(await media.GetStreamUri(request)).Uri, encoding=encoder.Encoding, width=encoder.Resolution.Width,
        sources=len(await media.GetVideoSources()), snapshot=image[:2].hex())


async def ask(address, user, password):
    found = urlsplit(address)
    camera = onvif.ONVIFCamera(
        found.hostname, found.port, user, password, os.path.join(os.path.dirname(onvif.__file__), "wsdl"), no_cache=True)
    try:
        await steps(camera)
    finally:
        await camera.close()


async def refused(address, user):
    try:
        await ask(address, user, "wrong")
    except zeep.exceptions.Fault as error:
        say("refused", error=str(error))


def main():
    gone = threading.Event()
    discovery = ThreadedWSDiscovery()
    discovery.setRemoteServiceByeCallback(lambda _: gone.set())
    discovery.start()
    address = discovery.searchServices(types=[TYPE], timeout=1)[0].getXAddrs()[0]
    say("found", address=address)
    asyncio.run(ask(address, *sys.argv[1:3]))
    asyncio.run(refused(address, sys.argv[1]))
    say("bye", came=gone.wait(60))
    discovery.stop()


main()
