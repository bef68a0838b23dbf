import VideoCapturing

/// A format as a driver lists it: `VIDIOC_ENUM_FMT` of the V4L2 specification.
struct FormatEntry: Sendable, Hashable {
    var fourCC: FourCC
    /// The name to show.
    var name: String
    /// The format is made by a library, not by the camera (`V4L2_FMT_FLAG_EMULATED`).
    var isEmulated: Bool
    /// `V4L2_FMT_FLAG_COMPRESSED`.
    var isCompressed: Bool
}

/// The sizes that a driver lists for a format: `VIDIOC_ENUM_FRAMESIZES` of the V4L2 specification.
enum FrameSizes: Sendable, Hashable {
    /// These sizes only.
    case discrete([PixelSize])
    /// Any size of a range.
    case range(FrameSizeRange)
    /// The driver lists none (`ENOTTY`); sizes must be tried one by one.
    case unknown
}

/// The source of a camera's modes: a node, or a recording of one.
///
/// Its answers need validation: lists may be endless and contain duplicates and invalid entries.
protocol ModeSource {
    /// The formats, in the driver's order.
    mutating func formats() throws(CaptureError) -> [FormatEntry]
    /// The sizes of a format, in the driver's order.
    mutating func frameSizes(of fourCC: FourCC) throws(CaptureError) -> FrameSizes
    /// The intervals of a format and size, in the driver's order.
    mutating func frameIntervals(of fourCC: FourCC, size: PixelSize) throws(CaptureError) -> FrameIntervals
    /// The format and size that the driver would set for these (`VIDIOC_TRY_FMT`); nil when it refuses.
    mutating func tryFormat(_ fourCC: FourCC, size: PixelSize) throws(CaptureError) -> (FourCC, PixelSize)?
    /// The present interval (`VIDIOC_G_PARM`), of whatever format; nil when the driver reports none.
    mutating func currentInterval() throws(CaptureError) -> FrameInterval?
}

/// The sizes of a stepwise or continuous enumeration: `VIDIOC_ENUM_FRAMESIZES` of the V4L2 specification.
struct FrameSizeRange: Sendable, Hashable {
    var minWidth: Int
    var maxWidth: Int
    /// Widths are ``minWidth`` and any number of these steps more; zero counts as one.
    var stepWidth: Int
    var minHeight: Int
    var maxHeight: Int
    /// Heights are ``minHeight`` and any number of these steps more; zero counts as one.
    var stepHeight: Int

    init(
        minWidth: Int, maxWidth: Int, stepWidth: Int, minHeight: Int, maxHeight: Int, stepHeight: Int
    ) {
        self.minWidth = minWidth
        self.maxWidth = maxWidth
        self.stepWidth = stepWidth
        self.minHeight = minHeight
        self.maxHeight = maxHeight
        self.stepHeight = stepHeight
    }

    /// The smallest size; nil when the range is invalid.
    var smallest: PixelSize? { snapped(PixelSize(width: 1, height: 1)) }

    /// The largest size within `VideoFormat.maximumSide`; nil when the range is invalid.
    var largest: PixelSize? {
        snapped(PixelSize(width: VideoFormat.maximumSide, height: VideoFormat.maximumSide))
    }

    /// The smallest size of the range that is not smaller than `size`, or on each side the largest; nil when the range
    /// is invalid.
    func snapped(_ size: PixelSize) -> PixelSize? {
        guard let width = snap(size.width, minWidth, maxWidth, stepWidth),
            let height = snap(size.height, minHeight, maxHeight, stepHeight)
        else { return nil }
        return PixelSize(width: width, height: height)
    }

    /// Whether `size` lies between the smallest and the largest.
    func encloses(_ size: PixelSize) -> Bool {
        size.width >= minWidth && size.width <= maxWidth && size.height >= minHeight && size.height <= maxHeight
    }
}

private func snap(_ length: Int, _ minimum: Int, _ maximum: Int, _ step: Int) -> Int? {
    let first = max(1, minimum)
    let last = min(maximum, VideoFormat.maximumSide)
    guard first <= last else { return nil }
    // A step as long as the whole range or longer leaves one size; cut so that the sums below cannot overflow.
    let step = min(max(1, step), VideoFormat.maximumSide)
    let target = min(max(length, first), last)
    let up = first + (target - first + step - 1) / step * step
    return up <= last ? up : first + (last - first) / step * step
}
