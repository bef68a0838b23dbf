"""The judge of the fault table tells the ways of failing apart. Which client does what is known from the table."""

import unittest

import clients
import faults
import vivid
from webcam.remote import RemoteWebcam

TIME_TRAVEL = True
LATER = True

CLIENTS = {client.name: client for client in clients.CLIENTS}
FAULTS = {fault.name: fault for fault in faults.FAULTS}


def through(client, fault):
    camera = vivid.Camera()
    camera.reset()
    return clients.judge(CLIENTS[client], FAULTS[fault], camera, camera.node())


class JudgeTests(unittest.TestCase):
    def test_survival_with_a_gap(self):
        verdict = through("v4l2-ctl", "stall")
        self.assertEqual(verdict.kind, clients.SURVIVES)
        self.assertAlmostEqual(verdict.gap, 4, delta=0.3)

    def test_hang(self):
        self.assertEqual(through("v4l2-ctl", "qbuf-8").kind, clients.HANGS)

    def test_exit_with_a_message(self):
        verdict = through("GStreamer", "disconnect")
        self.assertEqual((verdict.kind, verdict.code), (clients.EXITS, 1))
        self.assertIn("Could not read from resource", verdict.message)

    def test_failure_at_the_start(self):
        verdict = through("ffmpeg", "streamon")
        self.assertEqual((verdict.kind, verdict.code), (clients.EXITS, 1))
        self.assertIn("VIDIOC_STREAMON", verdict.message)

    def test_webcam_plugged_in_again(self):
        with RemoteWebcam() as webcam:
            verdict = clients.judge(CLIENTS["uStreamer"], FAULTS["pulled"], webcam, webcam.node())
        self.assertEqual(verdict.kind, clients.SURVIVES)
        self.assertLess(verdict.gap, 5)

    def test_client_that_gives_nothing_is_no_verdict(self):
        with self.assertRaisesRegex(RuntimeError, "no frames even before"):
            clients.judge(CLIENTS["v4l2-ctl"], FAULTS["half"], vivid.Camera(), "/dev/null")
