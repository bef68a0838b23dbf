"""The USB ports of the guest: the kernel's virtual host controller takes a socket as the cable."""

import pathlib
import socket
import time

CONTROLLER = pathlib.Path("/sys/devices/platform/vhci_hcd.0")
FREE = 4
HIGH_SPEED = 3
DEVICE = 0x10001  # bus 1, device 1; only the kernel's messages show it


def free_port():
    for line in (CONTROLLER / "status").read_text().splitlines()[1:]:
        hub, port, state = line.split()[:3]
        if hub == "hs" and int(state) == FREE:
            return int(port)
    return None


def plug(limit=5):
    """Our end of a cable whose other end is in a port."""
    if not CONTROLLER.exists():
        raise RuntimeError("this kernel has no vhci_hcd; run this in the guest (Tests/CameraGuest/guest)")
    deadline = time.monotonic() + limit
    while True:
        port = free_port()
        if port is not None:
            break
        if time.monotonic() > deadline:
            raise RuntimeError("all USB ports of the guest are taken")
        time.sleep(0.02)
    ours, theirs = socket.socketpair()
    with theirs:
        (CONTROLLER / "attach").write_text(f"{port} {theirs.fileno()} {DEVICE} {HIGH_SPEED}")
    return ours
