/// Programs that import `VideoCapturing` have time, states, errors, tracks and packets with it.
@_exported public import CaptureCore
