import CLibAV
import MediaContainers
import VideoCapturing

/// Converts a stream's timestamps to times from its start that strictly increase; see `ContinuousTime`.
struct FrameClock {
    private let timeBase: AVRational
    private let interval: Duration
    private var start: Int64?
    private var hasBegun = false
    private var line: ContinuousTime
    /// Whether a time was estimated, so that times after a seek would differ from those before.
    private var hasGuessed = false

    /// - Parameters:
    ///   - timeBase: the seconds of one unit.
    ///   - start: the stream's first timestamp; nil for that of the first frame.
    ///   - rate: for frames without a timestamp; nil for 25 frames per second.
    ///   - largestStep: the largest step forward that is taken for a pause; nil for any.
    init(timeBase: AVRational, start: Int64?, rate: FrameRate?, largestStep: Duration? = nil) {
        self.timeBase = timeBase
        self.start = start
        interval = (rate ?? 25).frameInterval
        line = ContinuousTime(frameLength: interval, largestStep: largestStep)
    }

    /// The time of the next frame.
    ///
    /// - Parameters:
    ///   - timestamp: nil for one frame length after the last frame.
    ///   - units: how long the frame is shown; 0 when unknown.
    mutating func time(of timestamp: Int64?, length units: Int64 = 0) -> Duration {
        guard let timestamp else {
            hasGuessed = true
            return line.place((line.last ?? .zero - interval) + interval)
        }
        // The first one counts, should it be earlier than its stream.
        let start = hasBegun ? self.start ?? timestamp : min(self.start ?? timestamp, timestamp)
        self.start = start
        hasBegun = true
        return line.place(
            duration(of: Int128(timestamp) - Int128(start)), length: units > 0 ? duration(of: Int128(units)) : nil)
    }

    /// How often the times have gone back, or too far ahead.
    var discontinuities: Int { line.stretches }

    /// Whether times after a seek would be those before it.
    var isSeekable: Bool { !hasGuessed && line.stretches == 0 }

    /// Restarts after a seek.
    mutating func forgetLast() { line.forgetLast() }

    /// The timestamp at or before `time`; nil before the first frame, if the start is unknown.
    func timestamp(at time: Duration) -> Int64? {
        guard let start, timeBase.num > 0 else { return nil }
        let units = Int128(time.nanoseconds) * Int128(timeBase.den) / (Int128(timeBase.num) * 1_000_000_000)
        return Int64(clamping: units + Int128(start))
    }

    /// A number of units, to the nearest nanosecond.
    func duration(of units: Int128) -> Duration {
        let (scaled, overflow) = units.multipliedReportingOverflow(by: Int128(timeBase.num) * 1_000_000_000)
        let divisor = Int128(max(1, timeBase.den))
        guard !overflow else { return .nanoseconds(Int64.max) }
        return .nanoseconds(Int64(clamping: (scaled + (scaled < 0 ? -divisor : divisor) / 2) / divisor))
    }

    /// The duration of a frame of `units`; one interval when it is unknown.
    func length(of units: Int64) -> Duration { units > 0 ? duration(of: Int128(units)) : interval }
}
