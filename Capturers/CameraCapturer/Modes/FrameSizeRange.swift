import VideoCapturing

/// The sizes of a stepwise or continuous enumeration: `VIDIOC_ENUM_FRAMESIZES` of the V4L2 specification.
struct FrameSizeRange: Sendable, Hashable {
    var minWidth: Int
    var maxWidth: Int
    /// Widths are ``minWidth`` and any number of these more; zero counts as one.
    var stepWidth: Int
    var minHeight: Int
    var maxHeight: Int
    /// Heights are ``minHeight`` and any number of these more; zero counts as one.
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

    /// The smallest size; nil when the numbers make no range.
    var smallest: PixelSize? { snapped(PixelSize(width: 1, height: 1)) }

    /// The largest size within `VideoFormat.maximumSide`; nil when the numbers make no range.
    var largest: PixelSize? {
        snapped(PixelSize(width: VideoFormat.maximumSide, height: VideoFormat.maximumSide))
    }

    /// The smallest size of the range that is not smaller than `size`, or on each side the largest there is; nil when
    /// the numbers make no range.
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
