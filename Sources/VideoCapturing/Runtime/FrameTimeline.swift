/// Gives the frames of a capture their places in time: strictly increasing timestamps and a sequence number
/// that counts the lost ones, over all restarts.
struct FrameTimeline {
    /// The timestamp of the last frame; nil before the first.
    private(set) var lastTimestamp: MediaTime?
    private var nextSequenceNumber: UInt64 = 0
    private var estimator = FrameRateEstimator()

    /// Forgets the rate, so that the pause between stop and start is not measured.
    mutating func beginSession() {
        estimator = FrameRateEstimator()
    }

    /// Leaves room in the sequence for frames that were lost.
    mutating func skip(lost: UInt64) {
        nextSequenceNumber &+= lost
    }

    /// The whole frame; a timestamp that does not increase is moved to a nanosecond after the last one.
    mutating func stamp(_ frame: SourceFrame, timestamp: MediaTime, nominal: FrameRate?) -> VideoFrame {
        let timestamp = timestamp.increasing(after: lastTimestamp)
        lastTimestamp = timestamp
        let sequenceNumber = nextSequenceNumber
        nextSequenceNumber &+= 1
        var attributes = frame.attributes
        attributes.estimatedFrameRate = estimator.add(timestamp, nominal: nominal)
        return VideoFrame(
            buffer: frame.buffer, compressed: frame.compressed, timestamp: timestamp, sequenceNumber: sequenceNumber,
            attributes: attributes, damage: frame.damage, isRepeat: frame.isRepeat)
    }
}

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
