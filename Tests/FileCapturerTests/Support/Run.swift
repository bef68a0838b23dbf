import FileCapturer
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// Keeps frames, and does something at each.
final class Collector: VideoCaptureConsumer {
    private let frames = Locked<[VideoFrame]>([])
    private let onFrame: @Sendable (Int) -> Void

    /// - Parameter onFrame: called with the number of the frames before.
    init(onFrame: @escaping @Sendable (Int) -> Void = { _ in }) { self.onFrame = onFrame }

    func consumeFrame(_ frame: VideoFrame) {
        let index = frames.withLock { frames in
            frames.append(frame)
            return frames.count - 1
        }
        onFrame(index)
    }
    var collected: [VideoFrame] { frames.withLock { $0 } }
}

/// Runs a capture to its end and gives its frames and why it stopped.
func run(_ capture: FileCapturer, _ collector: Collector = Collector()) throws -> ([VideoFrame], CaptureState) {
    capture.videoCaptureConsumer = collector
    try capture.initCapture()
    try capture.startCapture()
    #expect(eventually { !capture.isCaptureStarted })
    return (collector.collected, capture.state)
}

/// Whether something becomes true soon.
func eventually(_ condition: () -> Bool) -> Bool {
    let deadline = MonotonicClock().now.advanced(by: .seconds(60))
    while !condition() {
        guard MonotonicClock().now < deadline else { return false }
        usleep(1000)
    }
    return true
}
