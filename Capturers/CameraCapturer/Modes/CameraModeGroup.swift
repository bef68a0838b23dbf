import VideoCapturing

extension CameraMode {
    /// A pixel format of a camera, with the sizes and rates that its driver lists for it.
    ///
    /// As the driver lists it, without duplicates and invalid entries; whether the camera supports a listed mode shows when
    /// it is set. Source: `VIDIOC_ENUM_FMT`, `VIDIOC_ENUM_FRAMESIZES` and `VIDIOC_ENUM_FRAMEINTERVALS` of the V4L2
    /// specification.
    public struct Group: Sendable, Hashable {
        /// Frame sizes in pixels that have the same rates.
        public enum Sizes: Sendable, Hashable {
            /// This size.
            case discrete(PixelSize)
            /// Any size from the smallest to the largest in these steps of width and height, which are at least 1.
            case range(smallest: PixelSize, largest: PixelSize, step: PixelSize)
        }

        /// The frames per second of a size.
        public enum Rates: Sendable, Hashable {
            /// These rates, the fastest first; at least one.
            case discrete([FrameRate])
            /// From the slowest to the fastest, in steps or not.
            case range(slowest: FrameRate, fastest: FrameRate)
            /// The driver lists none. The value is the present rate, possibly of another format; nil when the driver
            /// reports none.
            case unlisted(current: FrameRate?)
        }

        /// A size, or a range of them, with its rates.
        public struct Entry: Sendable, Hashable {
            /// The size or sizes.
            public let sizes: Sizes
            /// The rates; for a range of sizes those of the largest.
            public let rates: Rates
        }

        /// The format.
        public let fourCC: FourCC
        /// The driver's name of the format, to show: `YUYV 4:2:2`.
        public let name: String
        /// The cost of converting to NV12; nil for an unsupported format.
        public let cost: CameraMode.ConversionCost?
        /// Whether a library emulates the format, so that it is never chosen.
        public let isEmulated: Bool
        /// The sizes with their rates, in the driver's order. Where it lists no sizes, the common ones that it accepts. A
        /// range is followed by its smallest size where that has other rates.
        public let entries: [Entry]

        /// Whether a mode of this format can be chosen.
        public var isUsable: Bool { cost != nil && !isEmulated }
    }
}

extension CameraMode.Group.Sizes: CustomStringConvertible {
    /// `640x480`, `48x48 to 1920x1080`, `64x64 to 3280x2464 in steps of 32x2`.
    public var description: String {
        switch self {
        case .discrete(let size): return "\(size)"
        case .range(let smallest, let largest, let step):
            let isAny = step == PixelSize(width: 1, height: 1)
            return "\(smallest) to \(largest)" + (isAny ? "" : " in steps of \(step)")
        }
    }
}

extension CameraMode.Group.Rates: CustomStringConvertible {
    /// `60 30 29.97 fps`, `1 to 90 fps`, `30 fps (not listed by the driver)`, `an unknown rate`.
    public var description: String {
        switch self {
        case .discrete(let rates): rates.map(\.text).joined(separator: " ") + " fps"
        case .range(let slowest, let fastest): "\(slowest.text) to \(fastest.text) fps"
        case .unlisted(let current?): "\(current.text) fps (not listed by the driver)"
        case .unlisted(nil): "an unknown rate"
        }
    }
}

extension CameraMode.Group {
    /// All formats that a camera lists, in its order, within the limits of ``ModeSearch``.
    ///
    /// - Parameter isConvertible: whether libv4lconvert reads a format.
    static func all(
        from source: inout some ModeSource, isConvertible: (FourCC) -> Bool
    ) throws(CaptureError) -> [CameraMode.Group] {
        var groups: [CameraMode.Group] = []
        var seen: Set<FourCC> = []
        var pairs = 0
        for format in try source.formats().prefix(ModeSearch.enumerationLimit)
        where seen.insert(format.fourCC).inserted {
            groups.append(
                CameraMode.Group(
                    fourCC: format.fourCC, name: format.name,
                    cost: CaptureFormat.of(format.fourCC, isConvertible: isConvertible)?.cost,
                    isEmulated: format.isEmulated,
                    entries: try entries(of: format.fourCC, from: &source, pairs: &pairs)))
        }
        return groups
    }

    private static func entries(
        of fourCC: FourCC, from source: inout some ModeSource, pairs: inout Int
    ) throws(CaptureError) -> [Entry] {
        var sizes: [PixelSize] = []
        switch try source.frameSizes(of: fourCC) {
        case .discrete(let listed):
            sizes = Array(listed.prefix(ModeSearch.enumerationLimit))
        case .range(let range):
            guard let smallest = range.smallest, let largest = range.largest else { return [] }
            return try entries(of: fourCC, range, smallest, largest, from: &source, pairs: &pairs)
        case .unknown:
            for size in CandidateSizes.common {
                if let (given, size) = try source.tryFormat(fourCC, size: size), given == fourCC { sizes.append(size) }
            }
        }
        var entries: [Entry] = []
        var seen: Set<PixelSize> = []
        for size in sizes where size.isValid && seen.insert(size).inserted && pairs < ModeSearch.pairLimit {
            pairs += 1
            entries.append(
                Entry(sizes: .discrete(size), rates: try rates(of: fourCC, size: size, from: &source)))
        }
        return entries
    }

    private static func entries(
        of fourCC: FourCC, _ range: FrameSizeRange, _ smallest: PixelSize, _ largest: PixelSize,
        from source: inout some ModeSource, pairs: inout Int
    ) throws(CaptureError) -> [Entry] {
        pairs += 2
        guard pairs <= ModeSearch.pairLimit else { return [] }
        let rates = try rates(of: fourCC, size: largest, from: &source)
        guard smallest != largest else { return [Entry(sizes: .discrete(largest), rates: rates)] }
        let step = PixelSize(width: max(1, range.stepWidth), height: max(1, range.stepHeight))
        let whole = Entry(sizes: .range(smallest: smallest, largest: largest, step: step), rates: rates)
        let ofSmallest = Entry(
            sizes: .discrete(smallest), rates: try self.rates(of: fourCC, size: smallest, from: &source))
        return ofSmallest.rates == rates ? [whole] : [whole, ofSmallest]
    }

    private static func rates(
        of fourCC: FourCC, size: PixelSize, from source: inout some ModeSource
    ) throws(CaptureError) -> Rates {
        switch try source.frameIntervals(of: fourCC, size: size) {
        case .discrete(let intervals):
            let rates = Set(intervals.prefix(ModeSearch.enumerationLimit).compactMap(\.frameRate))
            if !rates.isEmpty { return .discrete(rates.sorted(by: >)) }
        case .range(let shortest, let longest, _):
            // Some drivers swap the two, or omit one.
            let ends = [shortest.frameRate, longest.frameRate].compactMap { $0 }
            if let slowest = ends.min(), let fastest = ends.max() {
                return slowest == fastest ? .discrete([fastest]) : .range(slowest: slowest, fastest: fastest)
            }
        case .unknown: break
        }
        return .unlisted(current: try source.currentInterval()?.frameRate)
    }
}
