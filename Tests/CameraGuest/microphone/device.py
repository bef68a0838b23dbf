"""The descriptors of the microphone, as in USB Audio 1.0, and its answers to control requests."""

import struct

from webcam.descriptors import block, u16

RATE, CHANNELS, FRAME = 48_000, 2, 4  # frames per second of its own clock; bytes of a frame
VENDOR, PRODUCT = 0x1209, 0x5541
STRINGS = {1: "Guest Acoustics", 2: "Software Microphone"}
CONTROL_INTERFACE, STREAMING_INTERFACE, ENDPOINT = 0, 1, 0x81
MICROPHONE, OUTPUT_TERMINAL = 1, 2
LARGEST_PACKET = 51 * FRAME  # of a millisecond, which has 48 frames

AUDIO, CONTROL, STREAMING = 1, 1, 2  # class, subclasses
CS_INTERFACE, CS_ENDPOINT = 0x24, 0x25
FREQUENCY = RATE.to_bytes(3, "little")


def device():
    # The serial number is string 3.
    return block(1, u16(0x0200), 0, 0, 0, 64, u16(VENDOR), u16(PRODUCT), u16(0x0100), 1, 2, 3, 1)


def configuration():
    functions = (
        block(CS_INTERFACE, 2, MICROPHONE, u16(0x0201), 0, CHANNELS, u16(3), 0, 0)
        + block(CS_INTERFACE, 3, OUTPUT_TERMINAL, u16(0x0101), 0, MICROPHONE, 0))
    interfaces = (
        block(4, CONTROL_INTERFACE, 0, 0, AUDIO, CONTROL, 0, 0),
        block(CS_INTERFACE, 1, u16(0x0100), u16(9 + len(functions)), 1, STREAMING_INTERFACE), functions,
        # Without a stream, and with one of 16-bit samples.
        block(4, STREAMING_INTERFACE, 0, 0, AUDIO, STREAMING, 0, 0),
        block(4, STREAMING_INTERFACE, 1, 1, AUDIO, STREAMING, 0, 0),
        block(CS_INTERFACE, 1, OUTPUT_TERMINAL, 1, u16(1)),
        block(CS_INTERFACE, 2, 1, CHANNELS, 2, 16, 1, FREQUENCY),
        # Isochronous and asynchronous, each millisecond.
        block(5, ENDPOINT, 5, u16(LARGEST_PACKET), 4, 0, 0),
        block(CS_ENDPOINT, 1, 0, 0, u16(0)),
    )
    body = b"".join(interfaces)
    return block(2, u16(9 + len(body)), 2, 1, 0, 0x80, 50) + body


def string(index, serial):
    if index == 0:
        return block(3, u16(0x0409))
    text = serial if index == 3 else STRINGS.get(index)
    return None if text is None else block(3, text.encode("utf-16-le"))


def answer(setup, serial):
    """The answer to a control request, empty for one without; None refuses it."""
    kind, request, value, _, length = struct.unpack("<BBHHH", setup)
    if kind & 0x60 == 0:
        found = standard(request, value, serial)
    elif kind == 0xA2:  # which rate it has
        found = FREQUENCY
    else:
        found = b"" if kind == 0x22 else None
    return found if found is None else found[:length]


def standard(request, value, serial):
    if request == 6:  # GET_DESCRIPTOR
        kind, index = value >> 8, value & 0xFF
        if kind == 1:
            return device()
        if kind == 2:
            return configuration()
        return string(index, serial) if kind == 3 else None
    # GET_STATUS, GET_CONFIGURATION, GET_INTERFACE; all others set something.
    return {0: b"\0\0", 8: b"\1", 10: b"\0"}.get(request, b"")
