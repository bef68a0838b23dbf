"""The stream of frames: when the next is due, and how it is cut into bulk transfers."""

import math
import random
import time

from . import controls, modes, pictures

PAYLOAD = 16384  # bytes of one transfer, header included
HEADER = 2

FRAME_ID, END_OF_FRAME, ERROR, END_OF_HEADER = 0x01, 0x02, 0x40, 0x80

DAMAGES = ("error", "truncate", "garbage", "missing-eoi", "drop")


class Stream:
    """What the endpoint gives. A frame that nobody has fetched when the next is due is lost, as in a camera."""

    def __init__(self, clock=time.monotonic):
        self.clock = clock
        self.mode, self.rate = modes.MODES[0], 30
        self.dark = False
        self.flashes = False
        self.stalled_until = 0
        self.damage = dict.fromkeys(DAMAGES, 0)  # how many frames still get it
        self.sent = 0  # frames
        # Of the frames that are exposed and read out already: a change shows two frames later, as in a camera.
        self.light = [1, 1]
        self.stop()

    def stop(self):
        self.due, self.number, self.toggle, self.transfers = None, 0, 0, []

    def start(self, mode, rate):
        self.stop()
        self.mode, self.rate = mode, rate

    def interval(self, slow):
        return (2 if self.dark and slow else 1) / self.rate

    def next_event(self):
        """When `advance` has something to do."""
        return None if self.due is None else max(self.due, self.stalled_until)

    def advance(self, wanted, slow):
        """Makes the frame that is due, if any. `wanted`: whether a transfer waits for it."""
        now = self.clock()
        if self.due is None:
            if not wanted:
                return
            self.due = now + self.interval(slow)
            if self.flashes:
                # A picture at each whole second.
                self.due = math.ceil(self.due * self.rate) / self.rate
        if now < self.next_event():
            return
        if now - self.due > 1:
            self.due = now  # after a stall, no burst
        is_flash = self.due % 1 < 0.5 / self.rate or self.due % 1 > 1 - 0.5 / self.rate
        self.due += self.interval(slow)
        if not self.transfers or not self.transfers_begun:
            self.transfers = self.make_transfers(is_flash)
        self.number += 1

    def take(self):
        """The bytes of the next transfer, or None."""
        if not self.transfers or self.clock() < self.stalled_until:
            return None
        self.transfers_begun = True
        transfer = self.transfers.pop(0)
        self.sent += not self.transfers
        return transfer

    def uses(self, damage):
        left = self.damage[damage]
        if left:
            self.damage[damage] -= 1
        return left > 0

    def make_transfers(self, is_flash):
        self.transfers_begun = False
        self.light.append(controls.light())
        if self.uses("drop"):
            self.light.pop(0)
            return []
        data = pictures.picture(self.mode, self.number, self.light.pop(0))
        if self.flashes:
            data = bytes((pictures.WHITE if is_flash else pictures.BLACK, 128)) * (len(data) // 2)
        flags = END_OF_HEADER | self.toggle
        self.toggle ^= FRAME_ID
        if self.uses("error"):
            flags |= ERROR
        if self.uses("truncate"):
            data = data[: len(data) // 2]
        if self.uses("garbage"):
            data = random.Random(self.number).randbytes(len(data))
        if self.uses("missing-eoi"):
            data = data[:-2]
        room = PAYLOAD - HEADER
        parts = [data[at : at + room] for at in range(0, len(data), room)]
        last = len(parts) - 1
        return [
            bytes((HEADER, flags | (END_OF_FRAME if index == last else 0))) + part
            for index, part in enumerate(parts)
        ]
