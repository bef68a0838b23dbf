"""vivid, the kernel's virtual camera: its nodes, its faults, its unplugging. For use in the guest."""

import pathlib
import subprocess
import time

import v4l2

DRIVER = pathlib.Path("/sys/bus/platform/drivers/vivid")
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

    def pull(self):
        """Takes the driver away from the device, also while it streams."""
        (DRIVER / "unbind").write_text(f"vivid.{self.instance}")

    def plug(self):
        (DRIVER / "bind").write_text(f"vivid.{self.instance}")
        deadline = time.monotonic() + 5
        while node(self.instance) is None and time.monotonic() < deadline:
            time.sleep(0.01)

    def reset(self):
        """As after the start of the kernel. Nobody may have it open, or its number changes."""
        if (DRIVER / f"vivid.{self.instance}").exists():
            self.pull()
        self.plug()
