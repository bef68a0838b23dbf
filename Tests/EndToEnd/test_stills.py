"""Stills: single ones, bursts and time lapses, beside films, from sources of every pace; and what they are refused for."""

import base64
import hashlib
import json
import os
import re
import signal
import subprocess
import termios
import time

from support import media
from support.devtools import DevTools
from test_status import Terminal
from support.tool import IO, NO_INPUT, OK, PERMISSION, USAGE, ToolTestCase

NOISE = ("--source", "noise", "--size", "320x240")


def exif(*files):
    """What exiftool says of files, in their order."""
    found = subprocess.run(
        ["exiftool", "-json", "-n", *map(str, files)], check=True, stdout=subprocess.PIPE, timeout=media.LIMIT)
    return json.loads(found.stdout)


def pixels(file):
    """A JPEG's pixels, by libjpeg's own tool; its warnings are errors."""
    found = media.command("djpeg", file)
    if found.returncode != 0 or found.stderr:
        raise AssertionError(f"djpeg {file}: {found.stderr.decode(errors='replace')}")
    return found.stdout


def identify(file):
    """Format, width and height, by ImageMagick, which decodes all of it."""
    # The signature is that of the pixels.
    found = media.command("identify", "-regard-warnings", "-format", "%m %w %h %#", file)
    if found.returncode != 0:
        raise AssertionError(f"identify {file}: {found.stderr.decode(errors='replace')}")
    return found.stdout.decode().rpartition(" ")[0]


def seconds(tags):
    """The time of day at which a still was taken."""
    hours, minutes, rest = tags["SubSecDateTimeOriginal"].split(" ")[1][:12].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


class StillTests(ToolTestCase):
    def stills(self, pattern="shot-*"):
        return sorted(self.folder.glob(pattern))

    def test_a_burst_of_whole_pictures(self):
        run = self.succeed(*NOISE, "--burst", 12, "--output", "shot-%02d.jpg")
        files = self.stills()
        self.assertEqual([file.name for file in files], [f"shot-{number:02}.jpg" for number in range(1, 13)])
        for file, tags in zip(files, exif(*files)):
            self.assertEqual((tags["MIMEType"], tags["ImageWidth"], tags["ImageHeight"]), ("image/jpeg", 320, 240))
            self.assertEqual((tags["ExifImageWidth"], tags["Orientation"]), (320, 1))
            self.assertRegex(tags["SubSecDateTimeOriginal"], r"^\d{4}:\d\d:\d\d \d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$")
            self.assertNotIn("Warning", tags)
            self.assertEqual(identify(file), "JPEG 320 240")
        self.assertEqual(len({hashlib.md5(pixels(file)).digest() for file in files}), 12, "no frame is there twice")
        self.assertIn("12 of 12 stills", run.stderr)
        self.assertIn("0 failed", run.stderr)
        self.assertEqual(run.stdout, b"")

    def test_one_picture_of_each_kind(self):
        self.succeed(*NOISE, "-o", "shot.png", "-o", "shot.jpeg", "-o", "stills:shot.nv12")
        self.assertEqual(identify(self.folder / "shot.png"), "PNG 320 240")
        self.assertEqual(identify(self.folder / "shot.jpeg"), "JPEG 320 240")
        self.assertEqual((self.folder / "shot.nv12").stat().st_size, 320 * 240 * 3 // 2)
        self.assertIn("DateTimeOriginal", exif(self.folder / "shot.png")[0])

    def test_chromium_shows_them(self):
        self.succeed(*NOISE, "--orientation", 90, "-o", "written.jpg", "-o", "shot.png")
        browser = DevTools()
        self.addCleanup(browser.close)
        tab = browser.open()
        self.addCleanup(tab.close)
        for name, kind in (("written.jpg", "jpeg"), ("shot.png", "png")):
            data = base64.b64encode((self.folder / name).read_bytes()).decode()
            shown = tab.evaluate(f"""new Promise((done, fail) => {{
              const image = new Image();
              image.onload = () => done([image.naturalWidth, image.naturalHeight]);
              image.onerror = () => done('damaged');
              image.src = 'data:image/{kind};base64,{data}';
            }})""")
            self.assertEqual(shown, [240, 320], f"{name}: upright, as EXIF says")

    def test_options(self):
        self.succeed(*NOISE, "--orientation", 90, "-o", "written.jpg", "--still-quality", 95)
        self.succeed(*NOISE, "--orientation", 90, "-o", "applied.jpg", "--still-orientation", "applied")
        self.succeed(*NOISE, "--still-exif", "no", "--still-quality", 20, "-o", "bare.jpg")
        written, applied, bare = exif(*(self.folder / f"{name}.jpg" for name in ("written", "applied", "bare")))
        self.assertEqual((written["Orientation"], written["ImageWidth"]), (6, 320))
        self.assertEqual((applied["Orientation"], applied["ImageWidth"]), (1, 240))
        self.assertNotIn("Orientation", bare)
        self.assertNotIn("DateTimeOriginal", bare)
        self.assertLess((self.folder / "bare.jpg").stat().st_size, (self.folder / "written.jpg").stat().st_size / 2)

    def test_a_film_beside_goes_on(self):
        run = self.succeed(*NOISE, "--frames", 90, "--burst", 10, "-o", "a.webm", "-o", "shot-%d.jpg")
        self.assertEqual(media.decode(self.folder / "a.webm"), (90, ""))
        self.assertEqual(len(self.stills()), 10)
        for file in self.stills():
            pixels(file)
        self.assertIn("10 of 10 stills", run.stderr)

    def test_every_frame_of_a_film(self):
        clip = self.folder / "clip.y4m"
        media.make_y4m(clip, frames=40)
        _, frames = media.y4m_frames(clip)
        run = self.succeed("--input", clip, "--fps", "max", "--burst", 100, "-o", "stills:shot-%03d.nv12")
        self.assertIn("40 of 100 stills", run.stderr)
        files = self.stills()
        self.assertEqual(len(files), 40)
        for file, frame in zip(files, frames):
            self.assertEqual(file.read_bytes()[:64 * 48], frame[:64 * 48], file.name)

    def test_a_time_lapse(self):
        self.succeed(*NOISE, "--burst", 5, "--burst-interval", "400ms", "-o", "shot-%d.jpg")
        times = [seconds(tags) for tags in exif(*self.stills())]
        self.assertEqual(len(times), 5)
        if times[-1] < times[0]:
            self.skipTest("midnight")
        self.assertEqual(times, sorted(times))
        # A busy machine may take longer.
        self.assertGreater(times[-1] - times[0], 1.6 - 0.1)

    def test_an_interrupt_in_mid_burst(self):
        running = self.start(*NOISE, "--burst", 1000, "--burst-interval", "100ms", "-o", "shot-%04d.jpg")
        running.wait_for_file(self.folder / "shot-0003.jpg")
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        files = self.stills("*")
        self.assertTrue(3 <= len(files) < 1000)
        for file in files:
            pixels(file)
        self.assertIn(f"{len(files)} of 1000 stills", run.stderr)
        self.assertEqual(self.stills(".still*"), [])

    def test_statistics_for_programs(self):
        run = self.succeed(*NOISE, "--burst", 3, "-o", "shot-%d.jpg", "--stats", "json")
        last = json.loads(run.stderr.splitlines()[-1])
        output = last["outputs"][0]
        counts = output["stills"]
        self.assertEqual((counts["count"], counts["written"], counts["captured"], counts["failed"]), (3, 3, 3, 0))
        self.assertEqual((output["status"], output["failed"]), ("3/3 stills", False))
        self.assertGreater(output["latencyMillisecondsMaximum"], 0)


class KeyTests(ToolTestCase):
    WAITS = True

    def test_s_takes_a_still_in_the_terminal(self):
        (self.folder / "capture-still-001.jpg").write_bytes(b"dear to somebody")
        # Of a terminal that no program has changed.
        untouched = os.openpty()
        usual = termios.tcgetattr(untouched[0])
        for descriptor in untouched:
            os.close(descriptor)
        terminal = Terminal(*NOISE, "--fps", 30, "--duration", 60, "--preview", "-o", "null", folder=self.folder)
        self.addCleanup(terminal.close)
        deadline = time.monotonic() + 60
        while b"\x1b[?1049h" not in terminal.output and time.monotonic() < deadline:
            terminal.read(0.1)
        for number in (2, 3):
            os.write(terminal.master, b"xs")
            name = f"capture-still-00{number}.jpg"
            while not (self.folder / name).exists() or name.encode() not in terminal.output:
                self.assertLess(time.monotonic(), deadline, re.sub(rb"\x1b[^m]*m|[^ -~]", b"", terminal.output)[-500:])
                terminal.read(0.1)
            self.assertEqual(identify(self.folder / name), "JPEG 320 240")
        self.assertEqual((self.folder / "capture-still-001.jpg").read_bytes(), b"dear to somebody")
        terminal.process.send_signal(signal.SIGINT)
        terminal.read(10)
        self.assertEqual(terminal.process.wait(10), 0)
        self.assertIn(b"2 stills", terminal.output)
        self.assertEqual(termios.tcgetattr(terminal.master), usual, "the terminal is as it was")

    def test_without_a_terminal_no_keys_are_read(self):
        run = self.succeed(*NOISE, "--frames", 5, "-o", "null")
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assertNotIn("still", run.stderr)


class StillErrorTests(ToolTestCase):
    WAITS = True

    def test_bad_values(self):
        for arguments in (
            ("-o", "shot-%d.jpg", "--still-bracket", "exposure"),
            ("-o", "shot-%d.jpg", "--still-bracket", "exposure=bright"),
            ("-o", "shot-%d.jpg", "--still-bracket", "gain=1,,2"),
            ("-o", "shot-%d.jpg", "--still-bracket", "gain=1,2", "--burst", 2),
            ("-o", "shot-%d.jpg", "--still-bracket", "gain=1,2", "--burst-interval", 2),
            ("-o", "shot-%d.jpg", "--still-size", "64x48", "--burst", 2),
            ("-o", "shot.jpg", "--still-bracket", "gain=1,2"),
            ("-o", "shot.jpg", "--still-size", "0x48"),
            ("-o", "shot.jpg", "--burst", 2),
            ("-o", "shot-%d.jpg", "--burst", 0),
            ("-o", "shot-%d.jpg", "--burst", "many"),
            ("-o", "shot-%d.jpg", "--burst", 2, "--burst-interval", 0),
            ("-o", "shot.jpg", "--burst-interval", 1),
            ("-o", "shot-%q.jpg",),
            ("-o", "shot.jpg", "--still-quality", 0),
            ("-o", "shot.jpg", "--still-orientation", "up"),
            ("-o", "shot.jpg", "--still-exif", "maybe"),
            ("-o", "stills:shot.gif",),
            ("-o", "a.webm", "--burst", 3),
            ("-o", "shot-1.jpg", "-o", "shot-%d.jpg"),
        ):
            with self.subTest(arguments=arguments):
                run = self.run_tool(*NOISE, *arguments)
                self.assertRefused(run, USAGE)
                self.assertOneLine(run)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_name_without_a_number(self):
        self.assertRefused(self.run_tool(*NOISE, "--burst", 20, "-o", "shot.jpg"), USAGE, "shot.jpg", "%03d")

    def test_a_file_that_exists(self):
        (self.folder / "shot-3.jpg").write_bytes(b"dear to somebody")
        arguments = (*NOISE, "--burst", 5, "-o", "shot-%d.jpg")
        self.assertRefused(self.run_tool(*arguments), USAGE, "shot-3.jpg", "--force")
        self.assertEqual([file.name for file in self.folder.iterdir()], ["shot-3.jpg"])
        self.assertEqual((self.folder / "shot-3.jpg").read_bytes(), b"dear to somebody")
        self.succeed(*arguments, "--force")
        pixels(self.folder / "shot-3.jpg")

    def test_a_source_that_cannot_be_set(self):
        for arguments in (("--still-bracket", "exposure=-1,1"), ("--still-size", "640x480")):
            run = self.run_tool(*NOISE, "--fps", 30, *arguments, "-o", "shot-%d.jpg", "-o", "a.webm")
            self.assertNotEqual(run.code, OK)
            self.assertSentence(run, "use a camera")
            (self.folder / "a.webm").unlink(missing_ok=True)
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_folders(self):
        self.assertRefused(self.run_tool(*NOISE, "-o", "no/such/shot.jpg"), NO_INPUT, "no/such")
        folder = "/sys" if os.geteuid() == 0 else self.folder / "closed"
        if os.geteuid() != 0:
            folder.mkdir(mode=0o555)
        self.assertRefused(self.run_tool(*NOISE, "-o", f"{folder}/shot.jpg"), PERMISSION, f"{folder}")

    def test_a_full_disk(self):
        if os.geteuid() != 0:
            self.skipTest("mounting needs root")
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], stderr=subprocess.PIPE)
        if mounted.returncode != 0:
            self.skipTest(f"mount: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", str(disk)])
        run = self.run_tool(*NOISE, "--burst", 500, "-o", disk / "shot-%03d.jpg", "-o", "kept.webm")
        self.assertEqual(run.code, IO, str(run))
        self.assertSentence(run, "full", "No space left")
        files = sorted(disk.iterdir())
        self.assertGreater(len(files), 0)
        for file in files:
            pixels(file)
        self.assertIn(f"{len(files)} of 500 stills", run.stderr)
        self.assertEqual(media.decode(self.folder / "kept.webm")[1], "", "the film is whole")
