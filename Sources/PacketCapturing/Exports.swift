/// Programs that import `PacketCapturing` have time, states, errors, tracks and packets with it.
@_exported public import CaptureCore
