import CLibAV
import VideoCapturing

/// A frame of a decoder: a reference to its memory, which the decoder does not reuse until the reference is released.
///
/// `@unchecked Sendable`: filled and read by the one thread that has taken it from the pool; buffers that wrap it are
/// only read, by any number of threads, and the last of them returns it under the pool's lock.
final class BorrowedFrame: @unchecked Sendable {
    let frame: UnsafeMutablePointer<AVFrame>

    fileprivate init?() {
        guard let made = av_frame_alloc() else { return nil }
        frame = made
    }

    deinit {
        var frame: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&frame)
    }
}

/// A pool of `AVFrame` structures. Lives as long as any frame borrowed from it.
final class FramePool: Sendable {
    private let free: Locked<[BorrowedFrame]>

    init() {
        var frames: [BorrowedFrame] = []
        frames.reserveCapacity(FramePool.capacity)
        free = Locked(frames)
    }

    /// An empty frame; nil when there is no memory.
    func take() -> BorrowedFrame? { free.withLock { $0.popLast() } ?? BorrowedFrame() }

    /// Releases the memory of the frame, and returns its structure to the pool.
    func restore(_ lent: BorrowedFrame) {
        av_frame_unref(lent.frame)
        free.withLock { if $0.count < FramePool.capacity { $0.append(lent) } }
    }

    private static let capacity = 32
}
