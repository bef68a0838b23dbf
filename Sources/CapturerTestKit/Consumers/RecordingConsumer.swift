import VideoCapturing

/// Keeps the first frames of a capture, and counts the rest. Safe to use from any thread.
public final class RecordingConsumer: VideoCaptureConsumer {
    private struct Contents {
        var frames: [VideoFrame] = []
        var count = 0
    }

    /// The most frames that are kept.
    public let limit: Int
    private let contents = Locked(Contents())

    /// - Parameter limit: the most frames that are kept; later ones are only counted.
    public init(limit: Int = 1000) {
        self.limit = max(0, limit)
    }

    /// The frames that are kept, in the order in which they came.
    public var frames: [VideoFrame] { contents.withLock { $0.frames } }

    /// The frames that came, kept or not.
    public var count: Int { contents.withLock { $0.count } }

    public func consumeFrame(_ frame: VideoFrame) {
        contents.withLock { contents in
            contents.count += 1
            if contents.frames.count < limit { contents.frames.append(frame) }
        }
        contents.wakeAll()
    }

    /// Blocks until `count` frames have come in all; false when `timeout` has passed before.
    public func waitForFrames(_ count: Int, timeout: Duration = .seconds(5)) -> Bool {
        contents.wait(until: MonotonicClock().now.advanced(by: timeout)) { $0.count >= count ? () : nil } != nil
    }

    /// Lets go of all frames, and counts from zero again.
    public func removeAll() {
        // The frames end after the lock, since their end may run a driver's code.
        _ = contents.withLock { contents in
            let frames = contents.frames
            contents = Contents()
            return frames
        }
    }
}
