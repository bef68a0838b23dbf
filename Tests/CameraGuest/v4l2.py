"""As much of V4L2 as the tests need to set the stage: controls, inputs, capabilities. 64-bit Linux."""

import contextlib
import fcntl
import os
import re
import struct

QUERYCTRL, G_CTRL, S_CTRL, S_INPUT, QUERYCAP = 0xC0445624, 0xC008561B, 0xC008561C, 0xC0045627, 0x80685600
NEXT = 0x80000000
CLASS = 6  # a heading, no control

CAPTURE, CAPTURE_MPLANE = 0x1, 0x1000
CAPTURE_TYPE, CAPTURE_MPLANE_TYPE = 1, 9  # of buffers


@contextlib.contextmanager
def opened(node):
    descriptor = os.open(node, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def capabilities(node):
    """The driver's name and what the node can do."""
    with opened(node) as descriptor:
        answer = fcntl.ioctl(descriptor, QUERYCAP, bytes(104))
    driver = answer[:16].rstrip(b"\0").decode()
    (of_node,) = struct.unpack_from("<I", answer, 88)
    return driver, of_node


def controls(descriptor):
    """The number of each control, by the name that v4l2-ctl gives it."""
    found, number = {}, 0
    while True:
        try:
            answer = fcntl.ioctl(descriptor, QUERYCTRL, struct.pack("<I64x", number | NEXT))
        except OSError:
            return found
        number, kind = struct.unpack_from("<II", answer)
        name = answer[8:40].split(b"\0")[0].decode().lower()
        if kind != CLASS:
            found[re.sub(r"[^a-z0-9]+", "_", name).strip("_")] = number


def number_of(descriptor, name):
    known = controls(descriptor)
    if name not in known:
        raise ValueError(f"no control '{name}'; there are {', '.join(known)}")
    return known[name]


def set_control(node, name, value=1):
    """Sets a control; pressing a button is setting it."""
    with opened(node) as descriptor:
        fcntl.ioctl(descriptor, S_CTRL, struct.pack("<Ii", number_of(descriptor, name), value))


def get_control(node, name):
    with opened(node) as descriptor:
        answer = fcntl.ioctl(descriptor, G_CTRL, struct.pack("<Ii", number_of(descriptor, name), 0))
    return struct.unpack("<Ii", answer)[1]


def set_input(node, number):
    with opened(node) as descriptor:
        fcntl.ioctl(descriptor, S_INPUT, struct.pack("<i", number))
