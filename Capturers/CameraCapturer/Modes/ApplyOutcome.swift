import VideoCapturing

/// What a driver has set in answer to a mode: read back after `VIDIOC_S_FMT` and `VIDIOC_S_PARM`.
struct AppliedMode: Sendable, Hashable {
    var fourCC: FourCC
    var size: PixelSize
    /// Nil when the driver has none to set.
    var interval: FrameInterval?
}

/// How an attempt to set a mode has ended.
enum ApplyOutcome: Sendable, Hashable {
    /// The driver has set this.
    case applied(AppliedMode)
    /// A call was refused with this `errno`.
    case refused(errno: Int32)
    /// `ENOSPC`, also when streaming begins: the bus is too slow, or shared.
    case noBandwidth
}
