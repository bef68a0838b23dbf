import VideoCapturing

/// Decides how long a camera may deliver nothing before it counts as stalled: five seconds for each of the first two
/// frames, then four intervals at the measured rate, at least half a second.
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

    /// A frame was captured, damaged or complete.
    mutating func recordFrame(at now: MediaTime) {
        if let last {
            let step = min(now.nanoseconds(since: last), StallDetector.longestStep)
            interval = interval == 0 ? step : interval + (step - interval) / 4
        }
        last = now
    }
}
