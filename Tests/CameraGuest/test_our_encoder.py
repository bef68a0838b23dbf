"""The encoder on V4L2 devices, at queues of one plane of memory (V4L2_CAP_VIDEO_M2M)."""

import unittest

import encoder_tests


class EncoderTests(unittest.TestCase):
    def test_encoder_on_single_planar_queues(self):
        encoder_tests.run(self)
