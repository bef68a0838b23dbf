import PacketCapturing
import Synchronization
import TestTools
import Testing
import VP8Codec
import VideoCapturing

@testable import MediaPublishing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Outputs of frames next to those that packets are passed on to: one decoder, while it is needed.
@Suite struct DecodeOnceTests {
    private static let groupLength = 5

    /// VP8, a key frame in five pictures, 5 ms apart.
    private struct Pictures: PacketSource {
        let settings = PacketSettings(
            tracks: [TrackDescription(id: 0, codec: .vp8, media: .video(.init(width: 32, height: 16)))])
        let pacing = PacketPacing.clock
        private let packets: [MediaPacket]
        private let count: Int
        private var number = 0

        init(count: Int = .max) throws {
            self.count = count
            let encoder = try VP8Encoder(VP8Encoder.Configuration(bitrate: 100_000))
            let pool = PixelBufferPool()
            var packets: [MediaPacket] = []
            for number in 0..<DecodeOnceTests.groupLength {
                let buffer = try pool.makeBuffer(.i420, width: 32, height: 16) { picture in
                    for plane in 0..<3 { picture.fill(plane: plane, with: UInt8(50 * plane + 20 * number)) }
                }
                let frame = VideoFrame(
                    buffer: buffer, timestamp: .zero + .milliseconds(33 * number), sequenceNumber: UInt64(number))
                try encoder.encode(frame) { packets.append($0) }
            }
            self.packets = packets
        }

        mutating func nextPacket(_ context: PacketContext) -> MediaPacket? { number < count ? packet() : nil }

        mutating func packet() -> MediaPacket {
            defer { number += 1 }
            var packet = packets[number % packets.count]
            packet.timestamp = .zero + .milliseconds(5 * number)
            packet.decodeTimestamp = nil
            packet.duration = .milliseconds(5)
            return packet
        }
    }

    /// Decoders of VP8 that are counted: those that were made, and those that exist; and the packets that they have decoded.
    private final class Decoders: Sendable {
        let counts = Locked((made: 0, alive: 0))
        private let packets = Atomic(0)
        var decoded: Int { packets.load(ordering: .relaxed) }
        let delay: Int

        /// - Parameter delay: how many pictures each holds back, as decoders of codecs do that reorder them.
        init(delay: Int = 0) { self.delay = delay }

        private final class Counted: VideoDecoder {
            private let decoder: VP8Decoder
            private let owner: Decoders
            private var held: [(PixelBuffer, Duration)] = []

            init(_ owner: Decoders) throws {
                decoder = try VP8Decoder()
                self.owner = owner
                owner.counts.withLock { $0 = ($0.made + 1, $0.alive + 1) }
            }
            deinit {
                owner.counts.withLock { $0.alive -= 1 }
                owner.counts.wakeAll()
            }
            func decode(_ packet: UnsafeRawBufferPointer, output: (PixelBuffer) throws -> Void) throws {
                try decoder.decode(packet, output: output)
            }
            func decode(
                _ packet: UnsafeRawBufferPointer, time: Duration, output: (PixelBuffer, Duration) throws -> Void
            ) throws {
                owner.packets.add(1, ordering: .relaxed)
                try decoder.decode(packet) { held.append(($0, time)) }
                while held.count > owner.delay {
                    let (picture, time) = held.removeFirst()
                    try output(picture, time)
                }
            }
            func flush(output: (PixelBuffer, Duration) throws -> Void) throws {
                defer { held = [] }
                for (picture, time) in held { try output(picture, time) }
            }
        }

        var factory: VideoDecoderFactory {
            VideoDecoderFactory(fourCC: "VP80") { try Counted(self) }
        }
    }

    private final class Frames: VideoCaptureConsumer {
        let frames = Locked<[VideoFrame]>([])
        let isSlow: Bool
        init(isSlow: Bool = false) { self.isSlow = isSlow }
        func consumeFrame(_ frame: VideoFrame) {
            if isSlow { usleep(20_000) }
            frames.withLock { $0.append(frame) }
            frames.wakeAll()
        }
        func wait(for count: Int) throws {
            try #require(frames.wait(until: RunLog.limit) { $0.count >= count ? () : nil } != nil)
        }
    }

    private func publisher(
        _ source: sending Pictures, _ decoders: Decoders, maximumFrames: UInt64? = nil
    ) -> MediaPublisher {
        var settings = MediaPublisher.Settings(encoders: [.vp8])
        settings.maximumFrames = maximumFrames
        settings.pacing = .playback(isPaced: true)
        return MediaPublisher(
            packets: PacketSourceCapturer(source), decoders: [decoders.factory], settings: settings)
    }

    @Test func oneDecoderForAllThatNeedFrames() throws {
        let decoders = Decoders()
        let publisher = publisher(try Pictures(count: 40), decoders)
        let (passed, encoded, frames) = (ProbeSink(), ProbeSink(), Frames())
        try publisher.add(ProbeOutput(passed, .init(codecs: [.vp8])))
        try publisher.add(ProbeOutput(frames, .init(queue: .init(capacity: 64, policy: .block))))
        try publisher.add(ProbeOutput(encoded, .init(codecs: [.vp8])), encoding: EncodingSettings(bitrate: 50_000))
        let log = RunLog(publisher)
        try publisher.start()
        #expect(try log.waitForEnd() == .captureStopped(.endOfStream))
        try publisher.stop()
        #expect(passed.packets.count == 40)
        #expect(frames.frames.withLock { $0.map(\.timestamp) } == passed.packets.map(\.timestamp))
        #expect(frames.frames.withLock { $0.map(\.sequenceNumber) } == Array(0..<40))
        #expect(!encoded.packets.isEmpty)
        #expect(decoders.counts.withLock { $0.made } == 1)
        let statistics = publisher.statistics
        #expect(statistics.framesPublished == 40)
        #expect(statistics.outputs.map(\.passedOn?.packets) == [40, nil, nil])
        #expect(statistics.outputs.map(\.encoder) == [nil, nil, 0])
        #expect(log.warnings == [])
        publisher.close()
    }

    /// The last pictures come too, at the end of the stream, at a limit and at a stop.
    @Test(arguments: [(40, nil), (Int.max, UInt64(12)), (.max, nil)])
    func whatADecoderHoldsBackIsShown(count: Int, limit: UInt64?) throws {
        let publisher = publisher(try Pictures(count: count), Decoders(delay: 3), maximumFrames: limit)
        let (passed, frames) = (ProbeSink(), Frames())
        try publisher.add(ProbeOutput(passed, .init(codecs: [.vp8])))
        try publisher.add(ProbeOutput(frames, .init(queue: .init(capacity: 64, policy: .block))))
        let log = RunLog(publisher)
        try publisher.start()
        if count == .max, limit == nil { try frames.wait(for: 10) } else { _ = try log.waitForEnd() }
        try publisher.stop()
        #expect(passed.packets.count >= 12)
        #expect(frames.frames.withLock { $0.map(\.timestamp) } == passed.packets.map(\.timestamp))
        publisher.close()
    }

    /// A queue that is full when the stream ends once lost those for which it had no room.
    @Test(arguments: [(40, nil), (Int.max, UInt64(12))])
    func aSlowFileGetsTheLastPicturesToo(count: Int, limit: UInt64?) throws {
        let publisher = publisher(try Pictures(count: count), Decoders(delay: 6), maximumFrames: limit)
        let (passed, frames) = (ProbeSink(), Frames(isSlow: true))
        try publisher.add(ProbeOutput(passed, .init(codecs: [.vp8])))
        try publisher.add(ProbeOutput(frames, .init(queue: .init(capacity: 2, policy: .block))))
        let log = RunLog(publisher)
        try publisher.start()
        _ = try log.waitForEnd()
        try publisher.stop()
        #expect(passed.packets.count >= 12)
        #expect(frames.frames.withLock { $0.map(\.timestamp) } == passed.packets.map(\.timestamp))
        publisher.close()
    }

    @Test func theDecoderExistsWhileItIsNeeded() throws {
        let decoders = Decoders()
        let publisher = publisher(try Pictures(), decoders)
        let (passed, frames) = (ProbeSink(), Frames())
        try publisher.add(ProbeOutput(passed, .init(codecs: [.vp8])))
        try publisher.start()
        try passed.waitForPackets(10)
        #expect(decoders.counts.withLock { $0.made } == 0)
        let output = try publisher.add(ProbeOutput(frames))
        try frames.wait(for: 10)
        #expect(decoders.counts.withLock { $0 } == (1, 1))
        publisher.remove(output)
        #expect(decoders.counts.wait(until: RunLog.limit) { $0.alive == 0 ? () : nil } != nil)
        // A consumer of the program itself counts, too.
        let more = Frames()
        let subscription = try publisher.video.add(more, name: "own")
        try more.wait(for: 10)
        #expect(decoders.counts.withLock { $0 } == (2, 1))
        publisher.video.remove(subscription)
        #expect(decoders.counts.wait(until: RunLog.limit) { $0.alive == 0 ? () : nil } != nil)
        publisher.close()
    }

    /// Where key frames come often enough for the rate that is of use, those are decoded that are due, and all pictures again once
    /// more are wanted. Whatever is wanted when, and whatever is lost, each frame shows its own packet.
    @Test(arguments: UInt64(0)..<40)
    func picturesOfNoUseAreNotDecoded(seed: UInt64) throws {
        var random = SeededRandom(state: seed)
        let delay = Int.random(in: 0...2, using: &random)
        let decoders = Decoders(delay: delay)
        let decoding = PacketDecoding([decoders.factory], orientation: .up)
        decoding.begin(Codec.vp8)
        var source = try Pictures()
        var rate: FrameRate?
        var lastFrame: MediaTime?
        // Since the rate or a loss has changed what follows.
        var (steady, isComplete) = (0, true)
        var (sparse, decodedSparse) = (0, 0)
        for number in 0..<3000 {
            if Int.random(in: 0..<200, using: &random) == 0 {
                rate = Bool.random(using: &random) ? nil : FrameRate(interval: .milliseconds(60))
                steady = 0
            }
            var packet = source.packet()
            packet.sequenceNumber = UInt64(number)
            // What follows a loss does not come either, up to a key frame.
            isComplete = (packet.isKeyFrame || isComplete) && Int.random(in: 0..<100, using: &random) > 0
            guard isComplete else {
                steady = 0
                continue
            }
            steady += 1
            let before = decoders.decoded
            _ = decoding.decode(packet, rate: rate) { frame in
                #expect(lastFrame.map { frame.timestamp > $0 } ?? true)
                lastFrame = frame.timestamp
                let shown = Int(frame.timestamp.nanoseconds / 5_000_000) % DecodeOnceTests.groupLength
                let luma = frame.buffer.withRow(0, ofPlane: 0) { Int($0[0]) }
                #expect(abs(luma - 20 * shown) < 8)
            }
            #expect(decoders.decoded - before <= 8)
            // The interval of key frames is found, and those that have waited are decoded.
            guard steady > 4 * DecodeOnceTests.groupLength, let lastFrame else { continue }
            if rate == nil {
                #expect(packet.timestamp - lastFrame <= .milliseconds(5 * delay))
            } else {
                sparse += 1
                decodedSparse += decoders.decoded - before
                #expect(packet.timestamp - lastFrame <= .milliseconds(66 * (1 + delay)))
            }
        }
        // One key frame in two, of groups of five.
        #expect(decodedSparse <= sparse / 8)
        decoding.end()
    }

    /// A live peer that cannot take the packets has an encoder, and a file is refused.
    @Test func aLivePeerGetsAnotherCodec() throws {
        let decoders = Decoders()
        let publisher = publisher(try Pictures(), decoders)
        let (passed, live) = (ProbeSink(), ProbeSink())
        try publisher.add(ProbeOutput(passed, .init(codecs: [.vp8])))
        var own = OutputContext.Feed.PacketFeed(codecs: [.vp8], purpose: .live, needsOwnEncoder: true)
        own.maximumBitrate = 100_000
        try publisher.add(ProbeOutput(live, own))
        let log = RunLog(publisher)
        try publisher.start()
        try live.waitForPackets(10)
        try passed.waitForPackets(10)
        #expect(throws: OptionError.self) { try publisher.add(ProbeOutput(ProbeSink(), .init(codecs: [.h264]))) }
        try publisher.stop()
        #expect(log.warnings.count == 1)
        #expect(log.warnings.first?.contains("probe: the pictures are decoded, and encoded again for it") == true)
        publisher.close()
    }
}
