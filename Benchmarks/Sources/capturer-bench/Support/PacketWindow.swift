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
    private let next: (any PacketSink)?
    private var seen = 0
    private let end = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - pauseAt: as for ``WindowConsumer``.
    ///   - next: what takes the packets then.
    init(
        skip: Int, count: Int, pauseAt: Int? = nil, to next: (any PacketSink)? = nil, atBegin: @escaping () -> Void,
        atEnd: @escaping () -> Void
    ) {
        self.next = next
        self.skip = skip
        self.count = count
        self.pauseAt = pauseAt
        self.atBegin = atBegin
        self.atEnd = atEnd
    }

    func begin(_ tracks: [TrackDescription]) throws { try next?.begin(tracks) }

    func write(_ packet: MediaPacket) throws {
        try next?.write(packet)
        step()
    }

    /// One of what is counted has come.
    func step() {
        seen += 1
        if seen == pauseAt { usleep(50_000) }
        if seen == skip {
            atBegin()
        } else if seen == skip + count {
            atEnd()
            end.signal()
        }
    }

    func finish() throws { try next?.finish() }

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
