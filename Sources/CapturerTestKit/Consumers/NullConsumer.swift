import VideoCapturing

/// Counts frames and lets go of them. Safe to use from any thread.
public final class NullConsumer: VideoCaptureConsumer {
    private let frames = Locked<UInt64>(0)

    public init() {}

    /// The frames taken so far.
    public var count: UInt64 { frames.withLock { $0 } }

    public func consumeFrame(_ frame: VideoFrame) {
        frames.withLock { $0 += 1 }
        frames.wakeAll()
    }

    /// Blocks until `count` frames have come in all; false when `timeout` has passed before.
    public func waitForFrames(_ count: UInt64, timeout: Duration = .seconds(5)) -> Bool {
        frames.wait(until: MonotonicClock().now.advanced(by: timeout)) { $0 >= count ? () : nil } != nil
    }
}
