/// Measures a rate from the timestamps of the last frames. Fixed memory, no allocation per frame.
package struct FrameRateEstimator {
    private var timestamps = InlineArray<32, Int64>(repeating: 0)
    private var count = 0
    private var next = 0
    private var lastInterval: Int64 = 0
    private var lastRate: FrameRate?

    package init() {}

    /// Takes the timestamp of a frame and gives the rate over the last ones; nil for the first.
    ///
    /// - Parameter nominal: the rate the source states. A measured rate within 0.5 % of it is reported as the
    ///   nominal one, exactly.
    package mutating func add(_ timestamp: MediaTime, nominal: FrameRate?) -> FrameRate? {
        let oldest = count == timestamps.count ? timestamps[next] : timestamps[0]
        let intervals = Int64(count)
        timestamps[next] = timestamp.nanoseconds
        next = (next + 1) % timestamps.count
        count = min(count + 1, timestamps.count)
        guard intervals > 0 else { return nil }
        let mean = max(1, timestamp.nanoseconds(since: MediaTime(nanoseconds: oldest)) / intervals)
        if let nominal {
            let stated = 1_000_000_000 * Int64(nominal.seconds) / Int64(nominal.frames)
            if abs(mean - stated) <= stated / 200 { return nominal }
        }
        // A change of less than a thousandth is not worth the arithmetic.
        if lastRate == nil || abs(mean - lastInterval) > lastInterval / 1000 {
            lastInterval = mean
            lastRate = FrameRate(interval: .nanoseconds(mean))
        }
        return lastRate
    }
}
