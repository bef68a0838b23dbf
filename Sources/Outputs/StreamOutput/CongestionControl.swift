import VideoCapturing

/// Finds the bitrate that a receiver can take, from what waits for it and what it has taken.
///
/// Whenever more waits than ``congestedDelay`` of the present bitrate, and does not become less, the connection is the
/// bottleneck: what it has taken meanwhile is its capacity, of which 85 % are used from then on, so that the rest makes
/// what waits less. While next to nothing waits, the limit is raised by a tenth every two seconds, until it is the bitrate
/// of the encoder's configuration again. So a limit is found within a second, and left within a minute.
///
/// A value that the sending thread uses; its clock is the one of the samples.
struct CongestionControl {
    /// What is seen of a receiver at a moment.
    struct Sample {
        var time: MediaTime
        /// The bytes that have left for the network since the beginning, those of other formats included.
        var bytesTaken: UInt64
        /// The bytes that wait in the queue and in the kernel.
        var bytesWaiting: Int
        /// How often packets were dropped.
        var gaps: UInt64
    }

    /// The time between samples that are looked at.
    static let interval = Duration.milliseconds(200)
    /// More than a key frame takes, of any usual bitrate.
    static let congestedDelay = Duration.milliseconds(300)
    static let clearDelay = Duration.milliseconds(100)
    /// The clear samples before the limit is raised.
    static let samplesBeforeRaise = 10

    /// In bits per second; nil when the receiver takes what the encoder makes.
    private(set) var limit: Int?
    /// How often the limit was lowered.
    private(set) var reductions: UInt64 = 0

    private var last: Sample?
    /// The first of the congested samples in succession.
    private var congested: Sample?
    private var clearCount = 0

    /// Takes a sample, unless the last one is too recent.
    ///
    /// - Parameters:
    ///   - sample: what is seen now.
    ///   - maximum: the bitrate of the encoder's configuration.
    mutating func update(_ sample: Sample, maximum: Int) {
        guard let last else {
            self.last = sample
            return
        }
        guard sample.time - last.time >= CongestionControl.interval else { return }
        self.last = sample
        // The configuration may have changed.
        if let limit, limit >= maximum { self.limit = nil }
        let bitrate = limit ?? maximum
        if sample.gaps > last.gaps {
            lower(from: congested ?? last, to: sample, maximum)
        } else if sample.bytesWaiting > bytes(of: CongestionControl.congestedDelay, at: bitrate) {
            clearCount = 0
            guard let begin = congested else {
                congested = sample
                return
            }
            // Twice the interval at least, and no way out in sight.
            guard sample.time - begin.time >= CongestionControl.interval * 2 else { return }
            if sample.bytesWaiting >= begin.bytesWaiting {
                lower(from: begin, to: sample, maximum)
            } else {
                // It becomes less; what comes is compared with what is left.
                congested = sample
            }
        } else {
            congested = nil
            // A key frame waits for a while on a line that is fast enough.
            guard sample.bytesWaiting <= bytes(of: CongestionControl.clearDelay, at: bitrate) else { return }
            clearCount += 1
            guard clearCount >= CongestionControl.samplesBeforeRaise, let limit else { return }
            clearCount = 0
            let raised = limit + limit / 10
            self.limit = raised < maximum ? raised : nil
        }
    }

    private mutating func lower(from begin: Sample, to sample: Sample, _ maximum: Int) {
        congested = sample
        clearCount = 0
        let nanoseconds = max(1, sample.time.nanoseconds(since: begin.time))
        let taken = Double(sample.bytesTaken &- begin.bytesTaken) * 8e9 / Double(nanoseconds)
        // The encoder needs something to show anything with, and the receiver something to recover by.
        let floor = min(maximum, max(maximum / 10, 50_000))
        let wanted = max(floor, Int(min(taken * 0.85, Double(limit ?? maximum))))
        guard wanted < limit ?? maximum else { return }
        limit = wanted
        reductions += 1
    }

    private func bytes(of delay: Duration, at bitrate: Int) -> Int {
        Int(Double(bitrate) / 8 * Double(delay.nanoseconds) / 1e9)
    }
}
