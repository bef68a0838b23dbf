"""Sound cards, and sound beside pictures: flash and beep at ±1000 ppm, hangs, pulls, overruns, and the cards of the kernel."""

import array
import os
import signal
import subprocess
import time

import ours
import sync
import unit_tests
from microphone.remote import RemoteMicrophone

TIME_TRAVEL = True
LONG = True

FLASHES = ("--size", "320x240", "--capture-format", "YUYV", "--fps", "10")
APART = 0.005  # seconds between a picture and its sound, end to end
LOOPBACK = "/sys/bus/platform/drivers/snd_aloop"


class SoundTestCase(ours.CameraTestCase):
    def plugged_microphone(self, **options):
        return self.enterContext(RemoteMicrophone(**options))

    def record(self, microphone, *arguments):
        """A recording of flash and beep that has begun."""
        webcam = self.plugged_webcam()
        webcam("flash", 1)
        self.webcam = webcam
        return self.start(
            "--device", webcam.node(), *FLASHES, "--audio", f"mic:{microphone.CARD}", "-o", "av.webm", *arguments)

    def assertTogether(self, least, since=0, length=None):
        """Each beep with its flash, from the first one after a time to the last one, or for some seconds."""
        found = sync.offsets(self.folder / "av.webm", since, length)
        told = ", ".join(f"{offset * 1000:.1f}" for _, offset in found)
        print(f"    sound minus picture, ms: {told}", flush=True)
        self.assertGreaterEqual(len(found), least)
        for at, offset in found:
            self.assertLess(abs(offset), APART, f"at {at:.3f} s")
        return [at for at, _ in found]


class SyncTests(SoundTestCase):
    def test_a_clock_that_is_off(self):
        for ppm in (0, 100, -100, 1000, -1000):
            with self.subTest(ppm=ppm), RemoteMicrophone(ppm=ppm) as microphone:
                running = self.record(microphone, "--duration", 9, "--force")
                self.assertEqual(running.finish(120), ours.OK, running.text())
                self.assertTogether(7)
                self.webcam.__exit__()
                sound = ours.summary(running.events())["audio"]
                self.assertEqual(sound["lost"], 0, sound)
                # Packets of a millisecond tell no more in ten seconds.
                self.assertLess(abs(sound["sampleRateMeasured"] / 48_000 - 1 - ppm * 1e-6), 300e-6, sound)

    def test_a_microphone_that_is_pulled(self):
        microphone = self.plugged_microphone(ppm=300)
        running = self.record(microphone)
        running.wait_for_frames(45)
        microphone("pull")
        microphone.wait_until_gone()
        time.sleep(2.5)
        microphone("plug")
        running.wait_for_frames(80, limit=60)
        running.interrupt()
        self.assertEqual(running.process.returncode, ours.OK, running.text())
        times = self.assertTogether(6)
        holes = [after - before for before, after in zip(times, times[1:])]
        self.assertGreater(max(holes), 1.9, f"beeps are missing while it is away: {times}")
        self.assertGreater(ours.summary(running.events())["audio"]["secondsOfSilence"], 2)

    def test_a_microphone_that_hangs(self):
        microphone = self.plugged_microphone(ppm=-200)
        running = self.record(microphone)
        running.wait_for_frames(45)
        microphone("stall")
        time.sleep(2)
        microphone("resume")
        running.wait_for_frames(80, limit=60)
        running.interrupt()
        self.assertEqual(running.process.returncode, ours.OK, running.text())
        self.assertTogether(6)
        self.assertGreater(ours.summary(running.events())["audio"]["secondsOfSilence"], 1.5)

    def test_a_program_that_does_not_read(self):
        """An overrun of the microphone: the program is stopped for longer than its buffers hold."""
        microphone = self.plugged_microphone(ppm=100)
        running = self.record(microphone)
        running.wait_for_frames(45)
        running.process.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        running.process.send_signal(signal.SIGCONT)
        running.wait_for_frames(80, limit=60)
        running.interrupt()
        self.assertEqual(running.process.returncode, ours.OK, running.text())
        self.assertTogether(7)
        self.assertGreater(ours.summary(running.events())["audio"]["lost"], 24_000)

    def test_a_camera_that_is_pulled(self):
        microphone = self.plugged_microphone(ppm=-100)
        running = self.record(microphone)
        running.wait_for_frames(45)
        self.webcam("pull")
        running.wait_for_message("The camera was unplugged")
        self.webcam.wait_until_gone()
        time.sleep(1.5)
        self.webcam("plug")
        running.wait_for_message("is back")
        running.wait_for_frames(80, limit=60)
        running.interrupt()
        self.assertEqual(running.process.returncode, ours.OK, running.text())
        self.assertTogether(6)

    def test_after_a_long_time(self):
        """An hour, if CAPTURER_SYNC_MINUTES says so: a microphone that is pulled in the middle; its first 20 seconds, those
        before and after the pull, and its last 20."""
        minutes = float(os.environ.get("CAPTURER_SYNC_MINUTES", 1))
        for ppm in os.environ.get("CAPTURER_SYNC_PPM", "-1000").split(","):
            with self.subTest(ppm=ppm), RemoteMicrophone(ppm=float(ppm)) as microphone:
                running = self.record(microphone, "--bitrate", "100k", "--force")
                time.sleep(minutes * 30)
                microphone("pull")
                microphone.wait_until_gone()
                time.sleep(2.5)
                microphone("plug")
                time.sleep(minutes * 30)
                running.interrupt()
                self.webcam.__exit__()
                self.assertEqual(running.process.returncode, ours.OK, running.text())
                self.assertTogether(17, length=20)
                # The microphone needs a moment to be found again.
                self.assertTogether(17, since=minutes * 30 - 10, length=30)
                times = self.assertTogether(17, since=minutes * 60 - 20)
                self.assertGreater(times[-1], minutes * 60)
                audio = ours.summary(running.events())["audio"]
                # All that is missing is what was not recorded.
                self.assertAlmostEqual(audio["secondsOfSilence"], 3, delta=1, msg=audio)


class CardTests(SoundTestCase):
    """The virtual cards of the kernel: one of which nobody speaks, and one that records what is played to it."""

    def samples(self):
        data = (self.folder / "voice.wav").read_bytes()
        data = data[data.index(b"data") + 8:]
        return array.array("h", data[:len(data) // 4 * 4])

    def sound(self, *arguments):
        running = ours.Running(*arguments, "--stats", "json", folder=self.folder)
        self.addCleanup(running.end)
        return running

    def test_they_are_listed(self):
        listed = subprocess.run(
            [os.environ["CAPTURER_DEMO"], "list"], capture_output=True, text=True, timeout=60, check=True).stdout
        for card in ("Dummy", "Loopback"):
            self.assertIn(f"microphone {card} (plughw:CARD={card},DEV=0)", listed)

    def test_a_card_is_recorded_without_a_loss(self):
        running = self.sound("--audio", "mic:Dummy", "--duration", 5, "-o", "voice.wav")
        self.assertEqual(running.finish(60), ours.OK, running.text())
        self.assertEqual(len(self.samples()), 5 * 48_000 * 2)
        audio = ours.summary(running.events())["audio"]
        self.assertEqual((audio["lost"], audio["secondsOfSilence"]), (0, 0), audio)

    def play(self):
        """Plays a tone into the card that can be recorded."""
        made = self.folder / "tone.wav"
        if not made.exists():
            subprocess.run(
                ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=1000:duration=60:sample_rate=48000",
                 "-af", "volume=8dB", "-ac", "2", str(made)], check=True)
        player = subprocess.Popen(["aplay", "-q", "-D", "hw:Loopback,0", str(made)])
        self.addCleanup(player.wait)
        self.addCleanup(player.kill)
        return player

    def test_what_is_played_is_recorded(self):
        self.play()
        time.sleep(0.5)
        running = self.sound("--audio", "mic:hw:Loopback,1", "--duration", 3, "-o", "voice.wav")
        self.assertEqual(running.finish(60), ours.OK, running.text())
        self.assertGreater(max(self.samples()), 5000)
        self.assertEqual(ours.summary(running.events())["audio"]["lost"], 0)

    def test_a_loudspeaker_is_heard(self):
        """What the tool plays into one end of a card is recorded at the other, without a hole."""
        player = self.sound(
            "--audio", "tone", "--tone-sound", "sine", "--tone-frequency", 1000, "--tone-level", 6, "-o",
            "loudspeaker:plughw:CARD=Loopback,DEV=0")
        time.sleep(1)
        running = self.sound("--audio", "mic:plughw:CARD=Loopback,DEV=1", "--duration", 5, "-o", "voice.wav")
        self.assertEqual(running.finish(60), ours.OK, running.text())
        player.interrupt()
        self.assertEqual(player.process.returncode, ours.OK, player.text())
        left = self.samples()[48_000::2]
        quiet = [start for start in range(0, len(left) - 480, 480) if max(left[start:start + 480]) < 5000]
        self.assertEqual(quiet, [], player.text())
        played = ours.summary(player.events())["outputs"][0]
        self.assertEqual((played["underruns"], played["failures"], played["framesDropped"]), (0, 0, 0), played)
        self.assertLess(abs(played["levelMilliseconds"] - 150), 60, played)

    def test_a_pause_at_the_end(self):
        """A card that cannot pause: what it had not played is played after the pause, though nothing more is written."""
        self.run_unit_test("LoudspeakerCardTests", CAPTURER_LOUDSPEAKER="hw:CARD=Dummy")

    def run_unit_test(self, suite, **environment):
        """One of those that need a card."""
        answer = subprocess.run(
            [unit_tests.bundle(self), "--testing-library", "swift-testing", "--filter", suite],
            env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=300)
        self.assertEqual(answer.returncode, 0, answer.stdout)
        self.assertRegex(answer.stdout, "Test run with 1 test .*passed")

    def test_a_card_that_is_named_by_its_number(self):
        """That it is gone is seen, and that it is back."""
        self.run_unit_test("UnpluggedCardTests", CAPTURER_SOUND_DRIVER=LOOPBACK)

    def test_a_card_in_use(self):
        microphone = f"mic:{self.plugged_microphone().CARD}"
        first = self.sound("--audio", microphone, "-o", "voice.wav")
        first.wait_for(lambda: (self.folder / "voice.wav").exists(), "the first recording")
        second = self.sound("--audio", microphone, "--duration", 1, "-o", "other.wav")
        self.assertEqual(second.finish(60), ours.BUSY, second.text())
        self.assertIn("Another program records from it", second.text())
        first.interrupt()
        self.assertEqual(first.process.returncode, ours.OK)

    def test_a_card_that_goes_and_comes_back(self):
        player = self.play()
        time.sleep(0.5)
        running = self.sound("--audio", "mic:hw:CARD=Loopback,DEV=1", "--duration", 12, "-o", "voice.wav")
        running.wait_for(
            lambda: (self.folder / "voice.wav").exists()
            and (self.folder / "voice.wav").stat().st_size > 200_000, "a second of sound")
        with open(f"{LOOPBACK}/unbind", "w") as file:
            file.write("snd_aloop.0")
        player.wait(10)
        time.sleep(1)
        with open(f"{LOOPBACK}/bind", "w") as file:
            file.write("snd_aloop.0")
        self.play()
        self.assertEqual(running.finish(60), ours.OK, running.text())
        samples = self.samples()
        self.assertAlmostEqual(len(samples) / 2 / 48_000, 12, delta=0.1, msg="the hole is silence")
        self.assertGreater(max(samples[:2 * 48_000]), 5000)
        self.assertGreater(max(samples[-2 * 48_000:]), 5000, "it is heard again")
        audio = ours.summary(running.events())["audio"]
        self.assertGreater(audio["secondsOfSilence"], 0.9, audio)
