"""libcamera and vimc, the kernel's camera that is a graph of devices. For use in the guest."""

import os
import pathlib
import subprocess
import time

import v4l2

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DRIVER = pathlib.Path("/sys/bus/platform/drivers/vimc")
DEVICE = "vimc.0"
NAME = "platform/vimc.0 Sensor B"  # as libcamera names it
CLASS = pathlib.Path("/sys/class/video4linux")

CHECKS = os.environ.get("CAPTURER_LIBCAMERA_CHECKS") or ROOT / ".build/debug/libcamera-checks"
TOOL = os.environ.get("CAPTURER_LIBCAMERA_DEMO") or ROOT / ".build/debug/capturer-demo-libcamera"


def start_udev():
    """libcamera asks udev for devices, and lists none without it. udev thinks that a guest's root is a container's."""
    os.environ["SYSTEMD_IGNORE_CHROOT"] = "1"
    os.makedirs("/run/udev", exist_ok=True)
    subprocess.run(["/lib/systemd/systemd-udevd", "--daemon"], check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["udevadm", "trigger", "--action=add"], check=True)
    subprocess.run(["udevadm", "settle", "--timeout=60"], check=True)


def sensor():
    """The node of the sensor, which has the control of the test pattern."""
    for entry in CLASS.glob("v4l-subdev*"):
        if (entry / "name").read_text().strip() == "Sensor B":
            return f"/dev/{entry.name}"
    raise RuntimeError("there is no vimc; the kernel's arguments must name it")


def set_sensor(name, value):
    v4l2.set_control(sensor(), name, value)


def pull():
    (DRIVER / "unbind").write_text(DEVICE)


def plug():
    (DRIVER / "bind").write_text(DEVICE)


def wait_until(condition, what, limit=60):
    deadline = time.monotonic() + limit
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {limit} s in vain for {what}")
        time.sleep(0.05)
