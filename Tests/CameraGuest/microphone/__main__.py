"""The microphone as a program, in the guest: `python3 -m microphone SOCKET [--serial TEXT] [--ppm N]`.

It plugs itself in and obeys lines that come over the unix socket; each is answered by one line of JSON:

    pull | plug           the cable: out; in
    stall | resume        it hangs: no packet comes; they come again
    state                 whether it is plugged in, and how many packets it has sent
"""

import argparse
import os
import time

from webcam import usbip
from webcam.gadget import Gadget

from . import device
from .sound import Clock


class Microphone(Gadget):
    """The microphone, with its cable."""

    def __init__(self, path, serial, ppm):
        super().__init__(path)
        self.serial, self.clock = serial, Clock(ppm)
        self.due = None  # when the first of the transfers that wait is complete
        self.is_stalled = False
        self.sent = 0

    def power_on(self):
        self.clock.stop()
        self.due = None

    def power_off(self):
        self.clock.stop()
        self.due = None

    def control(self, setup, data):
        return device.answer(setup, self.serial)

    def next_event(self):
        return None if self.is_stalled or not self.waiting else self.due

    def work(self):
        if self.is_stalled:
            return
        answers = []
        now = time.monotonic()
        while self.waiting:
            request = self.waiting[0]
            length = len(request.packets) / 1000
            # The first of a stream begins when it is asked for; what nobody has asked for is lost.
            if self.due is None or now - self.due > 0.2:
                self.due = now + length
                self.clock.resume(now)
            if now < self.due:
                break
            begin = self.due - length
            parts = [
                self.clock.take(begin + (place + 1) / 1000, room // device.FRAME)
                for place, (_, room) in enumerate(request.packets)]
            answers.append(usbip.isochronous_result(self.waiting.pop(0), parts))
            self.sent += len(parts)
            self.due = self.due + len(self.waiting[0].packets) / 1000 if self.waiting else None
        self.send(answers)

    def obey(self, order, *_):
        if order == "pull":
            self.pull()
        elif order == "plug":
            self.plug()
        elif order in ("stall", "resume"):
            self.is_stalled = order == "stall"
        elif order != "state":
            raise ValueError("no such order")
        return {"plugged": self.cable is not None, "sent": self.sent}


def main():
    parser = argparse.ArgumentParser(prog="microphone")
    parser.add_argument("socket")
    parser.add_argument("--serial", default="SM0001")
    parser.add_argument("--ppm", type=float, default=0)
    options = parser.parse_args()
    microphone = Microphone(options.socket, options.serial, options.ppm)
    microphone.plug()
    try:
        microphone.run()
    finally:
        os.unlink(options.socket)


main()
