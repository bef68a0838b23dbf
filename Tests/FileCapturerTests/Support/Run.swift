import FileCapturer
import TestTools
import Testing
import VideoCapturing

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
