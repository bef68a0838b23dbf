import Dispatch
import VP8Codec
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// Takes packets and tells when the first and when the last of a window comes.
///
/// `@unchecked Sendable`: everything but `end` is touched on the encoder's thread only.
final class PacketWindow: PacketSink, @unchecked Sendable {
    private let skip: Int
    private let count: Int
    private let pauseAt: Int?
    private let atBegin: () -> Void
    private let atEnd: () -> Void
    private var seen = 0
    private let end = DispatchSemaphore(value: 0)

    /// - Parameter pauseAt: as for ``WindowConsumer``.
    init(
        skip: Int, count: Int, pauseAt: Int? = nil, atBegin: @escaping () -> Void, atEnd: @escaping () -> Void
    ) {
        self.skip = skip
        self.count = count
        self.pauseAt = pauseAt
        self.atBegin = atBegin
        self.atEnd = atEnd
    }

    func begin(_ tracks: [TrackDescription]) {}

    func write(_ packet: MediaPacket) {
        seen += 1
        if seen == pauseAt { usleep(50_000) }
        if seen == skip {
            atBegin()
        } else if seen == skip + count {
            atEnd()
            end.signal()
        }
    }

    func finish() {}

    /// Blocks until the window has closed.
    func awaitEnd() { end.wait() }
}

/// One thread and a key frame at the beginning only.
func makeEncodingConsumer(bitrate: Int, to sink: any PacketSink) throws -> EncodingConsumer {
    EncodingConsumer(
        try VP8Encoder(encoderConfiguration(bitrate: bitrate)), to: [(name: "bench", sink: sink)],
        onFailure: { fatalError("\($0.error)") })
}

func encoderConfiguration(bitrate: Int) -> VP8Encoder.Configuration {
    var configuration = VP8Encoder.Configuration(bitrate: bitrate)
    configuration.threads = 1
    configuration.keyFrameInterval = nil
    return configuration
}
