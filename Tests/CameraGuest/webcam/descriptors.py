"""The USB descriptors of the webcam, as in USB Video Class 1.1."""

import struct
import uuid

from . import modes
from .controls import CAMERA, PROCESSING

VENDOR, PRODUCT = 0x1209, 0x5643  # 1209 is for projects without a vendor's number
STRINGS = {1: "Guest Optics", 2: "Software Webcam", 3: "SW0001"}

CONTROL_INTERFACE, STREAMING_INTERFACE, ENDPOINT = 0, 1, 0x81
CAMERA_TERMINAL, PROCESSING_UNIT, OUTPUT_TERMINAL = 1, 2, 3

VIDEO, CONTROL, STREAMING = 14, 1, 2  # class, subclasses
CS_INTERFACE = 0x24

# A four-character code, and this.
MEDIA = "-0000-0010-8000-00aa00389b71"
YUY2 = uuid.UUID("32595559" + MEDIA).bytes_le
ENCODED = {modes.H264: uuid.UUID("34363248" + MEDIA).bytes_le, modes.HEVC: uuid.UUID("43564548" + MEDIA).bytes_le}


def block(kind, *fields):
    """One descriptor: its length, its kind, its fields."""
    body = b"".join(field if isinstance(field, bytes) else bytes([field]) for field in fields)
    return bytes([len(body) + 2, kind]) + body


def u16(value):
    return struct.pack("<H", value)


def u32(value):
    return struct.pack("<I", value)


def device():
    # Miscellaneous, common, interface association; the serial number is string 3.
    return block(1, u16(0x0200), 0xEF, 2, 1, 64, u16(VENDOR), u16(PRODUCT), u16(0x0100), 1, 2, 3, 1)


def string(index, serial):
    if index == 0:
        return block(3, u16(0x0409))
    text = serial if index == 3 else STRINGS.get(index)
    return None if text is None else block(3, text.encode("utf-16-le"))


def configuration():
    interfaces = (
        block(11, CONTROL_INTERFACE, 2, VIDEO, 3, 0, 2),
        block(4, CONTROL_INTERFACE, 0, 0, VIDEO, CONTROL, 0, 2),
        control_functions(),
        block(4, STREAMING_INTERFACE, 0, 1, VIDEO, STREAMING, 0, 0),
        streaming_functions(),
        block(5, ENDPOINT, 2, u16(512), 0),
    )
    body = b"".join(interfaces)
    return block(2, u16(9 + len(body)), 2, 1, 0, 0x80, 250) + body


def control_functions():
    functions = (
        block(CS_INTERFACE, 2, CAMERA_TERMINAL, u16(0x0201), 0, 0, u16(0), u16(0), u16(0), 3, bitmap(CAMERA, 3)),
        block(CS_INTERFACE, 5, PROCESSING_UNIT, CAMERA_TERMINAL, u16(0), 2, bitmap(PROCESSING, 2), 0, 0),
        block(CS_INTERFACE, 3, OUTPUT_TERMINAL, u16(0x0101), 0, PROCESSING_UNIT, 0),
    )
    body = b"".join(functions)
    return block(CS_INTERFACE, 1, u16(0x0110), u16(13 + len(body)), u32(48_000_000), 1, STREAMING_INTERFACE) + body


def bitmap(controls, length):
    return sum(1 << control.bit for control in controls.values()).to_bytes(length, "little")


def streaming_functions():
    body = b"".join(format_functions(index, name) for index, name in enumerate(modes.FORMATS, 1))
    count = len(modes.FORMATS)
    header = block(
        CS_INTERFACE, 1, count, u16(13 + count + len(body)), ENDPOINT, 0, OUTPUT_TERMINAL, 0, 0, 0, 1, bytes(count))
    return header + body


def format_functions(index, name):
    frames = modes.of_format(name)
    # BT.709 primaries and transfer, BT.601 matrix
    color = block(CS_INTERFACE, 13, 1, 1, 4)
    if name in ENCODED:
        # Frames of a variable size.
        head = block(CS_INTERFACE, 0x10, index, len(frames), ENCODED[name], 16, 1, 0, 0, 0, 0, 1)
        return head + b"".join(frame_based(number, mode) for number, mode in enumerate(frames, 1)) + color
    if name == modes.MJPEG:
        head, kind = block(CS_INTERFACE, 6, index, len(frames), 1, 1, 0, 0, 0, 0), 7
    else:
        head, kind = block(CS_INTERFACE, 4, index, len(frames), YUY2, 16, 1, 0, 0, 0, 0), 5
    return head + b"".join(frame(kind, number, mode) for number, mode in enumerate(frames, 1)) + color


def frame(kind, number, mode):
    bits = mode.size * 8
    return block(
        CS_INTERFACE, kind, number, 0, u16(mode.width), u16(mode.height), u32(bits * mode.rates[-1]),
        u32(bits * mode.rates[0]), u32(mode.size), u32(modes.interval(mode.rates[0])), len(mode.rates),
        *(u32(modes.interval(rate)) for rate in mode.rates))


def frame_based(number, mode):
    """Without the size of the buffer; 0 bytes a line."""
    return block(
        CS_INTERFACE, 0x11, number, 0, u16(mode.width), u16(mode.height), u32(500_000), u32(8_000_000),
        u32(modes.interval(mode.rates[0])), len(mode.rates), u32(0), *(u32(modes.interval(rate)) for rate in mode.rates))
