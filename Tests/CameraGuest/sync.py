"""Flash and beep: how far sound and pictures of a file are apart, as ffmpeg decodes it."""

import array
import bisect
import re
import subprocess

from microphone.sound import BEEP

RATE = 48_000
LIGHT, LOUD, QUIET = 125, 6000, 2400  # luma, level of 32767, samples
WHOLE = (BEEP - 0.004) * RATE  # samples


def ffmpeg(file, since, length, *arguments):
    part = ["-ss", str(since)] + ([] if length is None else ["-t", str(length)])
    answer = subprocess.run(
        ["ffmpeg", "-hide_banner", "-nostdin", "-copyts", *part, "-i", str(file), *arguments, "-"],
        capture_output=True, timeout=300)
    if answer.returncode != 0:
        raise AssertionError(answer.stderr.decode(errors="replace"))
    return answer.stdout, answer.stderr.decode(errors="replace")


def flashes(file, since, length):
    """When white pictures begin."""
    pictures, told = ffmpeg(
        file, since, length, "-map", "0:v:0", "-vf", "scale=16:16,format=gray,showinfo", "-fps_mode", "passthrough", "-f", "rawvideo")
    # Not its pts_time, which has six digits: 10 ms from a thousand seconds on.
    unit = [int(number) for number in re.search(r"config in time_base: (\d+)/(\d+)", told).groups()]
    times = [int(time) * unit[0] / unit[1] for time in re.findall(r"pts:\s*(-?\d+) ", told)]
    light = [sum(pictures[at:at + 256]) / 256 for at in range(0, len(pictures), 256)]
    return [time for time, before, now in zip(times[1:], light, light[1:]) if now > LIGHT >= before]


def beeps(file, since, length):
    """When beeps begin, by the times that the file states. One that is cut, as where a microphone came back within it, is
    left out: its beginning is missing."""
    data, told = ffmpeg(
        file, since, length, "-map", "0:a:0", "-af", "pan=mono|c0=c0,ashowinfo", "-f", "s16le")
    places, starts, place = [], [], 0
    for time, count in re.findall(r"pts:(-?\d+) .*?nb_samples:(\d+)", told):
        places.append(place)
        starts.append(int(time) / RATE)
        place += int(count)
    found = []
    for number, sample in enumerate(array.array("h", data)):
        if abs(sample) > LOUD:
            if not found or number - found[-1][1] > QUIET:
                found.append([number, number])
            found[-1][1] = number
    parts = [(bisect.bisect_right(places, first) - 1, first) for first, last in found if last - first > WHOLE]
    return [starts[part] + (first - places[part]) / RATE for part, first in parts]


def offsets(file, since=0, length=None):
    """Sound minus picture, in seconds, of each beep from a time on, to the end or as many seconds as `length`, that has a
    flash within half a second; and when it was."""
    lights = flashes(file, since, length)
    heard = beeps(file, since, length) if lights else []
    pairs = [(min(lights, key=lambda light: abs(light - beep)), beep) for beep in heard]
    return [(light, beep - light) for light, beep in pairs if abs(beep - light) < 0.5]
