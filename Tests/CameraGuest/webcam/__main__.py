"""The webcam as a program, in the guest: `python3 -m webcam SOCKET [--serial TEXT] [--encodes]`.

It plugs itself in and obeys lines that come over the unix socket; each is answered by one line of JSON:

    pull | plug | blip                the cable: out; in; out and at once in again
    stall [SECONDS] | resume          no data, for a time or until told
    halt                              the endpoint refuses transfers once
    error N | truncate N | garbage N | missing-eoi N | drop N     damages the next N frames
    flash 0|1                         a white picture at each whole second of the clock, black ones between
    dark 0|1                          in the dark, automatic exposure halves the rate unless its priority is off
    state                             what is set, streamed and sent
"""

import argparse
import os
import time

from . import controls, modes, usbip
from .device import Device
from .gadget import Gadget
from .stream import DAMAGES, Stream


class Webcam(Gadget):
    """The webcam, with its cable."""

    def __init__(self, path, serial):
        super().__init__(path)
        self.stream = Stream()
        self.device = Device(self.stream, serial)
        self.halts = 0

    def next_event(self):
        return self.stream.next_event()

    def work(self):
        self.stream.advance(bool(self.waiting), controls.lengthens_exposure())
        self.deliver()

    def power_on(self):
        self.device.plug()

    def power_off(self):
        self.stream.stop()

    def control(self, setup, data):
        return self.device.control(setup, data)

    def deliver(self):
        answers = []
        while self.waiting:
            if self.halts:
                self.halts -= 1
                answers.append(usbip.result(self.waiting.pop(0), status=usbip.REFUSED))
                continue
            transfer = self.stream.take()
            if transfer is None:
                break
            answers.append(usbip.result(self.waiting.pop(0), transfer))
        self.send(answers)

    def obey(self, order, *arguments):
        if order in ("pull", "blip"):
            self.pull()
        if order in ("plug", "blip"):
            self.plug()
        elif order == "stall":
            self.stream.stalled_until = time.monotonic() + (float(arguments[0]) if arguments else 1e6)
        elif order == "resume":
            self.stream.stalled_until = 0
        elif order == "halt":
            self.halts += 1
        elif order in DAMAGES:
            self.stream.damage[order] = int(arguments[0])
        elif order == "flash":
            self.stream.flashes = bool(int(arguments[0]))
        elif order == "dark":
            self.stream.dark = bool(int(arguments[0]))
        elif order not in ("pull", "state"):
            raise ValueError("no such order")
        return self.state()

    def state(self):
        mode = self.stream.mode
        return {
            "plugged": self.cable is not None, "streaming": self.stream.due is not None, "sent": self.stream.sent,
            "mode": [mode.format, mode.width, mode.height, self.stream.rate], "damage": self.stream.damage,
            "controls": {name: control.value for name, control in controls.NAMES.items()},
        }


def main():
    parser = argparse.ArgumentParser(prog="webcam")
    parser.add_argument("socket")
    parser.add_argument("--serial", default="SW0001")
    parser.add_argument("--encodes", action="store_true", help="gives H.264 and H.265 too")
    options = parser.parse_args()
    if options.encodes:
        modes.add_encoded()
    webcam = Webcam(options.socket, options.serial)
    webcam.plug()
    try:
        webcam.run()
    finally:
        os.unlink(options.socket)


main()
