import CLibAV
import Synchronization
import VideoCapturing

/// Ends the waits of FFmpeg's protocols: at a deadline, or at once when another thread cancels them.
///
/// The library asks ten times per second while it waits. It holds an unretained pointer, so this must outlive its
/// context.
final class WaitLimit: Sendable {
    /// On the monotonic clock, in nanoseconds.
    private let deadline = Atomic<Int64>(.max)
    private let cancelled = Atomic(false)

    /// From here on a wait ends after `timeout`; nil for never.
    func begin(_ timeout: Duration?) {
        let end = timeout.map { MonotonicClock().now.advanced(by: $0).nanoseconds } ?? .max
        deadline.store(end, ordering: .relaxed)
    }

    /// Ends all waits, those to come as well.
    func cancel() { cancelled.store(true, ordering: .relaxed) }

    /// Whether ``cancel()`` was called.
    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// For the library.
    var callback: AVIOInterruptCB {
        AVIOInterruptCB(
            callback: { limit in
                guard let limit else { return 0 }
                return Unmanaged<WaitLimit>.fromOpaque(limit).takeUnretainedValue().isOver ? 1 : 0
            }, opaque: Unmanaged.passUnretained(self).toOpaque())
    }

    /// Whether the library has been told to give up, or will be.
    var isOver: Bool {
        isCancelled || MonotonicClock().now.nanoseconds > deadline.load(ordering: .relaxed)
    }
}
