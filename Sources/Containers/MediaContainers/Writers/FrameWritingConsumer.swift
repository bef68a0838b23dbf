import VideoCapturing

/// Writes the frames of a publisher to a ``FrameWriter``.
///
/// Use it behind a queue whose policy is to block, so that the file gets every frame. After the first failure nothing more
/// is written, and the writer is finished. Thread-safe.
public final class FrameWritingConsumer: InlineConsumer {
    private struct Work {
        var isOpen = true
        var failure: (any Error)?
    }

    private let writer: any FrameWriter
    private let work = Locked(Work())
    private let onFailure: @Sendable (any Error) -> Void

    /// Creates a consumer.
    ///
    /// - Parameters:
    ///   - writer: gets the frames until it fails or ``finish(at:)`` is called.
    ///   - onFailure: called at most once, on the queue's thread, with the writer's error.
    public init(_ writer: any FrameWriter, onFailure: @escaping @Sendable (any Error) -> Void = { _ in }) {
        self.writer = writer
        self.onFailure = onFailure
    }

    public func consumeInline(_ frame: VideoFrame) -> Bool {
        guard writer.acceptsInlineDelivery else { return false }
        consumeFrame(frame)
        return true
    }

    public func consumeFrame(_ frame: VideoFrame) {
        let failure = work.withLock { work -> (any Error)? in
            guard work.isOpen else { return nil }
            do {
                try writer.writeFrame(frame)
                return nil
            } catch {
                work.isOpen = false
                work.failure = error
                // The first error is the one to report.
                try? writer.finish()
                return error
            }
        }
        if let failure { onFailure(failure) }
    }

    /// Closes the file. Repeated calls do nothing.
    ///
    /// - Parameter end: when the capture ended, for formats of a constant rate: the last frame is repeated up to then. Nil
    ///   for one interval.
    /// - Throws: the error of closing, or of an earlier write.
    public func finish(at end: MediaTime? = nil) throws {
        try work.withLock { work in
            if let failure = work.failure { throw failure }
            guard work.isOpen else { return }
            work.isOpen = false
            try writer.finish(at: end)
        }
    }

    /// Whether frames are still being written.
    public var isActive: Bool { work.withLock { $0.isOpen } }
}
