import VideoCapturing

/// How the frames of a capture, which have timestamps, become those of a format that has one frame rate and no
/// timestamps; see ``OutputFormat/hasConstantRate``.
public enum FrameTiming: Sendable, Hashable {
    /// Each frame is written once, whatever its timestamp, and the header states this rate: for frames that are made
    /// as fast as possible, whose timestamps mean nothing.
    case everyFrame(rate: FrameRate)
    /// Frames are repeated and dropped by their timestamps, so that the output plays at this rate for as long as the
    /// capture lasted.
    case constant(FrameRate)
    /// As ``constant(_:)``, at the rate that the first frames have.
    ///
    /// Up to 32 frames, 2 s or 128 MiB are held back for it. `stated` is the rate that the source states: it is taken
    /// unless the frames come faster, as in a film of variable rate that states its mean, and at once when the first
    /// three frames have it; nil when it states none, as a network camera.
    case measured(stated: FrameRate?)
}

/// Finds the rate of a capture from the timestamps of its first frames.
struct FrameRateMeasurement {
    private static let maximumFrames = 32
    private static let maximumTime = Duration.seconds(2)
    /// What no camera exceeds; frames that come faster come from a backlog.
    private static let maximumRate: FrameRate = 240

    private let stated: FrameRate?
    private var timestamps: [MediaTime] = []

    init(stated: FrameRate?) {
        self.stated = stated
    }

    mutating func add(_ timestamp: MediaTime) {
        timestamps.append(timestamp)
    }

    /// Whether there are enough timestamps.
    var isComplete: Bool {
        guard let first = timestamps.first, let last = timestamps.last else { return false }
        return hasStatedRate || timestamps.count >= FrameRateMeasurement.maximumFrames
            || timestamps.count > 1 && last - first >= FrameRateMeasurement.maximumTime
    }

    /// Whether all intervals are the stated one, but for the rounding of containers.
    private var hasStatedRate: Bool {
        guard let stated = stated?.frameInterval.nanoseconds, timestamps.count >= 3 else { return false }
        let tolerance = max(1_000_000, Double(stated) / 50)
        return zip(timestamps, timestamps.dropFirst()).allSatisfy { earlier, later in
            abs(Double((later - earlier).nanoseconds) - Double(stated)) <= tolerance
        }
    }

    /// The rate by the timestamps so far: 30 where neither they nor the source tell.
    var rate: FrameRate {
        guard let stated = stated.map({ FrameRateMeasurement.commonRate(near: $0, within: 0.0001) ?? $0 }) else {
            return measuredRate(fraction: 0.5) ?? 30
        }
        // The shortest quarter: in a film of variable rate most frames may be shown for several intervals.
        guard let measured = measuredRate(fraction: 0.25) else { return stated }
        return measured.framesPerSecond > stated.framesPerSecond * 1.01 ? measured : stated
    }

    /// - Parameter fraction: the part of the intervals that may be shorter than the one that frames have. Longer ones
    ///   count as several: frames were lost, or shown for longer.
    private func measuredRate(fraction: Double) -> FrameRate? {
        // A server may have the first frame at hand, and send it between two others.
        let timestamps = timestamps.dropFirst(timestamps.count > 8 ? 1 : 0)
        let intervals = zip(timestamps, timestamps.dropFirst()).map { ($1 - $0).nanoseconds }.sorted()
        guard let first = timestamps.first, let last = timestamps.last, !intervals.isEmpty else { return nil }
        let base = Double(max(1, intervals[Int(Double(intervals.count) * fraction)]))
        let count = intervals.reduce(0.0) { $0 + (Double($1) / base).rounded() }
        let mean = Double((last - first).nanoseconds) / max(1, count)
        guard mean >= 1_000_000 else { return FrameRateMeasurement.maximumRate }
        guard let rate = FrameRate(interval: .nanoseconds(Int64(clamping: Int128(mean.rounded())))) else { return nil }
        // A network delays frames by some milliseconds, which is about a percent of the time measured.
        return min(FrameRateMeasurement.commonRate(near: rate, within: 0.02) ?? rate, FrameRateMeasurement.maximumRate)
    }

    /// The common rate that is nearest, where one is near enough; those of NTSC, which lie next to whole ones, only
    /// where they are met exactly.
    private static func commonRate(near rate: FrameRate, within tolerance: Double) -> FrameRate? {
        func distance(_ other: FrameRate) -> Double { abs(other.framesPerSecond / rate.framesPerSecond - 1) }
        if let exact = ntscRates.first(where: { distance($0) < 0.0001 }) { return exact }
        return commonRates.min { distance($0) < distance($1) }.flatMap { distance($0) <= tolerance ? $0 : nil }
    }

    private static let ntscRates = ["23.976", "29.97", "59.94", "119.88"].compactMap { FrameRate($0) }
    private static let commonRates: [FrameRate] =
        [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 25, 30, 48, 50, 60, 75, 90, 100, 120, 144, 200, 240]
        + ["7.5", "12.5"].compactMap { FrameRate($0) }
}
