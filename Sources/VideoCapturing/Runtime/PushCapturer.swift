/// A capture for frames that an application already has: it pushes them, from any thread.
///
/// ```swift
/// let capture = PushCapturer(format: .nv12(width: 640, height: 480))
/// …                                   // hand it to a publisher, start it
/// capture.push(buffer)                // as often as there is a picture
/// ```
/// Frames wait in a small queue and are delivered on the capture's own thread. Safe to use from any thread.
public final class PushCapturer: ForwardingVideoCapture {
    private let mailbox: FrameMailbox
    public let forwardedCapture: SourceCapturer

    /// - Parameters:
    ///   - format: the expected format of the pushed frames; each frame's own format counts.
    ///   - name: the name of the source, and of its thread.
    ///   - queueCapacity: how many frames may wait for the consumer.
    ///   - policy: what happens to a frame that finds the queue full.
    ///   - clock: the clock for frames that are pushed without a timestamp.
    public init(
        format: VideoFormat, name: String = "push", queueCapacity: Int = 4, policy: QueuePolicy = .dropOldest,
        clock: any CaptureClock = MonotonicClock()
    ) {
        mailbox = FrameMailbox(FrameQueue(capacity: queueCapacity, policy: policy, numbersFrames: true), clock: clock)
        forwardedCapture = SourceCapturer(
            PushSource(settings: CaptureSettings(format: format, sourceName: name), mailbox: mailbox), name: name,
            clock: clock)
    }

    /// Gives the capture a picture. Does not block, unless the policy is `QueuePolicy.block`.
    ///
    /// - Parameters:
    ///   - buffer: the pixels; kept, not copied.
    ///   - timestamp: when the picture was taken, on the monotonic clock; nil for now. One that does not
    ///     increase is moved to just after the last.
    ///   - orientation: the clockwise rotation to apply for display.
    ///   - color: color matrix and range; nil for the usual ones of the pixel format.
    ///   - metadata: bytes that travel with the frame.
    /// - Returns: false when the capture is not started, or the queue turned the frame away.
    @discardableResult
    public func push(
        _ buffer: PixelBuffer, timestamp: MediaTime? = nil, orientation: VideoOrientation = .up,
        color: ColorDescription? = nil, metadata: FrameAttributes.Metadata? = nil
    ) -> Bool {
        push(
            VideoFrame(
                buffer: buffer, timestamp: timestamp ?? mailbox.clock.now, orientation: orientation, color: color,
                metadata: metadata))
    }

    /// Gives the capture a frame with all that is known of it. Its sequence number and its estimated rate are
    /// replaced by the capture's own.
    @discardableResult
    public func push(_ frame: VideoFrame) -> Bool {
        guard isCaptureStarted else { return false }
        switch mailbox.queue.push(frame, isWanted: { isCaptureStarted }) {
        case .accepted, .replacedOldest: return true
        case .refused, .closed: return false
        }
    }

    /// Declares that no frame will follow: the capture stops with the end of the stream after it has delivered the
    /// waiting frames. A restart begins with an empty queue.
    public func finish() {
        mailbox.isFinished.withLock { $0 = true }
        mailbox.queue.wakeWaiters()
    }

    /// Frames that were pushed and dropped, by reason.
    public var droppedInQueue: CaptureStatistics.DropCounts { mailbox.queue.dropped }
}

/// What the pushing threads and the capture thread share.
private final class FrameMailbox: Sendable {
    let queue: FrameQueue
    let isFinished = Locked(false)
    let clock: any CaptureClock

    init(_ queue: FrameQueue, clock: any CaptureClock) {
        self.queue = queue
        self.clock = clock
    }
}

private struct PushSource: FrameSource {
    var settings: CaptureSettings
    let mailbox: FrameMailbox
    /// The number that the queue gives to the next frame if none is dropped.
    var nextNumber: UInt64 = 0

    var pacing: FramePacing { .device }

    mutating func start(_ context: FrameContext) {
        mailbox.isFinished.withLock { $0 = false }
        context.setStopHandler { [mailbox] in mailbox.queue.wakeWaiters() }
    }

    mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
        let next = mailbox.queue.pop(isWanted: { isEmpty in
            !context.isStopping && !(isEmpty && mailbox.isFinished.withLock { $0 })
        })
        guard let frame = next else { return nil }
        defer { nextNumber = frame.sequenceNumber + 1 }
        var result = SourceFrame(frame.buffer, timestamp: frame.timestamp)
        result.lostBefore = frame.sequenceNumber - nextNumber
        result.compressed = frame.compressed
        result.damage = frame.damage
        result.attributes = frame.attributes
        result.isRepeat = frame.isRepeat
        return result
    }

    mutating func stop() {
        // What waits is of the past when the capture starts again. Also frees producers that wait for room.
        mailbox.queue.discardWaitingFrames()
    }
}
