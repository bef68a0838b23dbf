import VideoCapturing

/// Decides how long a camera may deliver nothing before it counts as stalled: five seconds for each of the first two
/// frames, then four intervals at the measured rate, at least half a second.
///
/// One that delivers only damaged frames counts as stalled after five seconds, or after its limit where that is longer:
/// a restart costs more than a short disturbance.
///
/// Long exposures in low light lower the measured rate and so extend the limit.
struct StallDetector {
    static let firstFrameLimit = Duration.nanoseconds(longestStep)
    static let minimumLimit = Duration.nanoseconds(minimumStep)

    // In nanoseconds, and known to the compiler: `Duration` is expensive for the frame path.
    private static let longestStep: Int64 = 5_000_000_000
    private static let minimumStep: Int64 = 500_000_000

    private let streamStart: MediaTime
    private var last: MediaTime?
    /// The smoothed interval of frames in nanoseconds; zero until known.
    private var interval: Int64 = 0

    /// Since when only damaged frames have come; nil when the last one was complete.
    private var damagedSince: MediaTime?

    /// - Parameter streamStart: the time at which the stream was started.
    init(streamStart: MediaTime) { self.streamStart = streamStart }

    /// The time at which the camera counts as stalled, unless a frame comes first.
    var deadline: MediaTime {
        (last ?? streamStart).advanced(by: limit)
    }

    /// The stall limit.
    var limit: Duration { .nanoseconds(limitNanoseconds) }

    /// Whether the limit is that of the camera's own rate.
    var isMeasured: Bool { interval != 0 }

    /// As ``limit``.
    var limitNanoseconds: Int64 {
        // The negotiated rate does not count: in the dark a frame may take seconds.
        interval == 0 ? StallDetector.longestStep : max(StallDetector.minimumStep, interval * 4)
    }

    /// A frame was damaged. Whether there have been only such for too long. The consumer's time is not among it, since
    /// damaged frames do not reach it.
    mutating func recordDamaged(at now: MediaTime) -> Bool {
        let start = damagedSince ?? now
        damagedSince = start
        return now.nanoseconds(since: start) >= max(StallDetector.longestStep, limitNanoseconds)
    }

    /// A frame was complete.
    mutating func recordComplete() { damagedSince = nil }

    /// A frame was captured, damaged or complete.
    mutating func recordFrame(at now: MediaTime) {
        if let last {
            let step = min(now.nanoseconds(since: last), StallDetector.longestStep)
            interval = interval == 0 ? step : interval + (step - interval) / 4
        }
        last = now
    }
}
