"""The controls of the camera terminal and of the processing unit. They remember what is set until power is lost."""

from dataclasses import dataclass

SET_CUR = 0x01
GET_CUR, GET_MIN, GET_MAX, GET_RES, GET_LEN, GET_INFO, GET_DEF = range(0x81, 0x88)

AUTO_EXPOSURE = {"manual": 1, "aperture_priority": 8}


@dataclass
class Control:
    """One control, by the numbers of UVC 1.1."""

    bit: int  # in the unit's bitmap
    length: int  # bytes
    minimum: int
    maximum: int
    step: int
    default: int
    signed: bool = False

    def __post_init__(self):
        self.value = self.default

    def answer(self, request):
        """The bytes for a request to read, or None when there is no such request."""
        if request == GET_LEN:
            return self.length.to_bytes(2, "little")
        if request == GET_INFO:
            return b"\x03"  # can be read and set
        values = {
            GET_CUR: self.value, GET_MIN: self.minimum, GET_MAX: self.maximum, GET_RES: self.step,
            GET_DEF: self.default,
        }
        if request not in values:
            return None
        return values[request].to_bytes(self.length, "little", signed=self.signed)

    def take(self, data):
        value = int.from_bytes(data[: self.length], "little", signed=self.signed)
        accepted = self.minimum <= value <= self.maximum
        if accepted:
            self.value = value
        return accepted

    def reset(self):
        self.value = self.default


# By selector. Of the exposure mode, the step is the bitmap of the modes there are.
CAMERA = {
    0x02: Control(1, 1, 1, 8, 0x09, AUTO_EXPOSURE["aperture_priority"]),
    0x03: Control(2, 1, 0, 1, 1, 1),
    0x04: Control(3, 4, 3, 2047, 1, 250),
    0x06: Control(5, 2, 0, 250, 5, 0),
    0x08: Control(17, 1, 0, 1, 1, 1),
}
PROCESSING = {
    0x02: Control(0, 2, -64, 64, 1, 0, signed=True),
    0x03: Control(1, 2, 0, 95, 1, 32),
    0x04: Control(9, 2, 0, 100, 1, 10),
    0x05: Control(10, 1, 0, 2, 1, 1),
    0x0A: Control(6, 2, 2800, 6500, 10, 4600),
    0x0B: Control(12, 1, 0, 1, 1, 1),
}
NAMES = {
    "exposure_mode": CAMERA[0x02], "exposure_priority": CAMERA[0x03], "exposure_time": CAMERA[0x04],
    "focus": CAMERA[0x06], "focus_auto": CAMERA[0x08], "brightness": PROCESSING[0x02], "contrast": PROCESSING[0x03],
    "gain": PROCESSING[0x04], "power_line": PROCESSING[0x05], "white_balance": PROCESSING[0x0A],
    "white_balance_auto": PROCESSING[0x0B],
}


def lengthens_exposure():
    """Whether the camera may lower its rate when it is dark."""
    return NAMES["exposure_mode"].value != AUTO_EXPOSURE["manual"] and NAMES["exposure_priority"].value == 1


def light():
    """How bright pictures are, 1 by the automatic and by the usual exposure time."""
    if NAMES["exposure_mode"].value != AUTO_EXPOSURE["manual"]:
        return 1
    return NAMES["exposure_time"].value / NAMES["exposure_time"].default


def reset_all():
    for control in NAMES.values():
        control.reset()
