import Testing
import VP8Codec
import VideoCapturing

@Suite struct EncodingConsumerTests {
    /// Keeps packets; may fail at one of them.
    private final class Sink: PacketConsumer {
        struct Failed: Error {}
        private let state = Locked((packets: [EncodedPacket](), finishes: 0))
        private let failsAt: Int?

        init(failsAt: Int? = nil) { self.failsAt = failsAt }

        func consumePacket(_ packet: EncodedPacket) throws {
            try state.withLock { state in
                if state.packets.count == failsAt { throw Failed() }
                state.packets.append(packet)
            }
        }
        func finish() { state.withLock { $0.finishes += 1 } }
        var packets: [EncodedPacket] { state.withLock { $0.packets } }
        var finishes: Int { state.withLock { $0.finishes } }
    }

    private func frames(_ range: Range<Int>) throws -> [VideoFrame] {
        try range.map { try movingFrame(width: 32, height: 32, step: $0) }
    }

    @Test func eachConsumerGetsEachPacket() throws {
        let sinks = [Sink(), Sink()]
        let encoding = EncodingConsumer(
            try VP8Encoder(VP8EncoderConfiguration(bitrate: 300_000)), to: [("a", sinks[0]), ("b", sinks[1])])
        for frame in try frames(0..<10) { encoding.consumeFrame(frame) }
        encoding.finish()
        encoding.finish()
        for sink in sinks {
            #expect(sink.packets.map(\.capture.sequenceNumber) == Array(0..<10))
            #expect(sink.finishes == 1)
        }
        let statistics = encoding.statistics
        #expect(statistics.framesIn == 10)
        #expect(statistics.packets == 10)
        #expect(statistics.keyFrames == 1)
        #expect(statistics.bytes == UInt64(sinks[0].packets.reduce(0) { $0 + $1.data.count }))
        #expect(statistics.medianEncodeTime != nil)
        encoding.consumeFrame(try movingFrame(width: 32, height: 32, step: 11))
        #expect(sinks[0].packets.count == 10)
    }

    @Test func aConsumerThatFailsHarmsNobody() throws {
        let good = Sink()
        let bad = Sink(failsAt: 3)
        let failures = Locked<[String?]>([])
        let encoding = EncodingConsumer(
            try VP8Encoder(VP8EncoderConfiguration(bitrate: 300_000)), to: [("bad", bad), ("good", good)],
            onFailure: { failure in failures.withLock { $0.append(failure.consumer) } })
        for frame in try frames(0..<8) { encoding.consumeFrame(frame) }
        #expect(bad.packets.count == 3)
        #expect(bad.finishes == 1)
        #expect(good.packets.count == 8)
        #expect(failures.withLock { $0 } == ["bad"])
        encoding.finish()
        #expect(bad.finishes == 1)
        #expect(good.finishes == 1)
    }

    @Test func anEncoderThatFailsClosesAll() throws {
        let sink = Sink()
        let failures = Locked<[String?]>([])
        let encoding = EncodingConsumer(
            try VP8Encoder(VP8EncoderConfiguration(bitrate: 300_000)), to: [("file", sink)],
            onFailure: { failure in failures.withLock { $0.append(failure.consumer) } })
        encoding.consumeFrame(try movingFrame(width: 32, height: 32, step: 0))
        encoding.consumeFrame(
            VideoFrame(buffer: try PixelBuffer.make(.rgba, width: 8, height: 8) { _ in }, timestamp: .zero))
        encoding.consumeFrame(try movingFrame(width: 32, height: 32, step: 1))
        #expect(sink.packets.count == 1)
        #expect(sink.finishes == 1)
        #expect(failures.withLock { $0 } == [nil])
        #expect(!encoding.isActive)
    }

    @Test func aKeyFrameCanBeRequested() throws {
        let sink = Sink()
        let encoding = EncodingConsumer(
            try VP8Encoder(VP8EncoderConfiguration(bitrate: 300_000)), to: [("a", sink)])
        for frame in try frames(0..<3) { encoding.consumeFrame(frame) }
        encoding.requestKeyFrame()
        for frame in try frames(3..<5) { encoding.consumeFrame(frame) }
        #expect(sink.packets.map(\.isKeyFrame) == [true, false, false, true, false])
    }
}
