"""The wire of USB/IP: requests from the host controller, answers to it. All numbers are big-endian."""

import errno
import struct

SUBMIT, UNLINK, RETURN_SUBMIT, RETURN_UNLINK = 1, 2, 3, 4
HEAD = struct.Struct(">5I")  # command, sequence number, device, direction, endpoint
SUBMISSION = struct.Struct(">IiiiI8s")
RESULT = struct.Struct(">5Iiiiii8x")
PACKET = struct.Struct(">IIII")  # offset, room, length, status
LENGTH = 48

REFUSED, CANCELLED = -errno.EPIPE, -errno.ECONNRESET


class Request:
    """A transfer that the host asks for."""

    def __init__(self, number, inward, endpoint, length, setup, data, packets=()):
        self.number, self.inward, self.endpoint = number, inward, endpoint
        self.length, self.setup, self.data = length, setup, data
        self.packets = packets  # of an isochronous transfer: where each goes, and its room


def parse(buffer):
    """Takes whole messages from the front of a bytearray: a Request, or the number of one to cancel with the
    number of the message."""
    while len(buffer) >= LENGTH:
        command, number, _, direction, endpoint = HEAD.unpack_from(buffer)
        if command == UNLINK:
            (victim,) = struct.unpack_from(">I", buffer, HEAD.size)
            del buffer[:LENGTH]
            yield victim, number
            continue
        if command != SUBMIT:
            raise ValueError(f"unknown command {command} from the host controller")
        _, length, _, count, _, setup = SUBMISSION.unpack_from(buffer, HEAD.size)
        start = LENGTH + (0 if direction else length)
        end = start + max(0, count) * PACKET.size
        if len(buffer) < end:
            return
        data = bytes(buffer[LENGTH:start])
        packets = [PACKET.unpack_from(buffer, at)[:2] for at in range(start, end, PACKET.size)]
        del buffer[:end]
        yield Request(number, direction == 1, endpoint, length, setup, data, packets)


def result(request, data=b"", status=0):
    """The message that completes a request."""
    count = len(data) if request.inward else len(request.data) if status == 0 else 0
    return RESULT.pack(RETURN_SUBMIT, request.number, 0, 0, 0, status, count, 0, 0, 0) + data


def isochronous_result(request, parts):
    """The message that completes an isochronous transfer; the parts follow each other without a gap."""
    data = b"".join(parts)
    head = RESULT.pack(
        RETURN_SUBMIT, request.number, 0, 0, 0, 0, len(data), 0, len(parts), 0)
    packets = (PACKET.pack(offset, room, len(part), 0) for (offset, room), part in zip(request.packets, parts))
    return head + data + b"".join(packets)


def cancelled(number, found):
    return RESULT.pack(RETURN_UNLINK, number, 0, 0, 0, CANCELLED if found else 0, 0, 0, 0, 0)
