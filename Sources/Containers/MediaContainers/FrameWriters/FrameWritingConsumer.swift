import VideoCapturing

/// Writes the frames it is given: a ``FrameWriter`` as a consumer of a publisher.
///
/// Put it behind a queue whose policy is to wait, so that the file gets every frame. After the first failure
/// nothing more is written, and what was written before is closed. Safe to use from any thread.
public final class FrameWritingConsumer: ImmediateConsumer {
    private struct Work {
        var isOpen = true
        var failure: (any Error)?
    }

    private let writer: any FrameWriter
    private let work = Locked(Work())
    private let onFailure: @Sendable (any Error) -> Void

    /// Hands frames to `writer` until it fails or ``finish()`` is called; `onFailure` is called once at the most, on
    /// the queue's thread.
    public init(_ writer: any FrameWriter, onFailure: @escaping @Sendable (any Error) -> Void = { _ in }) {
        self.writer = writer
        self.onFailure = onFailure
    }

    public func consumeImmediately(_ frame: VideoFrame) -> Bool {
        guard writer.isImmediate else { return false }
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
                // The first error is the one to tell.
                try? writer.finish()
                return error
            }
        }
        if let failure { onFailure(failure) }
    }

    /// Closes the file. Repeated calls do nothing.
    ///
    /// - Parameter end: when the capture ended, for formats of a constant rate: the last frame is shown up to then. Nil
    ///   for as long as each of the others.
    /// - Throws: what closing throws, or what has failed before.
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
