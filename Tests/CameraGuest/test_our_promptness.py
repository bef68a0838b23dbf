"""How soon our tool reacts, and what waiting costs: by the clock of the machine."""

import time

import ours

CLOSED = 0.1  # seconds from the unplugging until its node is closed
RETURN = 1.0  # from the plugging in until a frame comes
ENDED = 0.5  # from Ctrl-C until it is gone
SHARE = 0.05  # of a processor, while it waits


class PromptnessTests(ours.CameraTestCase):
    def setUp(self):
        super().setUp()
        # Raw pictures reach the file at once, so its size tells of each frame.
        self.file = self.folder / "out.nv12"

    def record(self, node):
        running = self.start("--device", node, "--size", "320x180", "-o", self.file)
        self.wait_for_picture(0)
        time.sleep(0.5)
        return running

    def wait_for_picture(self, beyond, limit=10):
        """Until the file is larger; the time when it was."""
        deadline = time.monotonic() + limit
        while not (self.file.exists() and self.file.stat().st_size > beyond):
            self.assertLess(time.monotonic(), deadline, "no more frames")
            time.sleep(0.002)
        return time.monotonic()

    def wait_until_closed(self, running):
        deadline = time.monotonic() + 5
        while running.nodes():
            self.assertLess(time.monotonic(), deadline, "the node is still open")
            time.sleep(0.001)
        return time.monotonic()

    def outage(self, node, pull, plug, wait_for_node):
        running = self.record(node)
        began = time.monotonic()
        pull()
        closed = self.wait_until_closed(running) - began
        time.sleep(0.3)
        size, spent, since = self.file.stat().st_size, running.processor_time(), time.monotonic()
        time.sleep(3)
        share = (running.processor_time() - spent) / (time.monotonic() - since)
        plug()
        wait_for_node()
        there = time.monotonic()
        first = self.wait_for_picture(size) - there
        time.sleep(0.5)
        pull()
        self.wait_until_closed(running)
        ended = running.interrupt()
        print(f"    closed after {closed * 1000:.0f} ms, processor {share:.1%}, first frame after {first * 1000:.0f} ms, "
              f"ended after {ended * 1000:.0f} ms", flush=True)
        self.assertEqual(running.process.returncode, ours.IO)
        self.assertLess(closed, CLOSED)
        self.assertLess(share, SHARE)
        self.assertLess(first, RETURN)
        self.assertLess(ended, ENDED)

    def test_unbound(self):
        self.addCleanup(self.camera.reset)
        self.outage(self.fresh_camera().node(), self.camera.pull, self.camera.plug, self.camera.node)

    def test_unplugged(self):
        webcam = self.plugged_webcam()
        self.outage(
            webcam.wait_for_node(), lambda: webcam("pull"), lambda: webcam("plug"), webcam.wait_for_node)

    def test_stalled(self):
        running = self.record(self.fresh_camera().node())
        self.addCleanup(self.camera.reset)
        self.camera.set("percentage_of_dropped_buffers", 100)
        time.sleep(1)
        size, spent = self.file.stat().st_size, running.processor_time()
        time.sleep(8)  # a restart and another opening
        share = (running.processor_time() - spent) / 8
        self.camera.set("percentage_of_dropped_buffers", 0)
        cured = time.monotonic()
        first = self.wait_for_picture(size) - cured
        print(f"    processor {share:.1%}, first frame after {first * 1000:.0f} ms", flush=True)
        self.assertLess(share, SHARE)
        self.assertLess(first, RETURN)
        running.interrupt()
        self.assertEqual(running.process.returncode, ours.OK)

    def test_no_signal(self):
        self.fresh_camera().connect_hdmi()
        self.addCleanup(self.camera.reset)
        running = self.record(self.camera.node())
        self.camera.set("dv_timings_signal_mode", 1)
        running.wait_for_message("No signal")
        size, spent = self.file.stat().st_size, running.processor_time()
        time.sleep(3)
        share = (running.processor_time() - spent) / 3
        self.camera.set("dv_timings_signal_mode", 0)
        cured = time.monotonic()
        first = self.wait_for_picture(size) - cured
        print(f"    processor {share:.1%}, first frame after {first * 1000:.0f} ms", flush=True)
        self.assertLess(share, SHARE)
        self.assertLess(first, RETURN + 0.2)
        running.interrupt()

    def test_ended_while_frames_come(self):
        running = self.record(self.fresh_camera().node())
        ended = running.interrupt()
        self.assertEqual(running.process.returncode, ours.OK)
        self.assertLess(ended, ENDED)
