"""While the camera is away: what is recorded stays, the right camera is waited for, and it comes back as it was."""

import os
import signal
import subprocess
import time

import ours
import v4l2

TIME_TRAVEL = True

VIDEO = 44  # the number of a group; any
GONE, BACK = "The camera was unplugged", "The camera is back"


class OutageTests(ours.CameraTestCase):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "out.webm"

    def record(self, node, *arguments, size="320x240"):
        running = self.start("--device", node, "--size", size, "-o", self.file, *arguments)
        running.wait_for_frames(30)
        return running

    def end(self, running, code=ours.OK):
        running.interrupt()
        self.assertEqual(running.process.returncode, code, running.text())
        return ours.summary(running.events())

    def pull(self, running, webcam):
        webcam("pull")
        running.wait_for(lambda: running.messages()[-1:] and running.messages()[-1].startswith(GONE), GONE)
        time.sleep(1.1)  # until the next statistics

    def plug(self, running, webcam):
        webcam("plug")
        running.wait_for(lambda: running.messages()[-1].startswith(BACK), "the camera's return")
        running.wait_for_frames(30)

    # The end of the run

    def test_interrupted_while_it_is_away(self):
        webcam = self.plugged_webcam()
        running = self.record(webcam.wait_for_node())
        self.pull(running, webcam)
        time.sleep(5)
        summary = self.end(running, ours.IO)
        self.assertTrue(any("was unavailable" in message for message in running.messages()), running.messages())
        self.assertWhole(self.file, summary)

    def test_time_is_up_while_it_is_away(self):
        webcam = self.plugged_webcam()
        running = self.record(webcam.wait_for_node(), "--duration", 10)
        self.pull(running, webcam)
        self.assertEqual(running.finish(12), ours.IO, running.text())
        self.assertWhole(self.file)

    def test_killed_while_it_is_away(self):
        webcam = self.plugged_webcam()
        running = self.record(webcam.wait_for_node())
        running.wait_for_frames(60)
        self.pull(running, webcam)
        time.sleep(3)
        frames = running.frames()
        running.process.send_signal(signal.SIGKILL)
        running.finish()
        times = ours.packet_times(self.file)
        print(f"    {len(times)} of {frames} frames are in the file", flush=True)
        self.assertEqual(len(times), frames)
        self.assertEqual(ours.decoded_frames(self.file), frames)

    # Which camera

    def test_another_camera_is_not_taken(self):
        first = self.plugged_webcam()
        running = self.record(first.wait_for_node())
        self.pull(running, first)
        frames = running.frames()
        second = self.plugged_webcam(serial="SW0002")
        second.wait_for_node()
        time.sleep(10)
        self.assertEqual(running.frames(), frames)
        self.assertFalse(second("state")["streaming"])
        self.plug(running, first)
        self.assertTrue(first("state")["streaming"])
        self.end(running)

    def test_it_comes_back_under_another_path(self):
        webcam = self.plugged_webcam()
        node = webcam.wait_for_node()
        running = self.record(node)
        self.pull(running, webcam)
        webcam.wait_until_gone()
        # Other cameras take its number meanwhile.
        other = self.plugged_webcam(serial="SW0003")
        self.assertEqual(other.wait_for_node(), node)
        self.plug(running, webcam)
        self.assertNotEqual(webcam.node(), node)
        self.assertEqual(running.messages()[-1], f"The camera is back as {webcam.node()}.")
        self.end(running)

    def test_taken_by_another_program_when_it_returns(self):
        node = self.fresh_camera().node()
        running = self.record(node, size="320x180")
        self.camera.pull()
        running.wait_for_message(GONE)
        # At the same node, before we see it.
        running.process.send_signal(signal.SIGSTOP)
        self.camera.plug()
        thief = subprocess.Popen(
            ["v4l2-ctl", "-d", self.camera.node(), "--stream-mmap"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(thief.wait)
        self.addCleanup(thief.kill)
        time.sleep(1)
        running.process.send_signal(signal.SIGCONT)
        running.wait_for_message(f"The camera is in use by v4l2-ctl (pid {thief.pid}); waiting for it.")
        thief.kill()
        running.wait_for_frames(30)
        self.end(running)

    def test_permission_is_gone_when_it_returns(self):
        webcam = self.plugged_webcam()
        os.chmod(self.folder, 0o777)

        def allow():
            os.chown(webcam.wait_for_node(), 0, VIDEO)
            os.chmod(webcam.node(), 0o660)

        allow()
        running = self.start(
            "--device", webcam.node(), "--size", "320x240", "-o", self.file,
            prefix=("setpriv", "--reuid=1000", f"--regid={VIDEO}", "--clear-groups"))
        running.wait_for_frames(30)
        self.pull(running, webcam)
        webcam("plug")  # the new node is root's only
        running.wait_for_message("No permission to open the camera; waiting for it.")
        allow()
        running.wait_for_frames(30, limit=3)
        self.end(running)

    # What it was set to

    def test_controls_are_set_again(self):
        webcam = self.plugged_webcam()
        running = self.record(
            webcam.wait_for_node(), "--control", "brightness=20", "--control", "white_balance_automatic=off",
            "--control", "white_balance_temperature=3000")
        # By another program while it runs.
        v4l2.set_control(webcam.node(), "contrast", 77)
        time.sleep(0.6)  # The driver is asked for it each half second.
        wanted = {"brightness": 20, "white_balance_auto": 0, "white_balance": 3000, "contrast": 77}
        for _ in range(2):
            state = webcam("state")["controls"]
            self.assertEqual({name: state[name] for name in wanted}, wanted)
            self.pull(running, webcam)
            self.plug(running, webcam)
        state = webcam("state")["controls"]
        self.assertEqual({name: state[name] for name in wanted}, wanted)
        summary = self.end(running)
        self.assertWhole(self.file, summary)

    def test_the_rate_is_kept_in_the_dark(self):
        webcam = self.plugged_webcam()
        webcam("dark", 1)
        running = self.record(webcam.wait_for_node(), "--keep-rate")
        self.assertEqual(webcam("state")["controls"]["exposure_priority"], 0)
        self.pull(running, webcam)
        self.plug(running, webcam)
        self.assertEqual(webcam("state")["controls"]["exposure_priority"], 0, "also after a replug")
        self.end(running)
        self.assertEqual(webcam("state")["controls"]["exposure_priority"], 1, "given back")
        times = self.assertWhole(self.file)
        self.assertAlmostEqual((times[25] - times[0]) / 25, 1 / 30, delta=0.001)
        self.assertFalse(any("low light" in message for message in running.messages()))

    def test_a_camera_that_slows_down_in_the_dark(self):
        webcam = self.plugged_webcam()
        webcam("dark", 1)
        running = self.record(webcam.wait_for_node())
        running.wait_for_message("The camera gives 15 of 30 fps, as cameras do that expose longer in low light; exposure_dynamic_framerate=0")
        summary = self.end(running)
        self.assertEqual(summary["capture"]["dropped"]["source"], 0)
        times = self.assertWhole(self.file)
        self.assertAlmostEqual((times[25] - times[0]) / 25, 1 / 15, delta=0.001)

    # Often

    def test_twenty_times(self):
        webcam = self.plugged_webcam()
        running = self.record(webcam.wait_for_node())
        seen = []
        for _ in range(20):
            self.pull(running, webcam)
            self.assertEqual(running.nodes(), [], "its node is closed")
            self.plug(running, webcam)
            seen.append((running.descriptors(), running.memory()))
        print(f"    descriptors, bytes: {seen[0]}, {seen[4]} … {seen[-1]}", flush=True)
        self.assertEqual(seen[0][0], seen[-1][0], "descriptors")
        self.assertLess(seen[-1][1] - seen[4][1], 2 << 20, "memory")
        self.assertEqual(len([message for message in running.messages() if message.startswith(BACK)]), 20)
        summary = self.end(running)
        self.assertWhole(self.file, summary)
