"""Truncated, lying and random files: one sentence, within bounded memory and time, and what came before is kept."""

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


class BadInputTests(ToolTestCase):
    def convert(self, file, *more):
        run = self.run_tool(
            "--source", "file", "--input", file, "--fps", "max", "--output", "out.y4m", "--force", *more, limit=10)
        self.assertGreaterEqual(run.code, 0, f"it crashed: {run}")
        self.assertLess(run.peak, MEMORY, f"{run.peak >> 20} MiB: {run}")
        self.assertLess(run.seconds, 5, str(run))
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
