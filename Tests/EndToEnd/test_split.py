"""Recordings in several files: nothing lost or written twice at the seams, and a disk that is never full."""

import json
import subprocess

from support import media
from support.tool import OK, USAGE, ToolTestCase


def frames_of(file):
    done = subprocess.run(
        ["ffprobe", "-v", "error", "-count_frames", "-select_streams", "v", "-show_entries", "stream=nb_read_frames",
         "-of", "csv=p=0", str(file)], capture_output=True, text=True, check=True)
    return int(done.stdout.strip().strip(","))


def pictures_of(files):
    """A checksum for each decoded picture."""
    found = []
    for file in files:
        done = subprocess.run(["ffmpeg", "-v", "error", "-i", str(file), "-f", "framemd5", "-"], capture_output=True,
                              text=True, check=True)
        found += [line.split(",")[-1].strip() for line in done.stdout.splitlines() if not line.startswith("#")]
    return found


class SplitTests(ToolTestCase):
    WAITS = True

    def test_the_pieces_are_the_whole(self):
        """Frames are written once: the raw pictures of the pieces are those of one file beside them."""
        whole = self.folder / "whole.y4m"
        media.make_y4m(whole, frames=90)
        run = self.run_tool("--input", whole, "--fps", "max", "--split", "1", "-o", "piece.y4m", "-o", "piece.webm",
                            "-o", "piece.mp4", "--stats-file", "stats.json")
        self.assertEqual(run.code, OK, run)
        pieces = sorted(self.folder.glob("piece-*.y4m"))
        self.assertEqual([piece.name for piece in pieces], [f"piece-00{number}.y4m" for number in (1, 2, 3)])
        self.assertEqual(pictures_of(pieces), pictures_of([whole]))
        for kind in ("webm", "mp4"):
            files = sorted(self.folder.glob(f"piece-*.{kind}"))
            self.assertEqual(len(files), 3)
            self.assertEqual(sum(map(frames_of, files)), 90)
        summary = json.loads((self.folder / "stats.json").read_text().splitlines()[-1])
        self.assertEqual([output["files"] for output in summary["outputs"]], [3, 3, 3])

    def test_only_the_last_files_are_kept_also_after_a_restart(self):
        for _ in range(2):
            run = self.run_tool("--source", "noise", "--size", "64x48", "--fps", "max", "--frames", "60", "--split", "40kB",
                                "--keep", "2", "-o", "loop-%04d.ivf")
            self.assertEqual(run.code, OK, run)
        names = sorted(file.name for file in self.folder.iterdir())
        self.assertEqual(len(names), 2)
        numbers = [int(name[5:9]) for name in names]
        self.assertEqual(numbers[1], numbers[0] + 1)
        self.assertGreater(numbers[0], 2, "the second run goes on after the first")
        for name in names:
            self.assertGreater(frames_of(self.folder / name), 0)

    def test_files_of_other_names_stay(self):
        (self.folder / "loop-old.ivf").write_bytes(b"mine")
        self.run_tool("--source", "noise", "--size", "64x48", "--fps", "max", "--frames", "30", "--split", "20kB",
                      "--keep", "1", "-o", "loop-%02d.ivf")
        self.assertEqual((self.folder / "loop-old.ivf").read_bytes(), b"mine")

    def test_what_makes_no_sense(self):
        for words in (["--split", "soon", "-o", "a.webm"], ["--split", "10", "-o", "null"], ["--keep", "3", "-o", "a.webm"],
                      ["--split", "10", "-o", "a-%q.webm"], ["--split", "10", "--keep", "0", "-o", "a.webm"]):
            with self.subTest(words=words):
                self.assertRefused(self.run_tool("--source", "noise", "--frames", "1", *words), USAGE)
