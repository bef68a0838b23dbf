"""The pictures that the webcam sees: a loop of 30, each with its number in five blocks at the top, lowest bit first.

Blocks are an eighth of the width wide and 16 lines high; white is one.
"""

import functools
import hashlib
import os
import pathlib
import re
import subprocess
import tempfile

from . import modes

LOOP = 30
BLOCKS, LINES = 8, 16
WHITE, BLACK = 235, 16

NUMBERED = (
    f"geq=lum='if(lt(Y,{LINES}),if(mod(floor(N/pow(2,floor(X*{BLOCKS}/W))),2),{WHITE},{BLACK}),lum(X,Y))'"
    f":cb='if(lt(Y,{LINES // 2}),128,cb(X,Y))':cr='if(lt(Y,{LINES // 2}),128,cr(X,Y))'")


def cache():
    root = os.environ.get("XDG_CACHE_HOME") or pathlib.Path(os.path.expanduser("~")) / ".cache"
    return pathlib.Path(root) / "swift-video-capturing" / "webcam"


def cached(command, ending):
    """What a command prints, from the cache where it is there."""
    file = cache() / f"{hashlib.sha256(repr(command).encode()).hexdigest()[:16]}.{ending}"
    try:
        return file.read_bytes()
    except FileNotFoundError:
        data = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as new:
            new.write(data)
        os.replace(new.name, file)
        return data


def source(width, height):
    return ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size={width}x{height}:rate={LOOP}"]


@functools.cache
def jpegs(width, height):
    """The loop as JPEGs; made with ffmpeg where it is not in the cache."""
    command = [
        *source(width, height), "-vf", f"format=yuv420p,{NUMBERED},scale=out_range=full,format=yuvj422p",
        "-frames:v", str(LOOP), "-q:v", "5", "-pix_fmt", "yuvj420p", "-c:v", "mjpeg", "-huffman", "default", "-f",
        "image2pipe", "-",
    ]
    data = cached(command, "mjpeg")
    pictures = [b"\xff\xd8\xff" + part for part in data.split(b"\xff\xd8\xff")[1:]]
    assert len(pictures) == LOOP, f"ffmpeg made {len(pictures)} pictures instead of {LOOP}"
    return pictures


DELIMITERS = {modes.H264: b"\0\0\0\1\x09", modes.HEVC: b"\0\0\0\1\x46"}


@functools.cache
def stream(width, height, name):
    """The loop as a byte stream of H.264 or H.265, with a key frame in ten and a delimiter before each picture."""
    encoders = {
        modes.H264: [
            "libx264", "-tune", "zerolatency", "-threads", "1", "-g", "10", "-bsf:v", "h264_metadata=aud=insert", "-f",
            "h264"],
        modes.HEVC: [
            "libx265", "-tune", "zerolatency", "-x265-params", "log-level=none:keyint=10:aud=1:repeat-headers=1", "-f",
            "hevc"],
    }
    command = [
        *source(width, height), "-frames:v", str(LOOP), "-pix_fmt", "yuv420p", "-c:v", encoders[name][0], "-preset",
        "ultrafast", *encoders[name][1:], "-"]
    return cached(command, name.lower())


@functools.cache
def access_units(width, height, name):
    """The pictures of the loop. Of H.264 the parameter sets come with the first only, as from some cameras."""
    mark = DELIMITERS[name]
    units = [mark + part for part in stream(width, height, name).split(mark)[1:]]
    assert len(units) == LOOP, f"ffmpeg made {len(units)} pictures instead of {LOOP}"
    if name == modes.H264:
        units[1:] = [without_sets(unit) for unit in units[1:]]
    return units


def without_sets(unit):
    """A picture of H.264 without SPS and PPS."""
    parts = re.split(rb"\x00?\x00\x00\x01", unit)[1:]
    return b"".join(b"\0\0\0\1" + part for part in parts if part[0] & 0x1F not in (7, 8))


def make_all():
    """Fills the cache with the pictures of all sizes."""
    for mode in modes.of_format(modes.MJPEG):
        jpegs(mode.width, mode.height)
    for mode in modes.ENCODED:
        stream(mode.width, mode.height, mode.format)


@functools.cache
def ramp(width, light):
    """A line of YUYV twice as wide as the picture, from dark to bright and again."""
    line = b"".join(bytes((16 + min(219, int(x * 219 * light) // width), 128)) for x in range(width))
    return line + line


def yuyv(width, height, number, light):
    """A ramp that moves by four points a picture; `light` is the exposure, 1 the usual one."""
    block = width // BLOCKS
    marks = b"".join(
        bytes((WHITE if number % LOOP >> bit & 1 else BLACK, 128)) * block for bit in range(BLOCKS))
    start = number % LOOP * 8
    return marks * LINES + ramp(width, light)[start : start + width * 2] * (height - LINES)


def picture(mode, number, light=1):
    """Of the exposure, only YUYV tells."""
    if mode.format == modes.MJPEG:
        return jpegs(mode.width, mode.height)[number % LOOP]
    if mode.format in DELIMITERS:
        # The loop goes on at its second key frame: the first has what is sent once.
        first = number if number < LOOP else 10 + (number - LOOP) % (LOOP - 10)
        return access_units(mode.width, mode.height, mode.format)[first]
    return yuyv(mode.width, mode.height, number, light)
