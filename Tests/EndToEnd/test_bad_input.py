"""Truncated, lying and random files: one sentence, within bounded memory and time, and what came before is kept."""

import json
import random
import struct

from support import media
from support.tool import NO_INPUT, IO, USAGE, ToolTestCase

# A file that cannot be read as what it claims to be.
BAD_INPUT = {NO_INPUT, IO, 65}
MEMORY = 200 << 20


def ivf_header(fourcc=b"VP80", width=64, height=48, frames=1, header_size=32, denominator=30, numerator=1):
    return struct.pack("<4sHH4sHHIIII", b"DKIF", 0, header_size, fourcc, width, height, denominator, numerator,
                       frames, 0)


LIARS = {
    "empty.y4m": b"",
    "magic.y4m": b"YUV4MPEG2",
    "nosize.y4m": b"YUV4MPEG2 F30:1\nFRAME\n",
    "huge.y4m": b"YUV4MPEG2 W100000 H100000 F30:1\nFRAME\n" + b"x" * 1000,
    "negative.y4m": b"YUV4MPEG2 W-64 H48 F30:1\nFRAME\n" + b"x" * 9000,
    "overflow.y4m": b"YUV4MPEG2 W99999999999999999999 H2 F30:1\nFRAME\n",
    "norate.y4m": b"YUV4MPEG2 W64 H48 F0:0 Cmono77\nFRAME\n" + b"x" * 9000,
    "noline.y4m": b"YUV4MPEG2 " + b"A" * 5_000_000,
    "noframe.y4m": b"YUV4MPEG2 W64 H48 F30:1\nFRAMED\n" + b"x" * 4608,
    "empty.ivf": b"",
    "short.ivf": ivf_header()[:20],
    "headersize.ivf": ivf_header(header_size=65535),
    "fourcc.ivf": ivf_header(fourcc=b"XXXX") + struct.pack("<IQ", 4, 0) + b"abcd",
    "nosize.ivf": ivf_header(width=0, height=0) + struct.pack("<IQ", 4, 0) + b"abcd",
    "hugeframe.ivf": ivf_header() + struct.pack("<IQ", 0xFFFFFFFF, 0) + b"abcd",
    "norate.ivf": ivf_header(denominator=0, numerator=0) + struct.pack("<IQ", 4, 0) + b"abcd",
    "garbage.ivf": ivf_header() + struct.pack("<IQ", 400, 0) + b"\xff" * 400,
}


def restamped(ivf, stamp, denominator=1, numerator=1):
    """The same IVF file with other times: `stamp` of the number of each packet."""
    data = bytearray(ivf)
    struct.pack_into("<II", data, 16, denominator, numerator)
    at, number = 32, 0
    while at < len(data):
        size, = struct.unpack_from("<I", data, at)
        struct.pack_into("<q", data, at + 4, stamp(number))
        at, number = at + 12 + size, number + 1
    return bytes(data)


def with_duration(webm, milliseconds):
    """The same WebM file, stating another duration."""
    at = webm.index(b"\x44\x89\x88") + 3
    return webm[:at] + struct.pack(">d", milliseconds) + webm[at + 8:]


class BadInputTests(ToolTestCase):
    WAITS = True

    def convert(self, file, *more):
        run = self.run_tool(
            "--source", "file", "--input", file, "--fps", "max", "--output", "out.y4m", "--force", *more)
        self.assertGreaterEqual(run.code, 0, f"it crashed: {run}")
        self.assertLess(run.peak, MEMORY, f"{run.peak >> 20} MiB: {run}")
        self.assertLess(run.processor, 5, str(run))
        return run

    def assertBad(self, run, name):
        self.assertIn(run.code, BAD_INPUT, str(run))
        self.assertSentence(run, name)

    def test_liars(self):
        for name, data in LIARS.items():
            with self.subTest(file=name):
                (self.folder / name).write_bytes(data)
                self.assertBad(self.convert(name), name)

    def test_a_truncated_y4m_keeps_its_whole_frames(self):
        clip = self.folder / "clip.y4m"
        media.make_y4m(clip, frames=10)
        clip.write_bytes(clip.read_bytes()[:-100])
        self.assertBad(self.convert(clip), "clip.y4m")
        self.assertEqual(len(media.y4m_frames(self.folder / "out.y4m")[1]), 9)

    def test_a_truncated_ivf_keeps_its_whole_frames(self):
        clip = self.folder / "clip.ivf"
        media.make_clip(clip)
        clip.write_bytes(clip.read_bytes()[:-20])
        self.assertBad(self.convert(clip), "clip.ivf")
        self.assertEqual(len(media.y4m_frames(self.folder / "out.y4m")[1]), 29)

    def test_random_files(self):
        chance = random.Random(20)
        for index in range(12):
            name = f"random{index}.{'ivf' if index % 2 else 'y4m'}"
            with self.subTest(file=name):
                (self.folder / name).write_bytes(chance.randbytes(chance.randrange(20_000)))
                self.assertBad(self.convert(name), name)

    def test_damaged_files_end_in_an_orderly_way(self):
        y4m, ivf = self.folder / "good.y4m", self.folder / "good.ivf"
        media.make_y4m(y4m, frames=5)
        media.make_clip(ivf, size="64x48")
        chance = random.Random(21)
        for index in range(30):
            good = ivf if index % 2 else y4m
            data = bytearray(good.read_bytes())
            for _ in range(chance.randrange(1, 12)):
                # Headers are where lies do most.
                at = chance.randrange(64) if chance.random() < 0.5 else chance.randrange(len(data))
                data[at] = chance.randrange(256)
            name = f"damaged{index}{good.suffix}"
            with self.subTest(file=name):
                (self.folder / name).write_bytes(data)
                run = self.convert(name)
                if run.code != 0:
                    self.assertBad(run, name)

    def test_absurd_times_are_played_and_reported(self):
        clip, film = self.folder / "clip.ivf", self.folder / "clip.webm"
        media.make_clip(clip, size="64x48")
        media.make_clip(film, size="64x48")
        ivf, webm = clip.read_bytes(), film.read_bytes()
        last = 2**63 - 1
        files = {f"duration{index}.webm": with_duration(webm, value) for index, value in enumerate(
            [9e15, 9e12, 1e300, -5, -1e300, 0, 5e-324, float("nan"), float("inf")])}
        files |= {
            "base.ivf": restamped(ivf, lambda number: number, numerator=2**32 - 1),
            "small.ivf": restamped(ivf, lambda number: number, denominator=2**32 - 1),
            "seconds.ivf": restamped(ivf, lambda number: 20_000_000_000_000 + number),
            "years.ivf": restamped(ivf, lambda number: number * 365 * 86_400),
            "centuries.ivf": restamped(ivf, lambda number: number * 100 * 365 * 86_400),
            "leap.ivf": restamped(ivf, lambda number: number if number < 15 else 2**62 + number, denominator=25),
            "last.ivf": restamped(ivf, lambda number: last - 30 + number, numerator=2**32 - 1),
            "first.ivf": restamped(ivf, lambda number: number - last, numerator=2**32 - 1),
            "both.ivf": restamped(ivf, lambda number: -last if number % 2 else last, numerator=2**32 - 1),
        }
        for name, data in files.items():
            for style in ("text", "json"):
                with self.subTest(file=name, style=style):
                    (self.folder / name).write_bytes(data)
                    run = self.convert(name, "--stats", style)
                    self.assertEqual(run.code, 0, str(run))
                    # A Y4M file has them by their times, so that some are dropped.
                    if style == "json":
                        lines = [json.loads(line) for line in run.stderr.splitlines()]
                        self.assertEqual(lines[-1]["event"], "summary")
                        self.assertEqual(lines[-1]["capture"]["frames"], 30)
                        counts = lines[-1]["outputs"][0]["constantRate"]
                        self.assertEqual(counts["frames"] - counts["repeated"] + counts["dropped"], 30)
                    else:
                        self.assertIn("Captured 30 frames", run.stderr)

    def test_what_is_missing_is_told(self):
        film = self.folder / "clip.webm"
        media.make_clip(film, size="64x48")
        whole = film.read_bytes()
        film.write_bytes(whole[:len(whole) // 2])
        run = self.convert(film)
        self.assertEqual(run.code, IO, str(run))
        self.assertSentence(run, "clip.webm", f"{len(whole) - len(whole) // 2} of its {len(whole)} bytes")

        for number in (1, 2, 4, 5):
            media.command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=64x48", "-frames:v", "1",
                          self.folder / f"img{number}.png")
        run = self.convert("img%d.png")
        self.assertEqual(run.code, IO, str(run))
        self.assertSentence(run, "img3.png is missing")
        self.assertEqual(len(media.y4m_frames(self.folder / "out.y4m")[1]), 2)

        stream = self.folder / "clip.ts"
        media.command("ffmpeg", "-v", "error", "-i", self.folder / "img1.png", "-vf", "loop=20:1", "-c:v", "mpeg2video",
                      stream)
        stream.write_bytes(stream.read_bytes()[:-100])
        run = self.convert(stream)
        self.assertEqual(run.code, IO, str(run))
        self.assertIn("The file ends within a picture", run.stderr)
        self.assertIn("warning: 1 frame was damaged", run.stderr)
        self.assertIn("1 lost at the source", run.stderr)

    def test_input_that_is_not_there(self):
        run = self.convert("none.y4m")
        self.assertRefused(run, NO_INPUT, "none.y4m")
        (self.folder / "folder.y4m").mkdir()
        self.assertBad(self.convert("folder.y4m"), "folder.y4m")

    def test_raw_files_must_be_told_their_size(self):
        raw = self.folder / "a.yuv"
        raw.write_bytes(bytes(64 * 48 * 3 // 2 * 4))
        self.assertRefused(self.convert(raw), USAGE, "--size")
        self.assertEqual(self.convert(raw, "--size", "64x48").code, 0)
        self.assertEqual(len(media.y4m_frames(self.folder / "out.y4m")[1]), 4)
