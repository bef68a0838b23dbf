/// The line of one consumer's frames: those of the publisher, and the last one again where the consumer wants a
/// minimum rate.
///
/// A repeat stands where a frame taken now would stand: as long after the frame as it is shown after it. So it does
/// not overtake a frame that was taken already and is still on its way, as one with the present time would.
struct ConsumerTimeline {
    /// The last frame, while it may have to be repeated.
    private var last: VideoFrame?
    /// When `last` was shown, on `CLOCK_MONOTONIC`.
    private var lastShown = MediaTime.zero
    private var lastTimestamp: MediaTime?
    /// From when on the time to the next repeat counts; nil when there is nothing to repeat.
    private(set) var lastTurn: MediaTime?
    private var interval = Duration.zero

    /// Places a frame of the publisher; times go on increasing.
    mutating func place(_ frame: inout VideoFrame) {
        if let lastTimestamp, frame.timestamp <= lastTimestamp {
            frame.timestamp = lastTimestamp.advanced(by: .nanoseconds(1))
        }
        lastTimestamp = frame.timestamp
    }

    /// Keeps a frame that was shown at `time`, for repeats.
    mutating func keep(_ frame: VideoFrame, shownAt time: MediaTime) {
        last = frame
        lastShown = time
        lastTurn = time
    }

    /// Lets go of the last frame.
    mutating func forget() {
        last = nil
        lastTurn = nil
    }

    /// The last frame again, shown at `time`; its number stays, since it is no other frame of the capture.
    mutating func makeRepeat(at time: MediaTime, rate: FrameRate?) -> VideoFrame? {
        guard var frame = last else { return nil }
        interval = rate?.frameInterval ?? .zero
        frame.timestamp = frame.timestamp.advanced(by: time - lastShown)
        frame.isRepeat = true
        frame.damage = []
        frame.estimatedFrameRate = rate ?? frame.estimatedFrameRate
        lastTurn = time
        place(&frame)
        return frame
    }

    /// Notes that a repeat took until `time`. A consumer that takes long rests for half an interval between two.
    mutating func endRepeat(at time: MediaTime) {
        guard let began = lastTurn else { return }
        lastTurn = max(began, time.advanced(by: interval / -2))
    }
}
