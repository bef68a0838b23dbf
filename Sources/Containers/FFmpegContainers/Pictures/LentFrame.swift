import CLibAV
import VideoCapturing

/// A decoder's picture: a reference to its memory, which it does not use again until the reference is given up.
///
/// `@unchecked Sendable`: filled and read by the one thread that has taken it off the shelf; what is lent of it is
/// only read, by any number of threads, and the last of them puts it back under the shelf's lock.
final class LentFrame: @unchecked Sendable {
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

/// Keeps the empty shells of pictures for the next ones. Lives as long as anything lent from it.
final class FrameShelf: Sendable {
    private let free: Locked<[LentFrame]>

    init() {
        var shells: [LentFrame] = []
        shells.reserveCapacity(FrameShelf.capacity)
        free = Locked(shells)
    }

    /// An empty shell; nil when the machine has no memory.
    func take() -> LentFrame? { free.withLock { $0.popLast() } ?? LentFrame() }

    /// Gives up the memory of the picture, and keeps its shell.
    func giveBack(_ lent: LentFrame) {
        av_frame_unref(lent.frame)
        free.withLock { if $0.count < FrameShelf.capacity { $0.append(lent) } }
    }

    private static let capacity = 32
}
