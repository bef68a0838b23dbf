"""vicodec, the kernel's virtual codec: an encoder, and decoders, of its own format. For use in the guest."""

import pathlib

CLASS = pathlib.Path("/sys/class/video4linux")


def node(name):
    """The node of `stateful-encoder` or `stateful-decoder`."""
    for entry in CLASS.glob("video*"):
        if (entry / "name").read_text().strip() == name:
            return f"/dev/{entry.name}"
    raise RuntimeError(f"there is no {name}; the kernel has no vicodec, or it is unbound")
