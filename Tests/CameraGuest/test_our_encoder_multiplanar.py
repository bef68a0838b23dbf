"""The encoder on V4L2 devices, at queues of any number of planes (V4L2_CAP_VIDEO_M2M_MPLANE), as those of hardware."""

import unittest

import encoder_tests

KERNEL_ARGS = "vivid.n_devs=1 vivid.node_types=0x1 vicodec.multiplanar=1"
LATER = True


class EncoderTests(unittest.TestCase):
    def test_encoder_on_multi_planar_queues(self):
        encoder_tests.run(self)
