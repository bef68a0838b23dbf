/// What consumers ask of a capture: the one value that goes against the stream, by
/// ``VideoCapture/adapt(to:)``. As WebRTC's `VideoSinkWants`.
///
/// A capture does what it can at the source, where it saves most, and ignores the rest.
public struct CaptureWants: Sendable, Hashable {
    /// The most pixels (width × height) that are of use; nil for no limit.
    public var maximumPixelCount: Int?
    /// The highest rate that is of use; nil for no limit.
    public var maximumFrameRate: FrameRate?
    /// The rate below which the consumer wants the last picture again, as an encoder does that is still refining
    /// it; nil for never. The publisher sees to it, for each consumer by itself; a capture needn't do anything.
    public var minimumFrameRate: FrameRate?
    /// Both sides shall be multiples of this; 1 for any.
    public var sizeAlignment: Int
    /// Counts requests for a complete fresh picture, from which a viewer can begin. A higher number than
    /// before is a request.
    public var keyFrameRequests: UInt64
    /// Whether black pictures are all that is of use.
    public var isBlackEnough: Bool
    /// Whether compressed pictures (``PixelFormat/mjpeg``) are enough, so that a capture whose source has them needn't
    /// decode them. A frame may have samples all the same, and its JPEG beside them (``VideoFrame/jpeg``).
    public var isCompressedEnough: Bool
    /// Whether pictures of luma and chroma may come in whatever arrangement the source has, so that a capture needn't
    /// convert them: a camera's YUYV as it lies in the driver's memory.
    public var isNativeFormatEnough: Bool

    public init(
        maximumPixelCount: Int? = nil, maximumFrameRate: FrameRate? = nil, minimumFrameRate: FrameRate? = nil,
        sizeAlignment: Int = 1, keyFrameRequests: UInt64 = 0, isBlackEnough: Bool = false,
        isCompressedEnough: Bool = false, isNativeFormatEnough: Bool = false
    ) {
        self.maximumPixelCount = maximumPixelCount
        self.maximumFrameRate = maximumFrameRate
        self.minimumFrameRate = minimumFrameRate
        self.sizeAlignment = max(1, sizeAlignment)
        self.keyFrameRequests = keyFrameRequests
        self.isBlackEnough = isBlackEnough
        self.isCompressedEnough = isCompressedEnough
        self.isNativeFormatEnough = isNativeFormatEnough
    }

    /// What satisfies both: the fewest pixels, the lowest limit of the rate, the higher minimum, the least common
    /// alignment, all requests for key frames; black, compressed or of the source's format only when that is enough for
    /// both.
    public func merged(with other: CaptureWants) -> CaptureWants {
        func lower<Value: Comparable>(_ first: Value?, _ second: Value?) -> Value? {
            guard let first else { return second }
            guard let second else { return first }
            return min(first, second)
        }
        func higher<Value: Comparable>(_ first: Value?, _ second: Value?) -> Value? {
            guard let first, let second else { return first ?? second }
            return max(first, second)
        }
        return CaptureWants(
            maximumPixelCount: lower(maximumPixelCount, other.maximumPixelCount),
            maximumFrameRate: lower(maximumFrameRate, other.maximumFrameRate),
            minimumFrameRate: higher(minimumFrameRate, other.minimumFrameRate),
            sizeAlignment: leastCommonMultiple(sizeAlignment, other.sizeAlignment),
            keyFrameRequests: keyFrameRequests &+ other.keyFrameRequests,
            isBlackEnough: isBlackEnough && other.isBlackEnough,
            isCompressedEnough: isCompressedEnough && other.isCompressedEnough,
            isNativeFormatEnough: isNativeFormatEnough && other.isNativeFormatEnough)
    }

    /// Without what the publisher sees to.
    var forCapture: CaptureWants {
        var wants = self
        wants.minimumFrameRate = nil
        return wants
    }

    /// The largest size of the same aspect that is wanted, never larger than the one given, and at least
    /// one alignment unit (or the given size, where that is smaller) on each side.
    public func adaptedSize(width: Int, height: Int) -> (width: Int, height: Int) {
        guard width > 0, height > 0 else { return (width, height) }
        var scale = 1.0
        if let limit = maximumPixelCount, width * height > limit {
            scale = (Double(max(1, limit)) / Double(width * height)).squareRoot()
        }
        func side(_ length: Int) -> Int {
            let scaled = Int(Double(length) * scale)
            return max(min(sizeAlignment, length), scaled / sizeAlignment * sizeAlignment)
        }
        return (side(width), side(height))
    }
}

private func leastCommonMultiple(_ first: Int, _ second: Int) -> Int {
    var (larger, smaller) = (first, second)
    while smaller != 0 { (larger, smaller) = (smaller, larger % smaller) }
    return first / larger * second
}
