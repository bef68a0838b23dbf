extension VideoPublisher {
    /// The frames from now on, as an asynchronous sequence.
    ///
    /// ```swift
    /// for await frame in publisher.frames(bufferingNewest: 4) { print(frame.timestamp) }
    /// ```
    /// What waits beyond the limit is left out, the oldest first; the gap shows in `sequenceNumber`. During an interruption,
    /// while the publisher is stopped, and over a replacement of the capture the sequence waits and goes on. It ends when
    /// the capture has ended on its own account (a file's end, a lost device; see `VideoCapture.state` for which), when the
    /// publisher is closed, and when no thread can be created. Leaving the loop, or cancelling its task, removes the consumer.
    ///
    /// - Parameters:
    ///   - limit: how many frames may wait, at least one. Each keeps a buffer of the capture in use.
    ///   - name: for statistics.
    public func frames(bufferingNewest limit: Int = 4, name: String = "frames") -> AsyncStream<VideoFrame> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: VideoFrame.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
        guard let subscription = try? add(FrameStreamConsumer(continuation), name: name) else {
            continuation.finish()
            return stream
        }
        // From now on, so that no end is missed.
        let capture = self.capture
        let changes = capture.stateChanges()
        let current: @Sendable () -> (any VideoCapture)? = { [weak self] in self?.capture }
        let watch = Task.detached {
            await VideoPublisher.waitForEnd(of: capture, changes, current: current)
            continuation.finish()
        }
        continuation.onTermination = { [weak self, weak subscription] _ in
            watch.cancel()
            guard let self, let subscription else { return }
            // It may be the thread of the subscription that ends the sequence.
            Task.detached { self.remove(subscription) }
        }
        return stream
    }

    /// Returns when the capture of a publisher has ended on its own account, or was released for good.
    private static func waitForEnd(
        of first: any VideoCapture, _ changes: AsyncStream<CaptureState.Change>,
        current: @Sendable () -> (any VideoCapture)?
    ) async {
        var (capture, changes) = (first, changes)
        // It may have ended before.
        if case .stopped(let reason) = first.state, reason != .user { return }
        while true {
            watching: for await change in changes {
                switch change.new {
                case .stopped(.user): continue
                case .stopped, .idle: if current() === capture { return } else { break watching }
                default: continue
                }
            }
            guard !Task.isCancelled, let next = current(), next !== capture else { return }
            capture = next
            changes = next.stateChanges()
            if case .stopped(let reason) = next.state, reason != .user { return }
        }
    }
}

/// Hands frames to an asynchronous sequence, on the capture's own thread, since that never waits.
private final class FrameStreamConsumer: InlineConsumer, FeedbackConsumer {
    private let continuation: AsyncStream<VideoFrame>.Continuation

    init(_ continuation: AsyncStream<VideoFrame>.Continuation) { self.continuation = continuation }

    func consumeFrame(_ frame: VideoFrame) { continuation.yield(frame) }

    func consumeInline(_ frame: VideoFrame) -> Bool {
        continuation.yield(frame)
        return true
    }

    /// Nil comes when the subscription ends.
    func connectFeedback(_ feedback: CaptureFeedback?) {
        if feedback == nil { continuation.finish() }
    }
}
