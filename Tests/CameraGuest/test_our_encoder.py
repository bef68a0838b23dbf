"""The encoder on V4L2 devices, at queues of one plane of memory (V4L2_CAP_VIDEO_M2M)."""

import unittest

import encoder_tests

KERNEL_ARGS = "vivid.n_devs=1 vivid.node_types=0x1 vicodec.multiplanar=0"
LATER = True


class EncoderTests(unittest.TestCase):
    def test_encoder_on_single_planar_queues(self):
        encoder_tests.run(self)
