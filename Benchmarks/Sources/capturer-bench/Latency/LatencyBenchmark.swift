import NoiseCapturer
import VP8Codec
import VideoCapturing

/// From a frame's timestamp to its packet in the consumer's hands, less the encoder's own time.
struct LatencyBenchmark {
    private let effort: Effort

    init(_ effort: Effort) {
        self.effort = effort
    }

    func run() throws {
        let frames = effort.isQuick ? 150 : 900
        Report.title("Latency beside the encoder's own time")
        Report.text(
            """
            Noise 640×480 at 30 frames per second → publisher → queue → VP8 → packet consumer; \(frames) frames, in
            milliseconds. The timestamp is the moment at which the frame was due. The encoder's own time is that of
            its `encode` up to the packet.
            """)
        let log = LatencyLog(capacity: frames + 60)
        let window = PacketWindow(skip: 30, count: frames, atBegin: { log.clear() }, atEnd: { log.finish() })
        let encoding = EncodingConsumer(
            TimedEncoder(try VP8Encoder(encoderConfiguration(bitrate: 1_000_000)), log: log),
            to: [(name: "log", sink: log), (name: "window", sink: window)],
            onFailure: { fatalError("\($0.error)") })
        let publisher = VideoPublisher(NoiseCapturer(format: .nv12(width: 640, height: 480), frameRate: 30))
        try publisher.add(encoding, name: "vp8")
        try publisher.start()
        window.awaitEnd()
        publisher.close()
        encoding.finish()
        func row(_ name: String, _ values: [Double]) -> [String] {
            [name] + [0.5, 0.9, 0.99, 1].map { (values.quantile($0) / 1e6).fixed(3) }
        }
        Report.table(
            ["", "p50", "p90", "p99", "largest"],
            [row("beside the encoder", log.beside), row("the encoder", log.encoding)])
        let worst = log.beside.quantile(0.99) / 1e6
        Report.goal("p99 at most 1 ms on an idle machine (\(worst.fixed(3)) ms)", isMet: worst <= 1)
    }
}

/// Writes down what each packet took.
///
/// `@unchecked Sendable`: used on the encoder's thread until `finish()`, and read after the window has closed.
private final class LatencyLog: PacketSink, @unchecked Sendable {
    /// Nanoseconds, as are `encoding`'s.
    private(set) var beside: [Double] = []
    private(set) var encoding: [Double] = []
    private var isOpen = true
    private let clock = MonotonicClock()
    /// Of the packet that is under way.
    var encodeTime = 0.0

    init(capacity: Int) {
        beside.reserveCapacity(capacity)
        encoding.reserveCapacity(capacity)
    }

    func begin(_ tracks: [TrackDescription]) {}

    func write(_ packet: MediaPacket) {
        guard isOpen else { return }
        beside.append(Double((clock.now - packet.timestamp).nanoseconds) - encodeTime)
        encoding.append(encodeTime)
    }

    func clear() {
        beside.removeAll(keepingCapacity: true)
        encoding.removeAll(keepingCapacity: true)
    }

    func finish() { isOpen = false }
}

/// Measures another encoder.
private final class TimedEncoder: VideoEncoder {
    private let encoder: VP8Encoder
    private let log: LatencyLog
    private let clock = MonotonicClock()

    init(_ encoder: VP8Encoder, log: LatencyLog) {
        self.encoder = encoder
        self.log = log
    }

    var track: TrackDescription? { encoder.track }

    func requestKeyFrame() { encoder.requestKeyFrame() }

    func setBitrate(_ bitrate: Int) throws { try encoder.setBitrate(bitrate) }

    func encode(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) throws {
        let begin = clock.now
        try encoder.encode(frame) { packet in
            log.encodeTime = Double((clock.now - begin).nanoseconds)
            try output(packet)
        }
    }
}
