import VideoCapturing

/// Finds the modes of a camera that serve a request, and orders them.
///
/// One mode for each format and size: at the highest rate that is not above the desired one (half a percent more
/// counts as the same, so that 30 serves 29.97); where that is less than 80 % of it, at the lowest rate above it, whose
/// frames are thinned out.
enum ModeSearch {
    /// The maximum number of formats, sizes of a format and intervals of a size: a driver's list may be endless.
    static let enumerationLimit = 256
    /// The maximum number of pairs of a format and a size whose intervals are enumerated.
    static let pairLimit = 4096

    /// The modes of a camera for a request, the best first; at least one.
    ///
    /// - Parameters:
    ///   - isConvertible: whether libv4lconvert reads a format.
    ///   - subject: the camera's name, for errors.
    /// - Throws: `formatUnsupported` when no format is usable; the errors of `source`.
    static func candidates(
        from source: inout some ModeSource, request: CameraMode.Request, isConvertible: (FourCC) -> Bool,
        subject: String? = nil
    ) throws(CaptureError) -> ModeRanking {
        var entries: [ModeRanking.Entry] = []
        var unusable: [CameraMode.Decision.RejectedMode] = []
        var seen: Set<FourCC> = []
        var pairs = 0
        for entry in try source.formats().prefix(enumerationLimit) where seen.insert(entry.fourCC).inserted {
            guard let format = request.format(entry.fourCC, isConvertible: isConvertible) else {
                unusable.append(
                    CameraMode.Decision.RejectedMode(
                        entry.fourCC, request.media.isPackets ? .formatOfFrames : .formatUnusable))
                continue
            }
            if entry.isEmulated {
                unusable.append(CameraMode.Decision.RejectedMode(entry.fourCC, .formatEmulated))
                continue
            }
            guard request.allows(entry.fourCC) else {
                unusable.append(CameraMode.Decision.RejectedMode(entry.fourCC, .formatExcluded))
                continue
            }
            for size in try sizes(of: entry.fourCC, near: request.size, from: &source) where pairs < pairLimit {
                pairs += 1
                let found = try rates(of: entry.fourCC, size: size, near: request.rate, from: &source)
                func add(_ rate: FrameRate?, isReserve: Bool) {
                    let mode = CameraMode(
                        format, size, rate: rate, isRateVerified: found.isListed, index: entries.count, for: request)
                    entries.append(ModeRanking.Entry(mode: mode, isReserve: isReserve))
                }
                let best = bestRate(of: found.rates, for: request.rate)
                add(best, isReserve: false)
                guard let best else { continue }
                // At most a few: they are needed only where the bus has too little bandwidth for all others.
                for rate in found.rates.filter({ $0 < best }).sorted(by: >).prefix(4) { add(rate, isReserve: true) }
            }
        }
        guard !entries.isEmpty else { throw noFormat(of: unusable, request, subject) }
        return ModeRanking(request: request, entries: entries, unusable: unusable)
    }

    /// The highest rate that is not above the desired one, or where that is far below it the lowest above; nil of none.
    static func bestRate(of rates: [FrameRate], for desired: FrameRate) -> FrameRate? {
        let below = rates.filter { $0.isWithin(desired) }.max()
        guard let above = rates.filter({ !$0.isWithin(desired) }).min() else { return below }
        return below.flatMap { $0.isAtLeast(percent: 80, of: desired) ? $0 : nil } ?? above
    }

    /// The valid sizes of a format, each once.
    private static func sizes(
        of fourCC: FourCC, near desired: PixelSize, from source: inout some ModeSource
    ) throws(CaptureError) -> [PixelSize] {
        var sizes: [PixelSize] = []
        switch try source.frameSizes(of: fourCC) {
        case .discrete(let listed): sizes = Array(listed.prefix(enumerationLimit))
        case .range(let range): sizes = CandidateSizes.sizes(in: range, near: desired)
        case .unknown:
            for size in [desired] + CandidateSizes.common {
                if let (given, size) = try source.tryFormat(fourCC, size: size), given == fourCC { sizes.append(size) }
            }
        }
        var seen: Set<PixelSize> = []
        return sizes.filter { $0.isValid && seen.insert($0).inserted }
    }

    /// The rates of a format and size, and whether the driver lists them.
    private static func rates(
        of fourCC: FourCC, size: PixelSize, near desired: FrameRate, from source: inout some ModeSource
    ) throws(CaptureError) -> (rates: [FrameRate], isListed: Bool) {
        let listed = try source.frameIntervals(of: fourCC, size: size).rates(near: desired)
        if !listed.isEmpty { return (listed, true) }
        return ([try source.currentInterval()?.frameRate].compactMap { $0 }, false)
    }

    private static func noFormat(
        of unusable: [CameraMode.Decision.RejectedMode], _ request: CameraMode.Request, _ subject: String?
    ) -> CaptureError {
        let excluded = unusable.filter { $0.reason == .formatExcluded }.map { "\($0.fourCC)" }
        let names = unusable.prefix(12).map { "\($0.fourCC)" }.joined(separator: ", ")
        let message: String
        if !excluded.isEmpty {
            var wanted = request.requiredFourCC.map { required in
                let isListed = unusable.contains { $0.fourCC == required }
                return isListed ? "The camera's \(required) cannot be taken" : "The camera has no format \(required)"
            }
            if case .packets(let codec?) = request.media { wanted = "The camera has no packets of \(codec)" }
            let complaint = wanted ?? "All formats are excluded"
            message = "\(complaint); choose one of \(excluded.prefix(12).joined(separator: ", "))."
        } else if unusable.isEmpty {
            message = "The device lists no mode; choose another camera, or connect this one again."
        } else {
            message =
                request.media.isPackets
                ? "The camera offers only \(names), and no packets; choose one that has H264, HEVC or MJPG, or encode its "
                    + "frames."
                : "The camera offers only \(names), which is not supported; choose one that has NV12, YUYV or MJPG."
        }
        return CaptureError(.formatUnsupported, operation: "choose a mode", subject: subject, message: message)
    }
}

/// The sizes to try where a driver accepts a range, or lists none.
enum CandidateSizes {
    /// The common sizes of the aspect ratios 16:9 and 4:3.
    static let common: [PixelSize] = [
        (320, 180), (640, 360), (960, 540), (1280, 720), (1600, 900), (1920, 1080), (2560, 1440), (3840, 2160),
        (160, 120), (320, 240), (640, 480), (800, 600), (1024, 768), (1280, 960), (1600, 1200), (2048, 1536),
        (2592, 1944), (3264, 2448),
    ].map { PixelSize(width: $0.0, height: $0.1) }

    /// The candidates of a range: the desired size, the common ones, the smallest and the largest; each snapped to the
    /// range's steps.
    static func sizes(in range: FrameSizeRange, near desired: PixelSize) -> [PixelSize] {
        let candidates = [desired] + common.filter(range.encloses)
        return candidates.compactMap(range.snapped) + [range.smallest, range.largest].compactMap { $0 }
    }
}
