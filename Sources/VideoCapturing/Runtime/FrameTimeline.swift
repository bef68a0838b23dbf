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
        var timestamp = timestamp
        if let lastTimestamp, timestamp <= lastTimestamp { timestamp = lastTimestamp.advanced(by: .nanoseconds(1)) }
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
