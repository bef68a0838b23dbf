"""The unit tests, some of which need a driver."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUNDLE = os.environ.get("CAPTURER_UNIT_TESTS") or ROOT / ".build/debug/swift-video-capturingPackageTests.xctest"


def bundle(case):
    """The program with all of them; CAPTURER_UNIT_TESTS names another one than that of `swift build`."""
    case.assertTrue(os.path.exists(BUNDLE), "the unit tests are not built; try `make camera`")
    return BUNDLE
