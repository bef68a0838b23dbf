import VideoCapturing

/// Keeps every frame; lets a test wait for them.
final class CollectingConsumer: VideoCaptureConsumer {
    private let frames = Locked<[VideoFrame]>([])
    private let gate: ManualResetEvent?
    /// Raised by the first call, before the gate.
    let isInside = ManualResetEvent()

    /// - Parameter gate: every call waits until it is raised.
    init(gate: ManualResetEvent? = nil) {
        self.gate = gate
    }

    func consumeFrame(_ frame: VideoFrame) {
        isInside.raise()
        gate?.wait()
        frames.withLock { $0.append(frame) }
        frames.wakeAll()
    }

    var collected: [VideoFrame] { frames.withLock { $0 } }

    /// The first `count` frames; fewer when they do not come within a minute.
    func wait(for count: Int) -> [VideoFrame] {
        let deadline = MonotonicClock().now.advanced(by: .seconds(60))
        _ = frames.wait(until: deadline) { $0.count >= count ? () : nil }
        return collected
    }
}

/// A picture whose luma is `value` everywhere.
func flatPicture(_ value: UInt8, width: Int = 8, height: Int = 6) throws -> PixelBuffer {
    try PixelBuffer.make(.nv12, width: width, height: height) { pixels in
        pixels.fill(plane: 0, with: value)
        pixels.fill(plane: 1, with: 128)
    }
}

/// The luma of the first pixel.
func firstLuma(_ frame: VideoFrame) -> UInt8 {
    frame.buffer.withRow(0, ofPlane: 0) { $0[0] }
}

/// A capture to push into, already started by its publisher.
func startedPublisher() throws -> (PushCapturer, VideoPublisher) {
    let capture = PushCapturer(format: .nv12(width: 8, height: 6), queueCapacity: 64, policy: .block)
    let publisher = VideoPublisher(capture)
    try publisher.start()
    return (capture, publisher)
}
