"""A recorder of events, day after day: the cable is pulled, the disk is full, the process is killed, and nothing is lost but what
must be.

    CAPTURER_DAYS=30 CAPTURER_GUEST_LIMIT=9000 Tests/CameraGuest/run test_our_month       two days of an hour otherwise
"""

import json
import os
import random
import signal
import subprocess
import time
import urllib.request

import ours

TIME_TRAVEL = True
LATER = True

DAYS = int(os.environ.get("CAPTURER_DAYS", "0"))
EVENTS = 5  # on a day, besides those of the faults
HOUR = 3600 if DAYS else 150
PREROLL, POSTROLL = 10, 20
KEPT = 40
PAGE = "127.0.0.1:8765"
GROWTH = 2 << 20  # bytes of memory in a day
# A clip begins with a key frame; pictures come each second.
SLACK = 4


class MonthTests(ours.CameraTestCase):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "recordings", self.disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)
        # A line for each begin and end of a clip.
        self.told = self.folder / "events"
        self.told.touch()
        self.program = self.folder / "tell"
        self.program.write_text(
            '#!/bin/sh\necho "$RECORDING_EVENT|$RECORDING_REASONS|$RECORDING_FILE|$RECORDING_SECONDS|$RECORDING_ERROR" '
            f">>{self.told}\n")
        self.program.chmod(0o755)
        self.clips = {}  # by name: first and last second that it must have

    def begin(self):
        self.running = ours.Running(
            "--source", "camera", "--device", self.camera.node(), "--size", "320x180", "--fps", 1, "--record-on", "signal",
            "--preroll", PREROLL, "--postroll", POSTROLL, "--keep", KEPT, "--serve", PAGE, "--on-event", self.program, "-o",
            self.disk / "clip-%05d.webm", "--stats", "none", folder=self.folder)
        self.addCleanup(self.running.end)
        self.running.wait_for(lambda: self.list() is not None, "the page")
        time.sleep(2 * PREROLL)

    def list(self):
        """The recordings that the page knows, by their start."""
        try:
            with urllib.request.urlopen(f"http://{PAGE}/recordings/list", timeout=20) as answer:
                found = json.load(answer)
        except OSError:
            return None
        return found["recordings"] if found["unknown"] == 0 else None

    def events(self):
        return [line.split("|") for line in self.told.read_text().splitlines()]

    def fire(self):
        """Fires a trigger; when that was, in seconds since 1970."""
        self.running.process.send_signal(signal.SIGUSR1)
        return time.time()

    def clip(self):
        """Fires a trigger, waits for the end of its clip, and looks at it."""
        before, moment = len(self.events()), self.fire()
        time.sleep(POSTROLL + 15)
        begin, end = self.events()[before:]
        self.assertEqual((begin[:2], end[0], end[4]), (["begin", "signal"], "end", ""))
        name = os.path.basename(end[2])
        self.clips[name] = moment - PREROLL, moment + POSTROLL
        times = ours.packet_times(end[2])
        self.assertGreaterEqual(len(times), PREROLL + POSTROLL - 1, f"{name}: {times}")
        self.assertLessEqual(ours.longest_hole(times), 1.5)
        return name

    def pulled_clip(self):
        """The cable is out for half a minute in the middle of a clip; the clip has what there was."""
        before, moment = len(self.events()), self.fire()
        time.sleep(5)
        self.camera.pull()
        time.sleep(30)
        self.camera.plug()
        time.sleep(POSTROLL + 15)
        name = os.path.basename(self.events()[before][2])
        self.clips[name] = moment - PREROLL, moment + 4
        times = ours.packet_times(self.disk / name)
        self.assertGreaterEqual(len([second for second in times if second < PREROLL + 5]), PREROLL + 3, f"{name}: {times}")

    def full_disk(self):
        """While another program fills the disk, a clip is lost, and a warning says so; unless an old one makes room for it."""
        filler, said = self.disk / "other.bin", len(self.running.text())
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
            except OSError:
                pass
        mayFit, before = len(list(self.disk.glob("*.webm"))) >= KEPT, len(self.events())
        self.fire()
        time.sleep(POSTROLL + 15)
        isWhole = [event[4] for event in self.events()[before:]] == ["", ""]
        self.assertTrue("No space" in self.running.text()[said:] or mayFit and isWhole, self.events()[before:])
        filler.unlink()
        # The next one is whole.
        self.clip()

    def killed_clip(self):
        """What was written before plays."""
        before, moment = len(self.events()), self.fire()
        time.sleep(8)
        self.running.process.kill()
        self.running.process.wait()
        name = os.path.basename(self.events()[before][2])
        self.clips[name] = moment - PREROLL, moment
        # The last cluster may be lost.
        self.assertGreaterEqual(len(ours.packet_times(self.disk / name)), PREROLL, name)

    def check_index(self, reasons=("signal",), slack=SLACK):
        """The page knows each clip that is kept, where it begins and ends, and why."""
        kept = sorted(file.name for file in self.disk.glob("*.webm"))
        self.assertLessEqual(len(kept), KEPT + 1)
        known = {name: span for name, span in self.clips.items() if name in kept}
        # Clips that the full disk has cut are kept, too.
        self.assertEqual([name for name in list(self.clips)[-KEPT // 2:] if name not in known], [])
        rows = self.list()
        for name, (first, last) in known.items():
            row = [row for row in rows if row["start"] < last + slack and row["start"] + row["duration"] > first - slack]
            self.assertEqual(len(row), 1, f"{name} {first} {last}: {row}")
            row = row[0]
            self.assertEqual(row["reasons"], list(reasons), f"{name}: {row}")
            self.assertLess(abs(row["start"] - first), slack, f"{name}: {row}")
            self.assertGreater(row["start"] + row["duration"], last - slack, f"{name}: {row}")

    def test_days(self):
        dice = random.Random(30)
        self.fresh_camera()
        for _ in range(DAYS or 2):
            began, memory = time.monotonic(), []
            self.begin()
            for _ in range(EVENTS):
                time.sleep(dice.uniform(1, 3) * HOUR)
                self.clip()
                self.check_index()
                memory.append(self.running.memory())
            time.sleep(dice.uniform(1, 3) * HOUR)
            self.pulled_clip()
            time.sleep(dice.uniform(1, 3) * HOUR)
            self.full_disk()
            self.assertLess(time.monotonic() - began, 23 * HOUR)
            time.sleep(24 * HOUR - (time.monotonic() - began))
            self.check_index()
            memory.append(self.running.memory())
            self.killed_clip()
            print(f"    {len(self.clips)} clips, memory {memory}", flush=True)
            self.assertLess(memory[-1] - memory[1], GROWTH)
        for index in self.disk.glob(".*.index"):
            index.unlink()
        self.begin()
        # When a clip was closed and how long it is tell where it began; not without the cable.
        self.check_index(reasons=(), slack=40)
