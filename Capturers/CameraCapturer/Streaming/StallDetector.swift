import VideoCapturing

/// Decides how long a camera may be silent before it is taken for stalled: five seconds for each of the first two
/// frames, then four frames at the rate that these have shown, half a second at least.
///
/// Long exposures in low light slow the measured rate down and so the limit with it.
struct StallDetector {
    static let firstFrameLimit = Duration.nanoseconds(longestStep)
    static let leastLimit = Duration.nanoseconds(leastStep)

    // In nanoseconds, and known to the compiler: `Duration` is dear for what is done with each frame.
    private static let longestStep: Int64 = 5_000_000_000
    private static let leastStep: Int64 = 500_000_000

    private let streamStart: MediaTime
    private var last: MediaTime?
    /// The usual distance of frames in nanoseconds; zero until known.
    private var interval: Int64 = 0

    /// - Parameter streamStart: when the camera began to stream.
    init(streamStart: MediaTime) { self.streamStart = streamStart }

    /// When the camera is to be taken for stalled, unless a frame comes first.
    var deadline: MediaTime {
        (last ?? streamStart).advanced(by: limit)
    }

    /// How long the camera may be silent from now on.
    var limit: Duration { .nanoseconds(limitNanoseconds) }

    /// Whether the limit is that of the camera's own rate.
    var isMeasured: Bool { interval != 0 }

    /// As ``limit``.
    var limitNanoseconds: Int64 {
        // What the camera has promised is no measure: in the dark it may take seconds.
        interval == 0 ? StallDetector.longestStep : max(StallDetector.leastStep, interval * 4)
    }

    /// A frame has come, damaged or whole.
    mutating func noteFrame(at now: MediaTime) {
        if let last {
            let step = min(now.nanoseconds(since: last), StallDetector.longestStep)
            interval = interval == 0 ? step : interval + (step - interval) / 4
        }
        last = now
    }
}
