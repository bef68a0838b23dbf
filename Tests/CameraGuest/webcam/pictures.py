"""The pictures that the webcam sees: a loop of 30, each with its number in five blocks at the top, lowest bit first.

Blocks are an eighth of the width wide and 16 lines high; white is one.
"""

import functools
import hashlib
import os
import pathlib
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


@functools.cache
def jpegs(width, height):
    """The loop as JPEGs; made with ffmpeg where it is not in the cache."""
    command = [
        "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size={width}x{height}:rate={LOOP}",
        "-vf", f"format=yuv420p,{NUMBERED},scale=out_range=full,format=yuvj422p", "-frames:v", str(LOOP), "-q:v", "5",
        "-pix_fmt", "yuvj420p", "-c:v", "mjpeg", "-huffman", "default", "-f", "image2pipe", "-",
    ]
    file = cache() / f"{hashlib.sha256(repr(command).encode()).hexdigest()[:16]}.mjpeg"
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        data = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as new:
            new.write(data)
        os.replace(new.name, file)
    pictures = [b"\xff\xd8\xff" + part for part in data.split(b"\xff\xd8\xff")[1:]]
    assert len(pictures) == LOOP, f"ffmpeg made {len(pictures)} pictures instead of {LOOP}"
    return pictures


def make_all():
    """Fills the cache with the pictures of all sizes."""
    for mode in modes.of_format(modes.MJPEG):
        jpegs(mode.width, mode.height)


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
    return yuyv(mode.width, mode.height, number, light)
