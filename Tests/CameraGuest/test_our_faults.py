"""Our tool through every fault: it goes on, says what happened, counts exactly, and the recording is whole."""

import dataclasses
import unittest

import clients
import faults
import ours
import vivid
from webcam.remote import RemoteWebcam

TIME_TRAVEL = True
LATER = True

FRAME = 1 / 30
RETURN = 1.0  # seconds from the cure of a fault to the first frame, at the most


@dataclasses.dataclass(frozen=True)
class Expectation:
    """What a fault leaves behind. `hole`: the longest time between frames, at least and at the most."""

    says: tuple = ()  # of each notice some words, in this order
    corrupt: int = 0
    lost: tuple = (0, 0)  # frames that the source has lost, at least and at the most
    hole: tuple = (0, 3 * FRAME)


def outage(seconds, *says, slack=0.1, corrupt=0, within=RETURN):
    """No frames for so long; how many would have come, nobody can count."""
    return Expectation(says, corrupt, (0, 40), (seconds - slack, seconds + within))


UNPLUGGED = ("The camera was unplugged; waiting for it.", "The camera is back as /dev/video")
RESTARTED = ("The camera stopped responding; restarting (1/4).",)

EXPECTED = {
    "disconnect": outage(0, *UNPLUGGED),
    "unbind": outage(2, *UNPLUGGED),
    "damaged": Expectation(("frames were damaged and left out; check how the camera is connected (platform:vivid-",), 5, hole=(2 * FRAME - 0.01, 7 * FRAME)),
    "qbuf": Expectation(),
    "qbuf-8": Expectation(),
    "fatal": outage(0, *RESTARTED, within=0.3),
    "half": Expectation(lost=(20, 45), hole=(FRAME, 0.5)),
    "stall": outage(4, *RESTARTED),
    "streamon": Expectation(),
    "reqbufs": Expectation(),
    "first-qbuf": Expectation(),
    "sequence": Expectation(),
    "timestamp": Expectation(),
    "no-signal": outage(
        2, "No signal at the camera's input; waiting for one.", "There is a signal at the camera's input again.", slack=1.1),
    "pulled": outage(2, *UNPLUGGED),
    "blip": outage(0, *UNPLUGGED),
    "webcam-stall": outage(4, *RESTARTED),
    "halt": Expectation(lost=(0, 2)),
    "error-bit": Expectation(lost=(10, 10), hole=(11 * FRAME - 0.02, 11 * FRAME + 0.04)),
    "truncated": Expectation(("Poor USB link",), 10, hole=(11 * FRAME - 0.02, 11 * FRAME + 0.04)),
    "garbage": Expectation(("Poor USB link",), 10, hole=(11 * FRAME - 0.02, 11 * FRAME + 0.04)),
    "no-eoi": Expectation(("Poor USB link",), 10, hole=(11 * FRAME - 0.02, 11 * FRAME + 0.04)),
}


class FaultTests(ours.CameraTestCase):
    def test_every_fault_has_an_expectation(self):
        self.assertEqual(set(EXPECTED), {fault.name for fault in faults.FAULTS})

    def check(self, fault):
        if fault.on == clients.VIVID:
            camera = self.fresh_camera()
            verdict = clients.judge(clients.OURS, fault, camera, camera.node())
        else:
            with RemoteWebcam() as webcam:
                verdict = clients.judge(clients.OURS, fault, webcam, webcam.wait_for_node())
        events = ours.parse(verdict.said)
        summary, expected = ours.summary(events), EXPECTED[fault.name]
        # The pattern of a camera's driver may be too much for the target of the bitrate.
        messages = [message for message in ours.messages(events) if " of a target of " not in message]
        recording = verdict.arguments[verdict.arguments.index("-o") + 1]
        times = self.assertWhole(recording, summary)
        hole, dropped = ours.longest_hole(times), summary["capture"]["dropped"]
        print(f"    {fault.name}: {verdict}; {len(times)} frames, hole {hole:.3f} s, lost {dropped['source']}, "
              f"corrupt {dropped['corrupt']}, late {dropped['late']}; {messages}", flush=True)
        self.assertEqual(verdict.kind, clients.SURVIVES)
        self.assertEqual(verdict.ending, ours.OK)
        self.assertEqual(dropped["corrupt"], expected.corrupt)
        self.assertTrue(expected.lost[0] <= dropped["source"] <= expected.lost[1], f"{dropped['source']} lost")
        self.assertTrue(expected.hole[0] <= hole <= expected.hole[1], f"a hole of {hole} s, not {expected.hole}")
        self.assertEqual(len(messages), len(expected.says), messages)
        for message, words in zip(messages, expected.says):
            self.assertIn(words, message)


def add(fault):
    setattr(FaultTests, f"test_{fault.name.replace('-', '_')}", lambda self: self.check(fault))


for each in faults.FAULTS:
    add(each)
