/// A second-order delay-locked loop: predicts the time of each sample from the jittering times of a device's reads, and
/// finds the device's true rate on the way.
///
/// Its bandwidth is 0.128 Hz for the first ten seconds, so that a clock that is off by 1000 ppm is found within one, and
/// 0.016 Hz after that, which lets through a hundredth of the jitter. Source: F. Adriaensen, "Using a DLL to filter
/// time", 2005; the bandwidths are those of PipeWire's `spa_dll`.
struct SampleClock {
    /// What the loop begins with; times are counted from here, so that the arithmetic keeps its nanoseconds for years.
    private let origin: MediaTime
    /// When the next sample is due, in nanoseconds from the origin.
    private var next = 0.0
    /// Nanoseconds from one sample to the next.
    private(set) var period: Double
    private let nominalPeriod: Double
    /// How much sound has gone through the loop, in seconds.
    private(set) var elapsed = 0.0

    /// - Parameters:
    ///   - start: when the next sample is due.
    ///   - sampleRate: the nominal rate.
    init(at start: MediaTime, sampleRate: Int) {
        origin = start
        nominalPeriod = 1e9 / Double(sampleRate)
        period = nominalPeriod
    }

    /// When the next sample is due.
    var prediction: MediaTime { origin.advanced(by: Duration(clampingNanoseconds: next)) }

    /// The rate of the device, in frames per second; nil until the loop has settled.
    var measuredSampleRate: Double? { elapsed > 5 ? 1e9 / period : nil }

    /// Goes on by frames that were lost.
    mutating func skip(frames: Int64) { next += Double(frames) * period }

    /// Goes on by frames that have come.
    ///
    /// - Parameters:
    ///   - frames: how many.
    ///   - error: how much later than predicted their first sample was, in nanoseconds; zero where that is not known.
    ///   - span: for how many frames the error stands.
    mutating func advance(frames: Int, error: Double, span: Int) {
        let seconds = Double(span) * nominalPeriod / 1e9
        let bandwidth = elapsed < 10 ? 0.128 : 0.016
        // Beyond a tenth of the rate at which it is fed the loop would not be stable.
        let omega = min(2 * Double.pi * bandwidth * seconds, 0.6)
        next += Double(frames) * period + 2.0.squareRoot() * omega * error
        period += omega * omega * error / Double(max(1, span))
        // No quartz is off by more than 2 %; what looks like it is not a rate.
        period = min(max(period, nominalPeriod * 0.98), nominalPeriod * 1.02)
        elapsed += Double(frames) * nominalPeriod / 1e9
    }
}

/// Finds by how much the reads of a device without timestamps are late, where each may be: the earliest of a second is
/// right, as nothing can be read before it is there.
struct ReadLateness {
    private var smallest = Double.infinity
    private var frames = 0

    /// Takes the lateness of a read, in nanoseconds by the prediction.
    ///
    /// - Returns: the lateness of the earliest read, and how many frames it stands for, once a second is full.
    mutating func add(_ lateness: Double, frames: Int, sampleRate: Int) -> (lateness: Double, frames: Int)? {
        smallest = min(smallest, lateness)
        self.frames += frames
        guard self.frames >= sampleRate else { return nil }
        defer { self = ReadLateness() }
        return (smallest, self.frames)
    }
}
