"""vivid, the kernel's virtual camera: its nodes, its faults, its unplugging. For use in the guest."""

import pathlib
import re
import subprocess
import time

import v4l2

DRIVER = pathlib.Path("/sys/bus/platform/drivers/vivid")
DEVICE = "vivid.0"  # of the driver; has all instances
CLASS = pathlib.Path("/sys/class/video4linux")

WEBCAM, TV, S_VIDEO, HDMI = range(4)  # its inputs, when it is not told otherwise
HD_30 = 5  # index of the DV timings 1280x720p30

# The menu of the controls `standard_signal_mode` and `dv_timings_signal_mode`
CURRENT, NO_SIGNAL, NO_LOCK, OUT_OF_RANGE, SELECTED = range(5)


def node(instance=0):
    """The node that captures from an instance, or None while it is unbound."""
    for entry in CLASS.glob("video*"):
        try:
            if (entry / "name").read_text().strip() == f"vivid-{instance:03d}-vid-cap":
                return f"/dev/{entry.name}"
        except OSError:
            continue
    return None


class Camera:
    """One instance of vivid."""

    def __init__(self, instance=0):
        self.instance = instance

    def node(self):
        found = node(self.instance)
        if found is None:
            raise RuntimeError(f"there is no vivid.{self.instance}; kernel argument vivid.n_devs says how many there are")
        return found

    def set(self, name, value=1):
        v4l2.set_control(self.node(), name, value)

    def get(self, name):
        return v4l2.get_control(self.node(), name)

    def select(self, number):
        """Takes another input: WEBCAM, TV, S_VIDEO, HDMI."""
        v4l2.set_input(self.node(), number)

    def connect_hdmi(self, timings=HD_30):
        """Takes the HDMI input with a signal of these timings; in the beginning it has 60 frames a second."""
        self.select(HDMI)
        subprocess.run(
            ["v4l2-ctl", "-d", self.node(), f"--set-dv-bt-timings=index={timings}"], check=True, capture_output=True)

    def send_timings(self, number):
        """Lets the signal at the HDMI input have other timings, by their index; who captures must adopt them."""
        self.set("dv_timings", number)
        self.set("dv_timings_signal_mode", SELECTED)

    def adopted_size(self):
        """Of the timings that whoever captures has adopted."""
        answer = subprocess.run(
            ["v4l2-ctl", "-d", self.node(), "--get-dv-timings"], check=True, capture_output=True, text=True).stdout
        return tuple(int(re.search(rf"Active {side}: (\d+)", answer)[1]) for side in ("width", "height"))

    def pull(self):
        """Takes the driver away from the device, also while it streams: from all instances, which share it."""
        (DRIVER / "unbind").write_text(DEVICE)

    def plug(self):
        (DRIVER / "bind").write_text(DEVICE)
        deadline = time.monotonic() + 5
        while node(self.instance) is None and time.monotonic() < deadline:
            time.sleep(0.01)

    def reset(self):
        """All instances as after the start of the kernel. Nobody may have one open, or its number changes."""
        if (DRIVER / DEVICE).exists():
            self.pull()
        self.plug()
