"""What other programs say of a file: ffprobe, ffmpeg, vpxdec."""

import hashlib
import json
import pathlib
import subprocess

LIMIT = 60


def command(*arguments, limit=LIMIT):
    return subprocess.run(
        [str(argument) for argument in arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, timeout=limit)


def probe(file):
    """ffprobe's description: `stream` (the first), `streams`, `format`, and `packets` in the order of the file."""
    result = command(
        "ffprobe", "-v", "error", "-show_streams", "-show_format", "-show_packets", "-of", "json", file)
    found = json.loads(result.stdout or "{}")
    streams = found.get("streams", [])
    return {
        "stream": streams[0] if streams else {},
        "streams": streams,
        "format": found.get("format", {}),
        "packets": found.get("packets", []),
        "errors": result.stderr.decode(errors="replace"),
    }


def times(file):
    """The time of each packet in seconds."""
    return [float(packet["pts_time"]) for packet in probe(file)["packets"]]


def decode(file):
    """ffmpeg's decoding of all of a file: how many frames, and what it complained of."""
    result = command("ffmpeg", "-v", "error", "-i", file, "-fps_mode", "passthrough", "-f", "framehash", "-")
    frames = [line for line in result.stdout.decode().splitlines() if line and not line.startswith("#")]
    return len(frames), result.stderr.decode(errors="replace")


def decoded_md5(file):
    """The MD5 of all I420 pictures of an IVF or WebM file, by libvpx's own tool."""
    result = command("vpxdec", "--i420", "--md5", file)
    if result.returncode != 0:
        raise AssertionError(f"vpxdec {file}: {result.stderr.decode(errors='replace')}")
    return result.stdout.split()[0].decode()


def decoded_bytes(file):
    """How many bytes all I420 pictures of a file take, by libvpx's own tool."""
    output = pathlib.Path(str(file) + ".i420")
    result = command("vpxdec", "--i420", "-o", output, file)
    if result.returncode != 0:
        raise AssertionError(f"vpxdec {file}: {result.stderr.decode(errors='replace')}")
    size = output.stat().st_size
    output.unlink()
    return size


def y4m_frames(file):
    """The header of a Y4M file with 4:2:0 pictures, and the bytes of each picture."""
    data = pathlib.Path(file).read_bytes()
    header, _, rest = data.partition(b"\n")
    words = header.split(b" ")
    assert words[0] == b"YUV4MPEG2", header
    width, height = (int(next(word[1:] for word in words if word[:1] == key)) for key in (b"W", b"H"))
    size = width * height + 2 * ((width + 1) // 2) * ((height + 1) // 2)
    frames = []
    while rest:
        line, _, rest = rest.partition(b"\n")
        assert line.startswith(b"FRAME"), line[:20]
        frames.append(rest[:size])
        rest = rest[size:]
    return header.decode(), frames


def md5(frames):
    digest = hashlib.md5()
    for frame in frames:
        digest.update(frame)
    return digest.hexdigest()


def make_y4m(file, width=64, height=48, frames=10, rate="30:1"):
    """Writes a clip whose every picture differs."""
    chroma = ((width + 1) // 2) * ((height + 1) // 2)
    with open(file, "wb") as output:
        output.write(f"YUV4MPEG2 W{width} H{height} F{rate} Ip A1:1 C420jpeg\n".encode())
        for index in range(frames):
            row = bytes((16 + index * 7 + column) % 220 + 16 for column in range(width))
            output.write(b"FRAME\n" + row * height + bytes([128 + index % 8]) * chroma * 2)


def make_clip(file, seconds=1, size="320x240", rate=30):
    """A VP8 clip of ffmpeg's making, to test the tests with."""
    result = command(
        "ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", f"testsrc=duration={seconds}:size={size}:rate={rate}",
        "-c:v", "libvpx", "-b:v", "1M", "-deadline", "realtime", "-cpu-used", "8", "-g", str(rate), file)
    assert result.returncode == 0, result.stderr.decode(errors="replace")
