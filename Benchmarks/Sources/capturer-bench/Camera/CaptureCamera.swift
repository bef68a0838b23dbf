import CameraCapturer
import Dispatch
import VP8Codec
import VideoCapturing

/// A camera to a consumer that does nothing, or through publisher, queue and encoder to one that takes packets.
func captureCamera(_ run: CameraRun) throws {
    let capture = CameraCapturer(run.configuration)
    let arrivals = Arrivals(frames: run.frames, measuresLatency: run.measuresLatency)
    if run.isEncoded {
        let encoding = try makeEncodingConsumer(bitrate: run.bitrate * 1000, to: arrivals)
        let publisher = VideoPublisher(capture)
        try publisher.add(encoding, name: "vp8")
        try publisher.start()
        try arrivals.awaitEnd(of: capture)
        publisher.close()
        encoding.finish()
    } else {
        capture.videoCaptureConsumer = arrivals
        if !run.isConverted { capture.adapt(to: CaptureWants(acceptsNativeFormat: true)) }
        try capture.initCapture()
        try capture.startCapture()
        try arrivals.awaitEnd(of: capture)
        capture.releaseCapture()
    }
    if let decision = capture.decision, decision.negotiated.size != run.configuration.preset {
        throw CameraRunError(description: "another mode than was asked for: \(decision.summary)")
    }
    let replaced = capture.cameraStatistics.timestampsReplaced
    if run.measuresLatency, replaced > 0 {
        throw CameraRunError(description: "\(replaced) timestamps of the driver's were not usable")
    }
    if let line = arrivals.latencies { print(line) }
}

struct CameraRunError: Error, CustomStringConvertible {
    let description: String
}

/// Where frames or packets end up: counts them, and notes how old they are.
///
/// `@unchecked Sendable`: everything but `end` is touched on the one thread that delivers, and read when that has
/// signalled the end.
private final class Arrivals: VideoCaptureConsumer, PacketSink, @unchecked Sendable {
    private let frames: Int
    /// What is not measured, at the beginning.
    private let skip = 90
    private let clock: MonotonicClock?
    private var seen = 0
    /// In nanoseconds.
    private var ages: [Double] = []
    private let end = DispatchSemaphore(value: 0)

    init(frames: Int, measuresLatency: Bool) {
        self.frames = frames
        clock = measuresLatency ? MonotonicClock() : nil
        if measuresLatency { ages.reserveCapacity(min(frames, 100_000)) }
    }

    func consumeFrame(_ frame: VideoFrame) { note(frame.timestamp) }
    func begin(_ tracks: [TrackDescription]) {}
    func write(_ packet: MediaPacket) { note(packet.timestamp) }
    func finish() {}

    private func note(_ timestamp: MediaTime) {
        seen += 1
        guard seen <= frames else { return }
        if let clock, seen > skip, ages.count < 100_000 { ages.append(Double((clock.now - timestamp).nanoseconds)) }
        if seen == frames { end.signal() }
    }

    /// Blocks until the frames are there; throws when the capture has ended before.
    func awaitEnd(of capture: CameraCapturer) throws {
        while end.wait(timeout: .now() + 5) == .timedOut {
            if case .stopped(let reason) = capture.state {
                throw CameraRunError(description: "the camera has stopped: \(reason)")
            }
        }
    }

    var latencies: String? {
        guard !ages.isEmpty else { return nil }
        let figures = [0.5, 0.99, 1].map { (ages.quantile($0) / 1e6).fixed(3) }
        return "\(ages.count) \(figures.joined(separator: " "))"
    }
}
