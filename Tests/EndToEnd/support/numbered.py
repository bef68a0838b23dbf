"""Pictures that show their numbers, a black or white column for each of eight bits, so that it is known which arrived."""

import os


def write(path, count, width, height, noise=0):
    """A Y4M file of 30 frames per second that shows 0 to `count` - 1 in its top sixth. Below that the columns go on, or there
    is noise of this amplitude, for which an encoder needs bits."""
    table = bytes(128 - noise + value * 2 * noise // 255 for value in range(256))
    top = height // 6 if noise else height
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F30:1 Ip A1:1 C420jpeg\n".encode())
        for number in range(count):
            row = b"".join(bytes([235 if number >> bit & 1 else 16]) * (width // 8) for bit in range(8))
            below = os.urandom(width * (height - top)).translate(table)
            file.write(b"FRAME\n" + row * top + below + b"\x80" * (width * height // 2))


def read(gray, width, height):
    """The numbers that gray pictures show."""
    size = width * height
    return [
        sum((gray[start + height // 12 * width + bit * width // 8 + width // 16] > 128) << bit for bit in range(8))
        for start in range(0, len(gray) - size + 1, size)]
