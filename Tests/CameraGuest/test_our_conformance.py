"""The contract of captures, checked by the suites of the test kit on real drivers: vivid of both kinds, the webcam, and
sound cards."""

import os
import re
import subprocess
import unittest

import unit_tests
import vivid
from webcam.remote import RemoteWebcam


class ConformanceTests(unittest.TestCase):
    def test_cameras_keep_the_contract(self):
        bundle = unit_tests.bundle(self)
        with RemoteWebcam() as webcam:
            cameras = [vivid.node(0), vivid.node(1), webcam.wait_for_node()]
            answer = subprocess.run(
                [bundle, "--testing-library", "swift-testing", "--filter", "Real(Camera|Buffer)Tests", "--no-parallel"],
                env={**os.environ, "CAPTURER_CAMERAS": " ".join(cameras)}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        print(answer.stdout, flush=True)
        self.assertEqual(answer.returncode, 0)
        for camera in cameras:
            self.assertRegex(answer.stdout, rf"(?m)^{re.escape(camera)}: 0 of \d\d rules broken$")
        self.assertRegex(answer.stdout, "Test run with 2 tests .*passed")

    def test_microphones_keep_the_contract(self):
        """One whose frames the driver counts, and one that is recorded from what is played to it, which is nothing."""
        cards = ["plughw:CARD=Dummy,DEV=0", "hw:CARD=Loopback,DEV=1"]
        answer = subprocess.run(
            [unit_tests.bundle(self), "--testing-library", "swift-testing", "--filter", "RealMicrophoneTests/",
             "--no-parallel"],
            env={**os.environ, "CAPTURER_MICROPHONES": " ".join(cards)}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        print(answer.stdout, flush=True)
        self.assertEqual(answer.returncode, 0)
        for card in cards:
            self.assertRegex(answer.stdout, rf"(?m)^{re.escape(card)}: 0 of \d\d rules broken$")
        self.assertRegex(answer.stdout, "Test run with 1 test .*passed")
