import Dispatch
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// Takes frames, holds the last of them, and measures from one frame to a later one.
///
/// `@unchecked Sendable`: everything but `end` is touched on the one thread that delivers; the semaphore hands the
/// result over.
final class WindowConsumer: VideoCaptureConsumer, @unchecked Sendable {
    private let skip: Int
    private let count: Int
    private let pauseAt: Int?
    private let atBegin: () -> Void
    private let atEnd: () -> Void
    private var held: [VideoFrame?]
    private var seen = 0
    private var begin = Usage(cpu: 0, wall: 0)
    private var result = Usage(cpu: 0, wall: 0)
    private let end = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - skip: how many frames pass before the window opens.
    ///   - count: how many it spans.
    ///   - holding: how many of the last frames are held; one more buffer than that rotates.
    ///   - pauseAt: a frame at which the consumer takes a rest, so that queue and pool once fill up to their most.
    init(
        skip: Int, count: Int, holding: Int = 0, pauseAt: Int? = nil, atBegin: @escaping () -> Void = {},
        atEnd: @escaping () -> Void = {}
    ) {
        self.skip = skip
        self.count = count
        self.pauseAt = pauseAt
        self.atBegin = atBegin
        self.atEnd = atEnd
        held = Array(repeating: nil, count: holding)
    }

    func consumeFrame(_ frame: VideoFrame) {
        if !held.isEmpty { held[seen % held.count] = frame }
        seen += 1
        if seen == pauseAt { usleep(50_000) }
        if seen == skip {
            begin = .now
            atBegin()
        } else if seen == skip + count {
            atEnd()
            result = Usage.now - begin
            end.signal()
        }
    }

    /// Blocks until the window has closed; what a frame has cost.
    func usagePerFrame() -> Usage {
        end.wait()
        return result / count
    }
}

/// Takes frames and does nothing with them.
final class NullConsumer: VideoCaptureConsumer {
    func consumeFrame(_ frame: VideoFrame) {}
}
