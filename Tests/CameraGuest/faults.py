"""The faults that a camera can have, as data: on which camera, how each comes, and how it goes."""

from dataclasses import dataclass
from typing import Callable

import vivid


def nothing(camera):
    pass


def control(name, value=1):
    return lambda camera: camera.set(name, value)


def order(*words):
    return lambda camera: camera(*words)


@dataclass(frozen=True)
class Fault:
    """`before` sets the stage before the client starts; `inject` comes while frames flow; `cure`, when there is one,
    `lasts` seconds later. `again`: how often it is injected, 50 ms apart."""

    name: str
    title: str
    on: str  # vivid or webcam
    inject: Callable = nothing
    cure: Callable = nothing
    before: Callable = nothing
    lasts: float = 2
    again: int = 1
    at_start: bool = False  # it strikes while the client starts; no frames are to be expected before


FAULTS = (
    Fault("disconnect", "device lost (vivid disconnect)", "vivid", control("disconnect")),
    Fault("unbind", "driver unbound, bound again", "vivid", vivid.Camera.pull, vivid.Camera.plug),
    Fault("damaged", "5 damaged buffers", "vivid", control("inject_v4l2_buf_flag_error"), again=5),
    Fault("qbuf", "queueing a buffer fails once", "vivid", control("inject_vidioc_qbuf_error")),
    Fault("qbuf-8", "queueing a buffer fails 8 times", "vivid", control("inject_vidioc_qbuf_error"), again=8),
    Fault("fatal", "fatal streaming error", "vivid", control("inject_fatal_streaming_error")),
    Fault("half", "half of the frames dropped", "vivid", control("percentage_of_dropped_buffers", 50),
          control("percentage_of_dropped_buffers", 0)),
    Fault("stall", "no frames for 4 s", "vivid", control("percentage_of_dropped_buffers", 100),
          control("percentage_of_dropped_buffers", 0), lasts=4),
    Fault("streamon", "starting the stream fails once", "vivid", before=control("inject_vidioc_streamon_error"),
          at_start=True),
    Fault("reqbufs", "requesting buffers fails once", "vivid", before=control("inject_vidioc_reqbufs_error"),
          at_start=True),
    Fault("first-qbuf", "queueing the first buffer fails", "vivid", before=control("inject_vidioc_qbuf_error"),
          at_start=True),
    Fault("sequence", "the sequence number wraps", "vivid", before=control("wrap_sequence_number"), lasts=5),
    Fault("timestamp", "the time stamp wraps", "vivid", before=control("wrap_timestamp"), lasts=5),
    Fault("no-signal", "HDMI signal lost for 2 s", "vivid", control("dv_timings_signal_mode", vivid.NO_SIGNAL),
          control("dv_timings_signal_mode", vivid.CURRENT), before=vivid.Camera.connect_hdmi),
    Fault("pulled", "webcam pulled, plugged in again", "webcam", order("pull"), order("plug")),
    Fault("blip", "webcam gone and back at once", "webcam", order("blip")),
    Fault("webcam-stall", "webcam silent for 4 s", "webcam", order("stall"), order("resume"), lasts=4),
    Fault("halt", "webcam's endpoint halts", "webcam", order("halt")),
    Fault("error-bit", "10 frames with the error bit", "webcam", order("error", 10)),
    Fault("truncated", "10 truncated frames", "webcam", order("truncate", 10)),
    Fault("garbage", "10 frames of garbage", "webcam", order("garbage", 10)),
    Fault("no-eoi", "10 JPEGs without their end", "webcam", order("missing-eoi", 10)),
)
