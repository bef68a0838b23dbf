import VideoCapturing

@testable import CameraCapturer

/// A camera's lists, written down: what its driver answers to `VIDIOC_ENUM_FMT` and its sisters.
struct RecordedCamera: ModeSource {
    struct Size {
        var size: PixelSize
        var intervals: FrameIntervals
    }

    enum Sizes {
        case discrete([Size])
        case range(FrameSizeRange, FrameIntervals)
        /// `ENOTTY`; `VIDIOC_TRY_FMT` gives this size whatever is asked.
        case fixed(PixelSize)
    }

    var entries: [FormatEntry] = []
    var sizes: [FourCC: Sizes] = [:]
    var interval: FrameInterval?
    /// The formats that libv4lconvert is to read.
    var convertible: Set<FourCC> = []
    /// How often it was asked for anything.
    private(set) var questions = 0

    mutating func add(_ fourCC: FourCC, _ sizes: Sizes, isCompressed: Bool = false, isEmulated: Bool = false) {
        entries.append(
            FormatEntry(fourCC: fourCC, name: "\(fourCC)", isEmulated: isEmulated, isCompressed: isCompressed))
        self.sizes[fourCC] = sizes
    }

    mutating func formats() -> [FormatEntry] {
        questions += 1
        return entries
    }

    mutating func frameSizes(of fourCC: FourCC) -> FrameSizes {
        questions += 1
        switch sizes[fourCC] {
        case .discrete(let sizes): return .discrete(sizes.map(\.size))
        case .range(let range, _): return .range(range)
        case .fixed, nil: return .unknown
        }
    }

    mutating func frameIntervals(of fourCC: FourCC, size: PixelSize) -> FrameIntervals {
        questions += 1
        switch sizes[fourCC] {
        case .discrete(let sizes): return sizes.first { $0.size == size }?.intervals ?? .unknown
        case .range(_, let intervals): return intervals
        case .fixed, nil: return .unknown
        }
    }

    mutating func tryFormat(_ fourCC: FourCC, size: PixelSize) -> (FourCC, PixelSize)? {
        questions += 1
        if case .fixed(let only) = sizes[fourCC] { return (fourCC, only) }
        return sizes[fourCC] == nil ? nil : (fourCC, size)
    }

    mutating func currentInterval() -> FrameInterval? {
        questions += 1
        return interval
    }
}

extension RecordedCamera {
    /// The modes for a request, the best first.
    func ranking(
        _ size: String, at rate: FrameRate, _ policy: CameraMode.Request.Policy = .frameRateFirst,
        only: FourCC? = nil, without: Set<FourCC> = []
    ) throws(CaptureError) -> ModeRanking {
        var source = self
        let request = CameraMode.Request(
            size: PixelSize(size), rate: rate, policy: policy, requiredFourCC: only, excludedFourCCs: without)
        return try ModeSearch.candidates(
            from: &source, request: request, isConvertible: { convertible.contains($0) }, subject: "Test camera")
    }

    /// The best mode for a request, as in `NV12 640x360 30`.
    func best(_ size: String, at rate: FrameRate, _ policy: CameraMode.Request.Policy = .frameRateFirst) throws
        -> String
    {
        try ranking(size, at: rate, policy).modes[0].short
    }
}

extension CameraMode {
    var short: String { "\(fourCC) \(size) \(rate.map(\.description) ?? "?")" }
}

extension PixelSize {
    /// Reads `640x480`.
    init(_ text: String) {
        let sides = text.split(separator: "x").compactMap { Int($0) }
        self.init(width: sides[0], height: sides[1])
    }
}

extension FrameIntervals {
    /// Intervals of whole rates.
    static func rates(_ rates: UInt32...) -> FrameIntervals {
        .discrete(rates.map { FrameInterval(numerator: 1, denominator: $0) })
    }
}

extension RecordedCamera.Sizes {
    /// Sizes that all have the same intervals.
    static func all(_ sizes: [String], _ intervals: FrameIntervals) -> Self {
        .discrete(sizes.map { RecordedCamera.Size(size: PixelSize($0), intervals: intervals) })
    }
}
