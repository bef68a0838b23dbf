import CLibAV
import VideoCapturing

/// Converts a stream's timestamps to times from its start that strictly increase.
struct FrameClock {
    private let timeBase: AVRational
    private let interval: Duration
    private var start: Int64?
    private var last: Duration?
    /// Whether a time was estimated, so that times after a seek would differ from those before.
    private(set) var hasGuessed = false

    /// - Parameters:
    ///   - timeBase: the seconds of one unit.
    ///   - start: the stream's first timestamp; nil for that of the first frame.
    ///   - rate: for frames without a timestamp; nil for 25 frames per second.
    init(timeBase: AVRational, start: Int64?, rate: FrameRate?) {
        self.timeBase = timeBase
        self.start = start
        interval = (rate ?? 25).frameInterval
    }

    /// The time of the next frame: at least a nanosecond after the last one.
    mutating func time(of timestamp: Int64?) -> Duration {
        var time: Duration
        if let timestamp {
            let start = self.start ?? timestamp
            self.start = start
            time = max(.zero, duration(of: Int128(timestamp) - Int128(start)))
        } else {
            hasGuessed = true
            time = last.map { $0 + interval } ?? .zero
        }
        if let last, time <= last { time = .nanoseconds(min(last.nanoseconds, .max - 1) + 1) }
        last = time
        return time
    }

    /// Restarts after a seek.
    mutating func forgetLast() { last = nil }

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
