/// Chooses the frames of a stream that come nearest to a lower rate.
///
/// The times of the lower rate are laid out once, from the first frame on, and exact: nothing adds up to a
/// drift, and an irregular frame moves none after it. Each such time takes the frame nearest to it, which is
/// found without waiting for the next: a frame is due from half a frame's distance before the time on. So
/// no two frames go to one time, and a stream that is slower than the rate passes whole.
public struct FrameRateLimiter: Sendable {
    private var rate: FrameRate?
    /// The first frame, for which time number 0 stands.
    private var origin = MediaTime.zero
    /// The number of the last time that was taken; nil before the first frame.
    private var lastIndex: Int64?
    private var lastTimestamp = MediaTime.zero
    private var lastSequenceNumber: UInt64 = 0
    /// When the last frame that passed was taken.
    private var lastPassed = MediaTime.zero
    /// The usual distance of the frames that come, in nanoseconds; zero until known.
    private var distance: Int64 = 0

    /// A limiter that has seen no frame.
    public init() {}

    /// Whether to pass a frame on. Timestamps are expected to increase; one that does not is taken for the start
    /// of a new stream.
    ///
    /// - Parameters:
    ///   - timestamp: the frame's.
    ///   - sequenceNumber: the frame's; a gap says how many frames are missing before it.
    ///   - limit: the lower rate; nil to pass all.
    public mutating func shouldPass(_ timestamp: MediaTime, sequenceNumber: UInt64, at limit: FrameRate?) -> Bool {
        defer { lastSequenceNumber = sequenceNumber }
        guard let limit else {
            lastIndex = nil
            return true
        }
        guard let lastIndex, timestamp > lastTimestamp else {
            restart(at: timestamp, limit)
            return true
        }
        measureDistance(to: timestamp, sequenceNumber)
        if limit != rate {
            // The distance from the last frame passed counts by the new rate.
            rate = limit
            origin = lastPassed
            self.lastIndex = 0
            return take(timestamp, limit, after: 0)
        }
        return take(timestamp, limit, after: lastIndex)
    }

    private mutating func take(_ timestamp: MediaTime, _ limit: FrameRate, after last: Int64) -> Bool {
        let half = min(distance, limit.frameInterval.nanoseconds) / 2
        let index = limit.frameIndex(at: (timestamp - origin) + .nanoseconds(half))
        guard index > last else { return false }
        lastIndex = index
        lastPassed = timestamp
        return true
    }

    private mutating func restart(at timestamp: MediaTime, _ limit: FrameRate) {
        self = FrameRateLimiter()
        rate = limit
        origin = timestamp
        lastIndex = 0
        lastPassed = timestamp
        lastTimestamp = timestamp
    }

    /// A mean that forgets; frames lost before are allowed for.
    private mutating func measureDistance(to timestamp: MediaTime, _ sequenceNumber: UInt64) {
        let steps = sequenceNumber > lastSequenceNumber ? sequenceNumber - lastSequenceNumber : 1
        let step = (timestamp - lastTimestamp).nanoseconds / Int64(clamping: steps)
        lastTimestamp = timestamp
        distance = distance == 0 ? step : distance + (step - distance) / 8
    }
}

/// Lowers the rate of the frames of one consumer, and remembers what the frames left out have changed.
package struct FrameRateGate {
    /// The rate; nil to pass all.
    package var limit: FrameRate?
    /// The parts that left-out frames changed, for the next frame that is passed on.
    package var accumulator = DamageAccumulator()
    private var limiter = FrameRateLimiter()

    package init(limit: FrameRate? = nil) { self.limit = limit }

    /// Whether the frame goes on; if not, its damage is kept.
    package mutating func admits(_ frame: VideoFrame) -> Bool {
        if limiter.shouldPass(frame.timestamp, sequenceNumber: frame.sequenceNumber, at: limit) { return true }
        accumulator.add(frame)
        return false
    }
}
