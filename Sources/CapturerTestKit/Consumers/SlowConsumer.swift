import VideoCapturing

/// Takes its time over every frame, and notes whether calls overlap. Safe to use from any thread.
public final class SlowConsumer: VideoCaptureConsumer {
    private struct Contents {
        var count = 0
        var running = 0
        var haveOverlapped = false
    }

    /// How long each call takes.
    public let delay: Duration
    private let contents = Locked(Contents())
    private let signal = ManualResetEvent()

    public init(delay: Duration) {
        self.delay = delay
    }

    /// Calls that have returned.
    public var count: Int { contents.withLock { $0.count } }

    /// Whether a call is running now.
    public var isRunning: Bool { contents.withLock { $0.running > 0 } }

    /// Whether two calls ever ran at once, which no capture may do.
    public var haveCallsOverlapped: Bool { contents.withLock { $0.haveOverlapped } }

    public func consumeFrame(_ frame: VideoFrame) {
        contents.withLock { contents in
            contents.running += 1
            if contents.running > 1 { contents.haveOverlapped = true }
        }
        signal.wait(until: MonotonicClock().now.advanced(by: delay))
        contents.withLock { contents in
            contents.running -= 1
            contents.count += 1
        }
        contents.wakeAll()
    }

    /// Blocks until `count` calls have returned; false when `timeout` has passed before.
    public func waitForFrames(_ count: Int, timeout: Duration = .seconds(5)) -> Bool {
        contents.wait(until: MonotonicClock().now.advanced(by: timeout)) { $0.count >= count ? () : nil } != nil
    }
}
