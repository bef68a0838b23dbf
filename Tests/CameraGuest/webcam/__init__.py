"""A USB webcam made of software: UVC 1.1 over bulk, spoken through USB/IP to the guest's uvcvideo.

It gives MJPEG and YUYV, has controls that remember what is set, and can be pulled, stalled and made to send damaged
frames. `python3 -m webcam` is the webcam; `webcam.remote` starts one and tells it what to do.
"""
