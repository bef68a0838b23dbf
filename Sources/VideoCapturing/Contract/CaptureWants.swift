/// The requests of consumers to a capture: the only value that travels in that direction, by
/// ``VideoCapture/adapt(to:)``. It corresponds to WebRTC's `VideoSinkWants`.
///
/// A capture applies as much as it can at the source, where it saves most, and ignores the rest.
public struct CaptureWants: Sendable, Hashable {
    /// The most pixels (width × height) that are of use; nil for no limit.
    public var maximumPixelCount: Int?
    /// The highest rate that is of use; nil for no limit.
    public var maximumFrameRate: FrameRate?
    /// The rate below which the consumer wants the last frame again, for example an encoder that is still refining it;
    /// nil for never. The publisher repeats the frame, for each consumer separately, from two intervals after it. A
    /// capture has nothing to do.
    public var minimumFrameRate: FrameRate?
    /// The number of which both sides must be multiples; 1 for any.
    public var sizeAlignment: Int
    /// Whether black frames are enough.
    public var acceptsBlack: Bool
    /// Whether compressed frames (``PixelFormat/mjpeg``) are accepted, so that a capture whose source has them need not
    /// decode them. A frame may still have samples, and its JPEG next to them (``VideoFrame/jpeg``).
    public var acceptsCompressed: Bool
    /// Whether the consumer uses a source's own JPEG next to the samples that other consumers need
    /// (``VideoFrame/compressed``), so that it is neither lost nor encoded again. It costs a copy for each frame.
    public var usesCompressed: Bool
    /// Whether luma and chroma are accepted in any layout, so that a capture need not convert them: for example a camera's
    /// YUYV in the driver's memory.
    public var acceptsNativeFormat: Bool
    /// Whether the consumer takes the frames that the others want: of its wants the rate counts, where it states one, and the
    /// rest only if no other consumer has any.
    public var isPassive: Bool

    /// Wants; everything is of use where nothing is said.
    public init(
        maximumPixelCount: Int? = nil, maximumFrameRate: FrameRate? = nil, minimumFrameRate: FrameRate? = nil,
        sizeAlignment: Int = 1, acceptsBlack: Bool = false,
        acceptsCompressed: Bool = false, usesCompressed: Bool = false, acceptsNativeFormat: Bool = false,
        isPassive: Bool = false
    ) {
        self.maximumPixelCount = maximumPixelCount
        self.maximumFrameRate = maximumFrameRate
        self.minimumFrameRate = minimumFrameRate
        self.sizeAlignment = max(1, sizeAlignment)
        self.acceptsBlack = acceptsBlack
        self.acceptsCompressed = acceptsCompressed
        self.usesCompressed = usesCompressed
        self.acceptsNativeFormat = acceptsNativeFormat
        self.isPassive = isPassive
    }

    /// Wants that satisfy both consumers. The more demanding one decides: the higher limits, or no limit if one has none; the
    /// higher minimum rate; the least common alignment. Black, compressed or native frames are accepted only if both accept
    /// them. JPEG next to samples is used if one uses it. A passive consumer decides nothing next to one that is not,
    /// but the rate where it states a higher one.
    ///
    /// The less demanding consumer gets more than it wants: a `FrameAdapter`, or its ``PublisherSubscription`` for the rate,
    /// lowers that for it alone.
    public func merged(with other: CaptureWants) -> CaptureWants {
        if isPassive != other.isPassive {
            var (deciding, passive) = isPassive ? (other, self) : (self, other)
            if let rate = passive.maximumFrameRate {
                deciding.maximumFrameRate = deciding.maximumFrameRate.map { max($0, rate) }
            }
            return deciding
        }
        func higherLimit<Value: Comparable>(_ first: Value?, _ second: Value?) -> Value? {
            guard let first, let second else { return nil }
            return max(first, second)
        }
        func higher<Value: Comparable>(_ first: Value?, _ second: Value?) -> Value? {
            guard let first, let second else { return first ?? second }
            return max(first, second)
        }
        return CaptureWants(
            maximumPixelCount: higherLimit(maximumPixelCount, other.maximumPixelCount),
            maximumFrameRate: higherLimit(maximumFrameRate, other.maximumFrameRate),
            minimumFrameRate: higher(minimumFrameRate, other.minimumFrameRate),
            sizeAlignment: leastCommonMultiple(sizeAlignment, other.sizeAlignment),
            acceptsBlack: acceptsBlack && other.acceptsBlack,
            acceptsCompressed: acceptsCompressed && other.acceptsCompressed,
            usesCompressed: usesCompressed || other.usesCompressed,
            acceptsNativeFormat: acceptsNativeFormat && other.acceptsNativeFormat, isPassive: isPassive)
    }

    /// Without what the publisher does.
    var forCapture: CaptureWants {
        var wants = self
        wants.minimumFrameRate = nil
        return wants
    }

    /// The largest wanted size of the same aspect. It is never larger than the given size, and at least one
    /// alignment unit (or the given size, if smaller) on each side.
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
