"""What a USB device made of software is without its function: its cable, its control requests, and the socket of its orders."""

import json
import selectors
import socket
import time

from . import port, usbip


class Gadget:
    """A device with its cable, and the socket of its orders."""

    def __init__(self, path):
        self.cable, self.received, self.waiting = None, bytearray(), []
        self.events = selectors.DefaultSelector()
        self.orders = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.orders.bind(path)
        self.orders.listen()
        self.events.register(self.orders, selectors.EVENT_READ, self.admit)

    # What a device does

    def next_event(self):
        """When `work` has something to do; None for nothing until the host asks."""
        raise NotImplementedError

    def work(self):
        """Makes what is due, and delivers it to the requests that wait."""
        raise NotImplementedError

    def power_on(self):
        """All is as it was made."""
        raise NotImplementedError

    def power_off(self):
        raise NotImplementedError

    def control(self, setup, data):
        """The answer to a control request, empty for one without; None refuses it."""
        raise NotImplementedError

    def obey(self, order, *arguments):
        """Follows an order; returns the state after it."""
        raise NotImplementedError

    def run(self):
        while True:
            event = self.next_event()
            for key, _ in self.events.select(None if event is None else max(0, event - time.monotonic())):
                key.data()
            self.work()

    # The cable

    def plug(self):
        if self.cable:
            return
        self.power_on()
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
        self.power_off()

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
                answer = self.control(message.setup, message.data)
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
