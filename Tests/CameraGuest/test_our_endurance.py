"""Hours of capture in seconds: nothing is lost, nothing grows, nothing drifts. And the limits of the watchdog."""

import time

import ours

TIME_TRAVEL = True
LATER = True

MINUTE, HOUR = 60, 3600
GROWTH = 1 << 20  # bytes of memory, after the first minutes


class EnduranceTests(ours.CameraTestCase):
    def watch(self, running, seconds, memory):
        """Lets time pass and notes the memory each ten minutes."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            time.sleep(min(10 * MINUTE, deadline - time.monotonic()))
            memory.append(running.memory())

    def test_two_hours(self):
        memory = []
        running = self.start(
            "--device", self.fresh_camera().node(), "--size", "320x180", "-o", "null:", "--duration", 2 * HOUR)
        time.sleep(5 * MINUTE)
        self.watch(running, 2 * HOUR - 10 * MINUTE, memory)
        self.assertEqual(running.finish(11 * MINUTE), ours.OK, running.text()[-2000:])
        capture = ours.summary(running.events())["capture"]
        print(f"    {capture['frames']} frames in {capture['seconds']} s, memory {memory[0]} … {memory[-1]}", flush=True)
        self.assertEqual(capture["frames"], 2 * HOUR * 30)
        self.assertEqual(capture["dropped"]["total"], 0)
        self.assertAlmostEqual(capture["seconds"], 2 * HOUR, delta=0.05)
        self.assertLess(max(memory) - memory[0], GROWTH)
        self.assertEqual(running.messages(), [])

    def test_an_hour_with_faults(self):
        memory, camera = [], self.fresh_camera()
        running = self.start("--device", camera.node(), "--size", "320x180", "--fps", 10, "-o", "null:")
        began = time.monotonic()
        for _ in range(6):
            time.sleep(5 * MINUTE)
            camera.set("percentage_of_dropped_buffers", 100)
            time.sleep(2)
            camera.set("percentage_of_dropped_buffers", 0)
            time.sleep(5 * MINUTE)
            camera.pull()
            time.sleep(2)
            camera.plug()
            memory.append((running.descriptors(), running.memory()))
        time.sleep(10)
        elapsed = time.monotonic() - began
        running.interrupt()
        self.assertEqual(running.process.returncode, ours.OK, running.text()[-2000:])
        capture, messages = ours.summary(running.events())["capture"], running.messages()
        print(f"    {capture['frames']} frames in {elapsed:.1f} s, memory {memory[0]} … {memory[-1]}", flush=True)
        self.assertEqual(messages, 6 * [
            "The camera stopped responding; restarting (1/4).", "The camera was unplugged; waiting for it.",
            "The camera is back as /dev/video0."])
        # Twelve outages of two seconds.
        self.assertAlmostEqual(capture["frames"], (elapsed - 12 * 2) * 10, delta=12 * 5)
        self.assertEqual(memory[0][0], memory[-1][0], "descriptors")
        self.assertLess(memory[-1][1] - memory[1][1], GROWTH)


class WatchdogTests(ours.CameraTestCase):
    """When it takes a camera for stalled, and how it climbs the ladder."""

    def setUp(self):
        super().setUp()
        self.fresh_camera()
        self.addCleanup(self.camera.reset)

    def start_here(self):
        return self.start("--device", self.camera.node(), "--size", "320x180", "-o", "null:")

    def moment(self, running, words, limit):
        """When a message came."""
        running.wait_for_message(words, limit)
        return time.monotonic()

    def drop(self, percent):
        self.camera.set("percentage_of_dropped_buffers", percent)

    def test_no_first_frame(self):
        webcam = self.plugged_webcam()
        webcam("stall")
        began = time.monotonic()
        running = self.start("--device", webcam.wait_for_node(), "--size", "320x240", "-o", "null:")
        steps = [self.moment(running, f"restarting ({step}/4)", 6) - began for step in (1, 2, 3, 4)]
        waits = [self.moment(running, f"trying again in {wait} s", 40) - began for wait in (1, 2, 4, 8, 16, 30)]
        print(f"    {[round(step, 2) for step in steps + waits]}", flush=True)
        for number, step in enumerate(steps):
            self.assertAlmostEqual(step, 5 * (number + 1), delta=0.3)
        # Each wait, and five seconds for the first frame after it.
        for number, (before, after) in enumerate(zip(waits, waits[1:])):
            self.assertAlmostEqual(after - before, 2 ** number + 5, delta=0.3)
        self.assertEqual(running.frames(), 0)
        webcam("resume")
        running.wait_for_frames(30, limit=35)
        running.interrupt()
        self.assertEqual(running.process.returncode, ours.OK)

    def test_silence_after_frames(self):
        running = self.start_here()
        running.wait_for_frames(60)
        self.drop(100)
        began = time.monotonic()
        after = self.moment(running, "restarting (1/4)", 2) - began
        print(f"    after {after:.3f} s", flush=True)
        self.assertTrue(0.4 <= after <= 0.6, after)
        self.drop(0)
        running.wait_for_frames(90)
        # Frames have come for long enough, so it begins at the first step again.
        self.drop(100)
        running.wait_for(lambda: running.messages().count("The camera stopped responding; restarting (1/4).") == 2, "it", 2)
        running.interrupt()
        self.assertEqual(running.process.returncode, ours.IO)

    def test_a_slow_camera_is_not_stalled(self):
        # Two frames a second: four of their intervals are allowed, two seconds.
        node = self.camera.node()
        running = self.start("--device", node, "--size", "3840x2160", "--fps", 2, "-o", "null:")
        running.wait_for_frames(10)
        self.assertEqual(running.messages(), [])
        self.drop(100)
        began = time.monotonic()
        after = self.moment(running, "restarting (1/4)", 4) - began
        print(f"    after {after:.3f} s", flush=True)
        self.assertTrue(1.4 <= after <= 2.1, after)
