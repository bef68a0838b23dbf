import VideoCapturing

/// Something that goes wrong at one frame of a ``FaultInjectingCapturer``.
public enum FrameFault: Sendable, Hashable {
    /// The frame comes so much later than its time; its timestamp is the late one.
    case late(Duration)
    /// The frame comes so much before its time; its timestamp is the early one.
    case early(Duration)
    /// This frame and those that follow it, so many in all, come at once.
    case burst(Int)
    /// The driver lost so many frames before this one.
    case gap(UInt64)
    /// So many frames before this one were damaged and left out.
    case corrupt(UInt64)
    /// The source fails in place of the frame. Unlike other faults it is over with that: a restart goes on with
    /// the next frame.
    case failure(CaptureError)
    /// The frame has another size than the settings say.
    case size(width: Int, height: Int)
    /// The frame has another pixel format than the settings say.
    case pixelFormat(PixelFormat)
    /// The rows of the frame's first plane are so many bytes further apart than needed, in memory of the frame's
    /// own.
    case padding(Int)
    /// The source hangs before the frame: for the given time, or until ``FaultInjectingCapturer/endStall()``; with
    /// `honoursStop` a stop ends it too.
    case stall(Duration?, honoursStop: Bool)
    /// Frames stop coming before this one for the given time, and the source says why.
    case interruption(InterruptionReason, Duration)
    /// There are no more frames; a restart goes on with the next.
    case endOfStream
}
