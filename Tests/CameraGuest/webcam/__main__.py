"""The webcam as a program, in the guest: `python3 -m webcam SOCKET [--serial TEXT]`.

It plugs itself in and obeys lines that come over the unix socket; each is answered by one line of JSON:

    pull | plug | blip                the cable: out; in; out and at once in again
    stall [SECONDS] | resume          no data, for a time or until told
    halt                              the endpoint refuses transfers once
    error N | truncate N | garbage N | missing-eoi N | drop N     damages the next N frames
    dark 0|1                          in the dark, automatic exposure halves the rate unless its priority is off
    state                             what is set, streamed and sent
"""

import argparse
import json
import os
import selectors
import socket
import time

from . import controls, port, usbip
from .device import Device
from .stream import DAMAGES, Stream


class Webcam:
    """The device with its cable, and the socket of its orders."""

    def __init__(self, path, serial):
        self.stream = Stream()
        self.device = Device(self.stream, serial)
        self.cable, self.received, self.waiting, self.halts = None, bytearray(), [], 0
        self.events = selectors.DefaultSelector()
        self.orders = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.orders.bind(path)
        self.orders.listen()
        self.events.register(self.orders, selectors.EVENT_READ, self.admit)

    def run(self):
        while True:
            event = self.stream.next_event()
            for key, _ in self.events.select(None if event is None else max(0, event - time.monotonic())):
                key.data()
            self.stream.advance(bool(self.waiting), controls.lengthens_exposure())
            self.deliver()

    # The cable

    def plug(self):
        if self.cable:
            return
        self.device.plug()
        self.cable = port.plug()
        self.events.register(self.cable, selectors.EVENT_READ, self.hear)

    def pull(self):
        if not self.cable:
            return
        self.events.unregister(self.cable)
        self.cable.close()
        self.cable = None
        self.received.clear()
        self.waiting.clear()
        self.stream.stop()

    def hear(self):
        if not self.cable:
            return  # pulled by an order that was read in the same turn
        try:
            data = self.cable.recv(1 << 16)
        except OSError:
            data = b""
        if not data:
            self.pull()
            return
        self.received += data
        answers = []
        for message in usbip.parse(self.received):
            if isinstance(message, tuple):
                answers.append(self.cancel(*message))
            elif message.endpoint == 0:
                answer = self.device.control(message.setup, message.data)
                answers.append(
                    usbip.result(message, status=usbip.REFUSED) if answer is None else usbip.result(message, answer))
            else:
                self.waiting.append(message)
        self.send(answers)

    def cancel(self, victim, number):
        left = [request for request in self.waiting if request.number != victim]
        found = len(left) < len(self.waiting)
        self.waiting = left
        return usbip.cancelled(number, found)

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

    def send(self, answers):
        if answers and self.cable:
            try:
                self.cable.sendall(b"".join(answers))
            except OSError:
                self.pull()

    # The orders

    def admit(self):
        connection, _ = self.orders.accept()
        self.events.register(connection, selectors.EVENT_READ, lambda: self.listen(connection))

    def listen(self, connection):
        line = connection.recv(4096).decode().split()
        if not line:
            self.events.unregister(connection)
            connection.close()
            return
        try:
            answer = self.obey(*line)
        except (TypeError, ValueError, RuntimeError) as error:
            answer = {"error": f"{' '.join(line)}: {error}"}
        connection.sendall(json.dumps(answer).encode() + b"\n")

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
    options = parser.parse_args()
    webcam = Webcam(options.socket, options.serial)
    webcam.plug()
    try:
        webcam.run()
    finally:
        os.unlink(options.socket)


main()
