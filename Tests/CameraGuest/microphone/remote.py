"""Starts a microphone in the guest and tells it what to do."""

import pathlib

from webcam.remote import RemoteGadget


class RemoteMicrophone(RemoteGadget):
    """A microphone, as a card of ALSA."""

    PROGRAM, DRIVER = "microphone", "snd-usb-audio"
    # How ALSA calls its card, by the last word of its name.
    CARD = "Microphone"

    def __init__(self, serial="SM0001", ppm=0):
        super().__init__(serial, "--ppm", str(ppm))

    def node(self):
        """The folder that tells of its card, or None."""
        folder = pathlib.Path("/proc/asound") / self.CARD
        return str(folder) if folder.exists() else None
