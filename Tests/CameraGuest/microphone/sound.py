"""What the microphone hears: silence, and a beep of 30 ms at each whole second of the machine's clock."""

import array
import math

from .device import CHANNELS, FRAME, RATE

BEEP, FREQUENCY, LEVEL = 0.03, 1000, 20_000  # seconds, Hz, of 32767


class Clock:
    """The microphone's clock, and which of its samples has been taken at which time of the machine's."""

    def __init__(self, ppm):
        self.rate = RATE * (1 + ppm * 1e-6)
        self.start, self.taken = None, 0

    def stop(self):
        self.start = None

    def resume(self, now):
        """From now on samples are taken; those before are not."""
        if self.start is None:
            self.start = now
        self.taken = int((now - self.start) * self.rate)

    def take(self, until, room):
        """The samples up to a time of the machine's clock, as many as there is room for."""
        count = max(0, min(room, int((until - self.start) * self.rate) - self.taken))
        first = self.taken
        self.taken += count
        return self.samples(first, count)

    def time(self, number):
        return self.start + number / self.rate

    def samples(self, first, count):
        begin, end = self.time(first), self.time(first + count)
        if int(end) == int(begin) and begin % 1 > BEEP:
            return bytes(count * FRAME)
        values = array.array("h")
        for number in range(first, first + count):
            since = self.time(number) % 1
            value = int(LEVEL * math.cos(2 * math.pi * FREQUENCY * since)) if since < BEEP else 0
            values.extend([value] * CHANNELS)
        return values.tobytes()
