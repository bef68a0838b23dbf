import MediaPublishing
import NoiseCapturer
import Testing
import VP8Codec
import VideoCapturing

/// Outputs whose receivers come and go, as the viewers of `/whep`, and share an encoder that works only for them.
@Suite struct ReceiverTests {
    /// A server of frames with another way to show them, for receivers that a test adds.
    private final class Server: MediaOutput {
        final class Packets: MediaOutput {
            private let context = Locked<OutputContext?>(nil)
            let maximumBitrate: Int?

            init(maximumBitrate: Int?) { self.maximumBitrate = maximumBitrate }

            var opened: OutputContext? { context.withLock { $0 } }
            var name: String { "packets" }
            var kind: String { "packets" }
            var isAuxiliary: Bool { true }
            var feed: OutputContext.Feed {
                var feed = OutputContext.Feed.PacketFeed(
                    codecs: [.vp8], purpose: .live, needsOwnEncoder: true, pixelAspectCodecs: [])
                feed.servesReceivers = true
                feed.maximumBitrate = maximumBitrate
                return .packets(feed)
            }
            func open(_ context: OutputContext) -> OutputContext.Destination {
                self.context.withLock { $0 = context }
                return .receivers
            }
            var outputStatistics: OutputStatistics { OutputStatistics(bytes: 0) }
        }

        final class Frames: VideoCaptureConsumer {
            private let count = Locked(0)

            func consumeFrame(_ frame: VideoFrame) {
                count.withLock { $0 += 1 }
                count.wakeAll()
            }
            func waitForMore(_ more: Int) throws {
                let before = count.withLock { $0 }
                try #require(count.wait(until: RunLog.limit) { $0 >= before + more ? () : nil } != nil)
            }
        }

        let frames = Frames()
        let packets: Packets
        init(maximumBitrate: Int? = nil) { packets = Packets(maximumBitrate: maximumBitrate) }

        var companion: (any MediaOutput)? { packets }
        var name: String { "server" }
        var kind: String { "server" }
        var feed: OutputContext.Feed { .frames(.init(isConverted: false)) }
        func open(_ context: OutputContext) -> OutputContext.Destination { .consumer(frames) }
        var outputStatistics: OutputStatistics { OutputStatistics(bytes: 0) }

        func add(_ sink: any PacketSink, _ name: String) -> Bool {
            packets.opened?.addReceiver(sink, name) ?? false
        }
        func remove(_ name: String) { packets.opened?.removeReceiver(name) }
    }

    @Test func anEncoderWorksOnlyWhileThereAreReceivers() throws {
        let publisher = noisePublisher(rate: 100)
        let server = Server()
        try publisher.add(server)
        try publisher.start()
        defer { publisher.close() }
        for round in 0..<3 {
            let before = publisher.statistics.encoders[0].encoding
            let (first, second) = (ReceiverSink(), ReceiverSink())
            #expect(server.add(first, "a"))
            try first.wait(for: 5)
            #expect(server.add(second, "b"))
            try second.wait(for: 5)
            #expect(first.packets[0].isKeyFrame && second.packets[0].isKeyFrame, "\(round)")
            #expect(publisher.statistics.encoders.count == 1, "of both, and of each round")
            server.remove("a")
            try first.waitForEnd()
            let alone = second.packets.count
            try second.wait(for: alone + 3)
            server.remove("b")
            try second.waitForEnd()
            let after = publisher.statistics.encoders[0].encoding
            #expect(after.framesIn >= before.framesIn + 8)
            try server.frames.waitForMore(20)
            #expect(publisher.statistics.encoders[0].encoding.framesIn <= after.framesIn + 1, "idle")
        }
    }

    @Test func aSlowReceiverGetsLessOfACameraAndAllOfAScreen() throws {
        for hint in [VideoContentHint.motion, .detail] {
            let capture = NoiseCapturer(format: .i420(width: 64, height: 48), frameRate: 60)
            capture.videoContentHint = hint
            var settings = MediaPublisher.Settings(encoders: [.vp8])
            settings.encoding.bitrate = 400_000
            let publisher = MediaPublisher(video: capture, settings: settings)
            let server = Server()
            try publisher.add(server)
            try publisher.start()
            defer { publisher.close() }
            #expect(publisher.statistics.encoders[0].targetBitrate == 400_000)
            let (fast, slow) = (ReceiverSink(bitrate: 400_000), ReceiverSink(bitrate: 165_000))
            #expect(server.add(fast, "fast") && server.add(slow, "slow"))
            try fast.wait(for: 60)
            try slow.wait(for: 20)
            let layers = Set(fast.packets.map(\.temporalLayer))
            #expect(layers == (hint == .motion ? [0, 1, 2] : [0]), "\(hint)")
            // Layers change at a frame of the base layer, of which one in four is.
            #expect(slow.packets.dropFirst(8).allSatisfy { $0.temporalLayer == 0 })
        }
    }

    @Test func settingsOfThePublisherCountUpToTheMaximum() throws {
        for (asked, maximum, expected) in [(300_000, nil, 300_000), (900_000, 500_000, 500_000)] as [(Int, Int?, Int)] {
            let publisher = noisePublisher(rate: 30) { $0.encoding.bitrate = asked }
            let server = Server(maximumBitrate: maximum)
            try publisher.add(server)
            try publisher.open()
            defer { publisher.close() }
            #expect(publisher.statistics.encoders[0].targetBitrate == expected)
            #expect(server.packets.opened?.encoder?.bitrate == expected)
            #expect(publisher.statistics.outputs.map(\.name) == ["server", "packets"])
            #expect(publisher.statistics.outputs[1].encoder == 0)
        }
    }

    private final class BrokenEncoder: VideoEncoder {
        var track: TrackDescription? { nil }
        func encode(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) throws {
            throw CodecError(.library, operation: "encode", message: "Broken.")
        }
        func requestKeyFrame() {}
        func setBitrate(_ bitrate: Int) throws {}
    }

    @Test func anEncoderThatFailsEndsItsReceiversAlone() throws {
        let publisher = noisePublisher(rate: 30) { settings in
            settings.encoders = [EncoderEntry(name: "broken", codec: .vp8, summary: "") { _ in BrokenEncoder() }]
        }
        let log = RunLog(publisher)
        let server = Server()
        try publisher.add(server)
        try publisher.start()
        defer { publisher.close() }
        let receiver = ReceiverSink()
        _ = server.add(receiver, "a")
        try receiver.waitForEnd()
        try log.waitForFailures(1)
        #expect(log.failures.map(\.outputs) == [[1]])
        #expect(publisher.statistics.outputs.map(\.hasFailed) == [false, true])
        #expect(publisher.isActive && !server.add(ReceiverSink(), "b"))
    }

    @Test func aServerThatIsRemovedTakesItsReceiversAlong() throws {
        let publisher = noisePublisher(rate: 30)
        try publisher.start()
        defer { publisher.close() }
        let server = Server()
        let id = try publisher.add(server)
        let receiver = ReceiverSink()
        #expect(server.add(receiver, "a"))
        try receiver.wait(for: 1)
        publisher.remove(id)
        try receiver.waitForEnd()
        #expect(!server.add(ReceiverSink(), "b"))
    }
}
