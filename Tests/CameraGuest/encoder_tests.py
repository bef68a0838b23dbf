"""The tests of V4L2VideoEncoder on vicodec, which `test_our_encoder*.py` run with queues of both kinds."""

import os
import subprocess

import unit_tests
import vicodec
import vivid

# What is checked, by the names of the tests; a test that is left out must not go unnoticed.
COUNT = 13


def run(case):
    """Runs all of them at the encoder of this guest."""
    environment = {
        **os.environ, "CAPTURER_ENCODER": vicodec.node("stateful-encoder"),
        "CAPTURER_DECODER": vicodec.node("stateful-decoder"), "CAPTURER_CAMERAS": vivid.node(0)}
    answer = subprocess.run(
        [unit_tests.bundle(case), "--testing-library", "swift-testing", "--filter", "RealEncoderTests", "--no-parallel"],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=600)
    print(answer.stdout, flush=True)
    case.assertEqual(answer.returncode, 0)
    case.assertRegex(answer.stdout, rf"Test run with {COUNT} tests .*passed")
