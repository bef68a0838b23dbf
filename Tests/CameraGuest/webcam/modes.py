"""What the webcam can do: like many of its kind, large pictures are fast only as MJPEG. Some encode H.264 and H.265 too."""

from dataclasses import dataclass

MJPEG, YUYV, H264, HEVC = "MJPEG", "YUYV", "H264", "HEVC"


@dataclass(frozen=True)
class Mode:
    """A frame descriptor."""

    format: str
    width: int
    height: int
    rates: tuple  # frames per second, the first is the default

    @property
    def size(self):
        """The most bytes that a frame of it has."""
        return self.width * self.height * 2


FORMATS = [MJPEG, YUYV]
MODES = [
    Mode(MJPEG, 640, 480, (30, 15, 10)),
    Mode(MJPEG, 320, 240, (30, 15, 10)),
    Mode(MJPEG, 1280, 720, (30, 15, 10)),
    Mode(YUYV, 640, 480, (30, 15, 10)),
    Mode(YUYV, 320, 240, (30, 15, 10)),
    Mode(YUYV, 1280, 720, (10,)),
]
ENCODED = [
    Mode(H264, 640, 480, (30, 15)),
    Mode(HEVC, 640, 480, (30,)),
]


def add_encoded():
    """From now on the webcam encodes."""
    FORMATS.extend((H264, HEVC))
    MODES.extend(ENCODED)


def of_format(name):
    return [mode for mode in MODES if mode.format == name]


def interval(rate):
    """In the unit of UVC, 100 ns."""
    return 10_000_000 // rate
