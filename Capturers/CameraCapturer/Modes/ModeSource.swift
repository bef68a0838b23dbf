import VideoCapturing

/// A format as a driver lists it: `VIDIOC_ENUM_FMT` of the V4L2 specification.
struct FormatEntry: Sendable, Hashable {
    var fourCC: FourCC
    /// For people.
    var name: String
    /// The format is made by a library, not by the camera (`V4L2_FMT_FLAG_EMULATED`).
    var isEmulated: Bool
    /// `V4L2_FMT_FLAG_COMPRESSED`.
    var isCompressed: Bool
}

/// The sizes that a driver lists for a format: `VIDIOC_ENUM_FRAMESIZES` of the V4L2 specification.
enum FrameSizes: Sendable, Hashable {
    /// These, and no others.
    case discrete([PixelSize])
    /// Any size of a range.
    case range(FrameSizeRange)
    /// The driver lists none (`ENOTTY`); it must be asked size by size.
    case unknown
}

/// What a camera says of its modes: a node, or a recording of one.
///
/// Nothing that is said is believed without a check: lists may be endless, repeat themselves and hold nonsense.
protocol ModeSource {
    /// The formats, in the driver's order.
    mutating func formats() throws(CaptureError) -> [FormatEntry]
    /// The sizes of a format, in the driver's order.
    mutating func frameSizes(of fourCC: FourCC) throws(CaptureError) -> FrameSizes
    /// The intervals of a format and size, in the driver's order.
    mutating func frameIntervals(of fourCC: FourCC, size: PixelSize) throws(CaptureError) -> FrameIntervals
    /// What the driver would make of a format and size (`VIDIOC_TRY_FMT`); nil when it refuses.
    mutating func tryFormat(_ fourCC: FourCC, size: PixelSize) throws(CaptureError) -> (FourCC, PixelSize)?
    /// The interval that is set now (`VIDIOC_G_PARM`), whatever format it belongs to; nil when the driver has none.
    mutating func currentInterval() throws(CaptureError) -> FrameInterval?
}
