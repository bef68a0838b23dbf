"""A USB microphone made of software: USB Audio 1.0, isochronous, spoken through USB/IP to the guest's snd-usb-audio.

Its clock is off by as much as it is told; it beeps at each whole second of the machine's clock, and can be pulled and
made to hang. `python3 -m microphone` is the microphone; `microphone.remote` starts one and tells it what to do.
"""
