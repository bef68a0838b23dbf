"""Answers control requests: standard ones, those to the units, and the negotiation of the stream."""

import struct

from . import controls, descriptors, modes
from .controls import GET_CUR, GET_DEF, GET_INFO, GET_LEN, GET_MAX, GET_MIN, SET_CUR
from .stream import PAYLOAD

PROBE, COMMIT = 1, 2
NEGOTIATION = struct.Struct("<HBBIHHHHHIIIBBBB")
UNITS = {descriptors.CAMERA_TERMINAL: controls.CAMERA, descriptors.PROCESSING_UNIT: controls.PROCESSING}


class Device:
    """The webcam without its cable."""

    def __init__(self, stream, serial):
        self.stream, self.serial = stream, serial
        self.plug()

    def plug(self):
        """Power is on: all is as it was made."""
        controls.reset_all()
        self.stream.stop()
        self.error = 0
        self.probe = (1, 1, modes.interval(modes.MODES[0].rates[0]))

    def control(self, setup, data):
        """The answer to a request, empty for one without; None refuses it."""
        kind, request, value, index, length = struct.unpack("<BBHHH", setup)
        if kind & 0x60 == 0:
            answer = self.standard(kind, request, value)
        elif kind & 0x60 == 0x20 and kind & 0x1F == 1:
            answer = self.video(request, value >> 8, index & 0xFF, index >> 8, data)
        else:
            answer = None
        return answer if answer is None else answer[:length]

    def standard(self, kind, request, value):
        if request == 6:  # GET_DESCRIPTOR
            return self.descriptor(value >> 8, value & 0xFF)
        if request == 0:  # GET_STATUS
            return b"\0\0"
        if request == 8:  # GET_CONFIGURATION
            return b"\1"
        if request == 10:  # GET_INTERFACE
            return b"\0"
        if request == 1 and kind & 0x1F == 2:  # CLEAR_FEATURE of the endpoint: the stream is over
            self.stream.stop()
        return b""

    def descriptor(self, kind, index):
        if kind == 1:
            return descriptors.device()
        if kind == 2:
            return descriptors.configuration()
        if kind == 3:
            return descriptors.string(index, self.serial)
        return None

    def video(self, request, selector, interface, unit, data):
        if interface == descriptors.STREAMING_INTERFACE:
            return self.negotiate(request, selector, data)
        if unit == 0 and selector == 2 and request == GET_CUR:  # what was wrong with the last one
            return bytes([self.error])
        control = UNITS.get(unit, {}).get(selector)
        if control is None:
            self.error = 6  # no such control
            return None
        if request == SET_CUR:
            accepted = control.take(data)
            self.error = 0 if accepted else 4  # out of range
            return b"" if accepted else None
        answer = control.answer(request)
        self.error = 0 if answer is not None else 7  # no such request
        return answer

    def negotiate(self, request, selector, data):
        if selector not in (PROBE, COMMIT):
            return None
        if request == SET_CUR:
            self.probe = self.settle(data)
            if selector == COMMIT:
                _, mode, rate = self.chosen(self.probe)
                self.stream.start(mode, rate)
            return b""
        if request == GET_LEN:
            return struct.pack("<H", NEGOTIATION.size)
        if request == GET_INFO:
            return b"\x03"
        if request in (GET_CUR, GET_MIN, GET_MAX, GET_DEF):
            return self.offer()
        return None

    def settle(self, data):
        """The nearest that we have to what is asked for."""
        _, form, frame, interval = struct.unpack_from("<HBBI", data.ljust(8, b"\0"))
        form = form if 1 <= form <= len(modes.FORMATS) else 1
        frames = modes.of_format(modes.FORMATS[form - 1])
        frame = frame if 1 <= frame <= len(frames) else 1
        intervals = [modes.interval(rate) for rate in frames[frame - 1].rates]
        return form, frame, min(intervals, key=lambda mine: abs(mine - interval))

    def chosen(self, probe):
        form, frame, interval = probe
        mode = modes.of_format(modes.FORMATS[form - 1])[frame - 1]
        return form, mode, next(rate for rate in mode.rates if modes.interval(rate) == interval)

    def offer(self):
        form, frame, interval = self.probe
        _, mode, _ = self.chosen(self.probe)
        return NEGOTIATION.pack(
            0, form, frame, interval, 0, 0, 0, 0, 0, mode.size, PAYLOAD, 48_000_000, 3, 0, 0, 0)
