"""Microphones and loudspeakers of real sound servers, PulseAudio and PipeWire, through ALSA's default device."""

import array
import json
import os
import signal
import subprocess
import time

from support.icecast import QuirkServer, make_mp3
from support.media import probe
from support.sound_servers import PipeWire, PulseAudio
from support.tool import OK, ToolTestCase


class ServerTests:
    """What is the same of both."""

    WAITS = True

    def setUp(self):
        super().setUp()
        self.server = self.SERVER(self.folder)
        self.addCleanup(self.server.end)
        self.tone = self.make_tone("tone.wav", 1000)

    def make_tone(self, name, frequency):
        file = self.folder / name
        subprocess.run(
            ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"sine={frequency}:duration=120:sample_rate=48000", "-af",
             "volume=9dB", "-ac", "2", str(file)], check=True, stdin=subprocess.DEVNULL)
        return file

    def start(self, *arguments, **options):
        return super().start(*arguments, env=self.server.environment, **options)

    def sound(self, file):
        """The samples of a WAV or a raw file."""
        data = file.read_bytes()
        if data.startswith((b"RIFF", b"RF64")):
            data = data[data.index(b"data") + 8:]
        return array.array("h", data[:len(data) // 4 * 4])

    def isTone(self, samples, frequency=1000):
        """Whether the last second has a tone, as loud, and of its frequency. What a busy machine's server has lost in between
        is silence; a server may begin with that, too."""
        left = samples[::2]
        if len(left) < 48_000 or max(left[-48_000:]) < 5000:
            return False
        left = left[-48_000:]
        blocks = [left[start:start + 480] for start in range(0, 48_000, 480)]
        rises = [sum(1 for before, after in zip(block, block[1:]) if before < 0 <= after) for block in blocks]
        return sum(1 for count in rises if abs(count - frequency / 100) <= 1) > 60

    def assertTone(self, samples):
        self.assertTrue(self.isTone(samples), f"of {len(samples)} samples the loudest is {max(samples, default=0)}")

    def status(self, running):
        lines = [line for line in running.peek().splitlines() if line.startswith("{") and line.endswith("}")]
        return json.loads(lines[-1]) if lines else {}

    def test_the_default_microphone(self):
        self.server.feed(self.tone)
        run = self.succeed("--audio", "mic", "--duration", 4, "-o", "voice.wav", "--stats", "json", limit=60)
        samples = self.sound(self.folder / "voice.wav")
        self.assertEqual(len(samples), 4 * 48_000 * 2)
        self.assertTone(samples)
        self.assertIn("mic", run.stderr)

    def test_what_the_computer_plays(self):
        self.server.feed(self.tone, sink="speaker")
        self.succeed("--audio", "desktop", "--duration", 4, "-o", "played.wav", limit=60)
        self.assertTone(self.sound(self.folder / "played.wav"))

    def test_sound_that_is_late_is_waited_for(self):
        """A program that had no processor when its time was over still records all that it was asked for."""
        self.server.feed(self.tone)
        running = self.start("--audio", "mic", "--duration", 3, "-o", "voice.wav")
        file = self.folder / "voice.wav"
        running.wait_for_file(file, 192_000, limit=60)
        running.send(signal.SIGSTOP)
        time.sleep(4)
        running.send(signal.SIGCONT)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        self.assertEqual(len(self.sound(file)), 3 * 48_000 * 2, str(run))

    def test_a_microphone_by_its_name_beside_pictures(self):
        self.server.feed(self.tone)
        # A server gives its first sound up to two seconds after the start; the pictures wait for it.
        for _ in range(3):  # a busy machine may lose some later
            run = self.succeed(
                "--source", "noise", "--size", "64x48", "--fps", 30, "--audio", "mic:microphone", "--duration", 4, "--force",
                "-o", "av.webm", "--stats", "json", limit=60)
            silence = json.loads(run.stderr.splitlines()[-1])["audio"]["secondsOfSilence"]
            if silence < 0.3:
                break
        self.assertLess(silence, 0.3)
        found = probe(self.folder / "av.webm")
        self.assertEqual(found["errors"], "")
        self.assertAlmostEqual(float(found["format"]["duration"]), 4, delta=0.2)
        raw = self.folder / "sound.raw"
        subprocess.run(
            ["ffmpeg", "-v", "error", "-i", str(self.folder / "av.webm"), "-map", "0:a", "-ar", "48000", "-ac", "2", "-f",
             "s16le", str(raw)], check=True, stdin=subprocess.DEVNULL)
        self.assertTone(self.sound(raw))

    def test_the_loudspeaker(self):
        make_mp3(self.folder / "a.mp3", seconds=30, rate=48000, frequency=1000)
        radio = QuirkServer((self.folder / "a.mp3").read_bytes())
        self.addCleanup(radio.end)
        heard = self.folder / "heard.raw"
        self.server.hear(heard)
        running = self.start("play", radio.url("icy"), "--sound", "default", "--stats", "json")
        # Eight seconds of what the loudspeaker gives, of which the last one is looked at.
        deadline = time.monotonic() + 60
        while (self.status(running).get("progress") or {}).get("positionSeconds", 0) < 4:
            self.assertIsNone(running.process.poll(), running.peek())
            self.assertLess(time.monotonic(), deadline, running.peek()[-2000:])
            time.sleep(0.05)
        left = self.sound(heard)[::2]
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        loud = sum(1 for sample in left if abs(sample) > 500)
        self.assertGreater(loud, 48_000, "two seconds of a sine are above that nearly always")

    def test_what_is_recorded_is_heard(self):
        """The microphone on the loudspeaker, while it is recorded."""
        self.server.feed(self.tone)
        heard = self.folder / "heard.raw"
        self.server.hear(heard)
        running = self.start("--audio", "mic", "-o", "voice.wav", "-o", "loudspeaker", "--stats", "json")
        self.wait_until(lambda: self.isTone(self.end(heard)), running, "the loudspeaker gives no tone")
        self.wait_until(lambda: self.isTone(self.end(self.folder / "voice.wav")), running, "nothing is recorded")
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        outputs = json.loads(run.stderr.splitlines()[-1])["outputs"]
        played = next(output for output in outputs if output["format"] == "loudspeaker")
        self.assertGreater(played["framesPlayed"], 48_000, played)
        self.assertEqual(played["failures"], 0, played)

    def test_a_loudspeaker_that_is_not_there(self):
        run = self.run_tool("--audio", "tone", "-o", "loudspeaker:hw:CARD=NoSuchCard,DEV=0", "--duration", 1)
        self.assertNotEqual(run.code, OK, str(run))
        self.assertIn("There is no such loudspeaker", run.stderr)

    def test_a_source_that_is_removed(self):
        """The server has recording go on with what the loudspeaker plays, although the source was named: a plug-in of ALSA
        neither shows nor prevents it, which docs/troubleshooting.md says."""
        self.server.feed(self.tone)
        self.server.feed(self.make_tone("high.wav", 2000), "speaker")
        running = self.start("--audio", "mic:microphone", "-o", "voice.wav")
        file = self.folder / "voice.wav"
        self.wait_until(lambda: file.exists() and self.isTone(self.end(file)), running, "the source is not heard")
        self.server.control("unload-module", "module-remap-source")
        self.wait_until(lambda: self.isTone(self.end(file), 2000), running, "the loudspeaker is not heard")
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))

    def test_a_server_that_ends_and_comes_back(self):
        self.server.feed(self.tone)
        running = self.start("--audio", "mic", "-o", "voice.wav", "--stats", "json")
        file = self.folder / "voice.wav"
        self.wait_until(lambda: file.exists() and self.isTone(self.end(file)), running, "the first server is not heard")
        self.server.kill()
        time.sleep(1.5)
        before = file.stat().st_size
        self.server.begin()
        self.server.feed(self.tone)
        # The time without a server becomes silence, and a server gives its first sound up to two seconds after its start.
        self.wait_until(
            lambda: file.stat().st_size > before + 2 * 192_000 and self.isTone(self.end(file)), running,
            "the second server is not heard")
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        summary = json.loads(run.stderr.splitlines()[-1])
        self.assertGreater(summary["audio"]["secondsOfSilence"], 1, summary["audio"])

    def test_a_server_that_hangs(self):
        """Recording goes on when the server does, and a stop does not wait for it: nor that of a player."""
        self.server.feed(self.tone)
        file = self.folder / "voice.wav"
        heard = self.folder / "heard.raw"
        self.server.hear(heard)
        recording = self.start("--audio", "mic", "-o", "voice.wav")
        playing = self.start("--audio", "tone", "-o", "loudspeaker")
        self.wait_until(lambda: file.exists() and self.isTone(self.end(file)), recording, "nothing is recorded")
        self.wait_until(lambda: max(self.end(heard), default=0) > 500, playing, "nothing is played")
        self.server.freeze()
        time.sleep(5)
        self.server.thaw()
        before = file.stat().st_size
        self.wait_until(
            lambda: file.stat().st_size > before + 2 * 192_000 and self.isTone(self.end(file)), recording,
            "the server is not heard again")
        self.server.freeze()
        time.sleep(1)
        began = time.monotonic()
        for running in recording, playing:
            running.send(signal.SIGINT)
        runs = [running.finish() for running in (recording, playing)]
        # A second for each of what waits for an answer; twelve times as long before.
        self.assertLess(time.monotonic() - began, 10)
        for run in runs:
            self.assertEqual(run.code, OK, str(run))

    def wait_until(self, condition, running, what):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertIsNone(running.process.poll(), running.peek())
            self.assertLess(time.monotonic(), deadline, f"{what}: {running.peek()[-2000:]}")
            time.sleep(0.5)

    def move(self, running, source):
        """Has a recording come from another source. PipeWire ignores that at first, so it is asked for until it has been done."""
        stream = self.server.recording(running.process)
        if stream is None or self.server.source(source) == stream["source"]:
            return stream is not None
        self.server.control("move-source-output", str(stream["index"]), source)
        return False

    def end(self, file):
        """The samples of the last second of a WAV that is being written."""
        with open(file, "rb") as data:
            data.seek(max(80, os.path.getsize(file) // 4 * 4 - 192_016))
            found = data.read()
        return array.array("h", found[:len(found) // 4 * 4])

    def test_a_source_that_the_server_moves(self):
        """Recording goes on with the sound of another source, and back with that of the first when the default changes."""
        self.server.feed(self.tone)
        self.server.feed(self.make_tone("high.wav", 2000), "second")
        running = self.start("--audio", "mic", "-o", "voice.wav", "--stats", "json")
        file = self.folder / "voice.wav"
        running.wait_for_file(file, 2 * 192_000, limit=60)
        self.wait_until(lambda: self.isTone(self.end(file)), running, "the first source is not heard")
        self.wait_until(
            lambda: self.move(running, "second.monitor") and self.isTone(self.end(file), 2000), running,
            "the second source is not heard")
        self.wait_until(
            lambda: self.move(running, "microphone") and self.isTone(self.end(file)), running,
            "the first source is not heard again")
        self.server.control("set-default-source", "second.monitor")
        before = file.stat().st_size
        self.wait_until(lambda: file.stat().st_size > before + 2 * 192_000, running, "recording does not go on")
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
        samples = self.sound(file)
        self.assertTrue(self.isTone(samples) or self.isTone(samples, 2000), "one of both is heard to the end")


class PulseAudioTests(ServerTests, ToolTestCase):
    SERVER = PulseAudio


class PipeWireTests(ServerTests, ToolTestCase):
    LATER = True
    SERVER = PipeWire

    def test_the_desktop_s_default_output_changes(self):
        """PulseAudio stays with the output that was the default at the start."""
        self.server.feed(self.tone, sink="speaker")
        running = self.start("--audio", "desktop", "-o", "played.wav")
        file = self.folder / "played.wav"
        running.wait_for_file(file, 192_000, limit=60)
        self.wait_until(lambda: self.isTone(self.end(file)), running, "the first output is not heard")
        self.server.others.pop().kill()
        self.server.control("set-default-sink", "second")
        self.server.feed(self.make_tone("other.wav", 2000), sink="second")
        self.wait_until(lambda: self.isTone(self.end(file), 2000), running, "the second output is not heard")
        running.send(signal.SIGINT)
        run = running.finish()
        self.assertEqual(run.code, OK, str(run))
