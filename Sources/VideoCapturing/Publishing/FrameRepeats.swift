// The last frame is repeated for two reasons. A publisher repeats it for all, as one more frame of its line, so that what
// is recorded or shown of a source at rest goes on. A consumer that wants to see it again, such as an encoder that refines
// it, gets it on its own thread, once it has returned: no other consumer pays for that, and no queue fills.

extension VideoFrame {
    /// The same frame once more, in which nothing has changed.
    func repeated(at timestamp: MediaTime) -> VideoFrame {
        var frame = self
        frame.timestamp = timestamp
        frame.isRepeat = true
        frame.damage = []
        return frame
    }
}

/// Keeps the minimum rate of a publisher: a thread that sends the last frame again to all consumers, as a
/// separate frame, when none has come for an interval.
final class FrameRepeater: Sendable {
    private let wake = ManualResetEvent()
    private let thread: CaptureThread

    init(interval: Duration, clock: any CaptureClock, fanOut: FrameFanOut) throws(CaptureError) {
        thread = try CaptureThread(name: "repeat") { [wake, weak fanOut] in
            while !wake.isRaised {
                guard let last = fanOut?.repeatLastFrame(ifOlderThan: interval) else {
                    // Nothing was sent yet.
                    guard fanOut != nil else { break }
                    clock.wait(until: clock.now.advanced(by: interval), or: wake)
                    continue
                }
                clock.wait(until: last.advanced(by: interval), or: wake)
            }
        }
    }

    /// Ends the thread; one repeat may still be sent.
    func cancel() { wake.raise() }

    /// Ends the thread. When it returns, no repeat is being sent and none will be.
    func stop() {
        cancel()
        thread.join()
    }
}

/// The line of one consumer's frames: those of the publisher, and the last one again where the consumer wants a
/// minimum rate.
///
/// A repeat stands where a frame taken now would stand: as long after the frame as it is shown after it. So it does
/// not overtake a frame that was taken already and is still in flight, as one with the present time would.
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
        frame.timestamp = frame.timestamp.increasing(after: lastTimestamp)
        lastTimestamp = frame.timestamp
    }

    /// Keeps a frame that was shown at `time`, for repeats at a rate.
    ///
    /// The first repeat is due after two intervals. So a pause of the capture that is shorter has none, and frames and
    /// repeats together are no more than the capture's highest rate allows, as long as that is not below `rate`.
    mutating func keep(_ frame: VideoFrame, shownAt time: MediaTime, rate: FrameRate?) {
        last = frame
        lastShown = time
        lastTurn = rate.map { time.advanced(by: $0.frameInterval) } ?? time
    }

    /// Releases the last frame.
    mutating func forget() {
        last = nil
        lastTurn = nil
    }

    /// The last frame again, shown at `time`; its number stays, because it is the same frame of the capture.
    mutating func makeRepeat(at time: MediaTime, rate: FrameRate?) -> VideoFrame? {
        guard let last else { return nil }
        interval = rate?.frameInterval ?? .zero
        var frame = last.repeated(at: last.timestamp.advanced(by: time - lastShown))
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
