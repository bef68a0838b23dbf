import VideoCapturing

/// Measures, once for each stream, whether a camera keeps the rate that it has promised: over the first two seconds.
struct RateCheck {
    private var start: MediaTime?
    private var count: Int64 = 0
    private(set) var isDone = false

    /// - Parameters:
    ///   - now: the time of a frame.
    ///   - lost: the frames that were lost just before it, which the camera has made all the same.
    ///   - promised: what the camera has promised; nil when it has promised nothing.
    /// - Returns: the measured rate, when it is under 80 % of the promised one.
    mutating func noteFrame(at now: MediaTime, lost: UInt64, promised: FrameRate?) -> FrameRate? {
        guard !isDone, let promised else { return nil }
        guard let start else {
            self.start = now
            return nil
        }
        count += 1 + Int64(clamping: lost)
        let elapsed = now - start
        guard elapsed >= .seconds(2) else { return nil }
        isDone = true
        let expected = promised.frameIndex(at: elapsed)
        guard count * 10 < expected * 8 else { return nil }
        return FrameRate(interval: .nanoseconds(elapsed.nanoseconds / max(1, count)))
    }
}
