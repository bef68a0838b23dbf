import Testing
import VP8Codec
import VideoCapturing

@testable import MediaPublishing

/// Rate and size of frames by the bitrate of a link, in the frames' own time.
@Suite struct BandwidthAdaptationTests {
    private static let full = 640 * 360

    private static func time(_ frame: Int) -> MediaTime {
        MediaTime(nanoseconds: 1_000_000_000).advanced(by: FrameRate(30, per: 1)!.time(ofFrame: Int64(frame)))
    }

    /// A publisher's live output from its queue to its sink, for a link whose bitrate a test sets. What the publisher does with
    /// the wants, a gate does here.
    private final class Run {
        let link = Link()
        private let converting: ConvertingConsumer
        private let encoding: EncodingConsumer
        private let wants = Locked(CaptureWants())
        private let changes = Locked(0)
        private var gate = FrameRateGate()
        private let pictures: [PixelBuffer]

        init() throws {
            let request = EncoderEntry.Request(
                format: .i420(width: 640, height: 360), frameRate: 30, purpose: .live,
                settings: EncodingSettings(bitrate: 2_000_000))
            let encoder = try AdaptiveEncoder(.vp8, request)
            encoding = EncodingConsumer(encoder, to: [("link", link)])
            converting = ConvertingConsumer(
                FrameConverter(FrameConverter.Key(.i420, MediaPublisher.FrameSettings()), reach: 4), to: encoding,
                keepsSize: false, onFailure: { error in Issue.record(error) })
            var random = SystemRandomNumberGenerator()
            pictures = try (0..<4).map { _ in
                try PixelBuffer.make(.i420, width: 640, height: 360) { pixels in
                    pixels.fill(plane: 0) { _, _ in UInt8.random(in: 118...138, using: &random) }
                    for plane in 1...2 { pixels.fill(plane: plane) { _, _ in 128 } }
                }
            }
            converting.connectFeedback(
                CaptureFeedback(
                    onWants: { [wants, changes] new in
                        changes.withLock { $0 += 1 }
                        wants.withLock { $0 = new }
                    }, onRefresh: {}))
        }

        /// The frames of a span of seconds, at a bitrate that changes with each fifth of them.
        func run(_ seconds: Range<Int>, bitrate: (Int) -> Int) {
            for frame in seconds.lowerBound * 30..<seconds.upperBound * 30 {
                if frame % 6 == 0 {
                    let rate = bitrate(frame)
                    link.feedback?.requestBitrate(rate < 2_000_000 ? rate : nil)
                }
                let given = VideoFrame(
                    buffer: pictures[frame % 4], timestamp: BandwidthAdaptationTests.time(frame),
                    sequenceNumber: UInt64(frame), estimatedFrameRate: 30)
                gate.limit = wants.withLock { $0.maximumFrameRate }
                if gate.admits(given) { converting.consumeFrame(given) }
            }
        }

        /// How often something else was wanted.
        func takeChanges() -> Int {
            changes.withLock { changes in
                defer { changes = 0 }
                return changes
            }
        }
    }

    /// The sink that asks for a bitrate.
    private final class Link: FeedbackSink {
        private let state = Locked((feedback: PacketFeedback?.none, packets: [MediaPacket]()))

        var feedback: PacketFeedback? { state.withLock { $0.feedback } }
        var packets: [MediaPacket] { state.withLock { $0.packets } }

        func connectFeedback(_ feedback: PacketFeedback?) { state.withLock { $0.feedback = feedback } }
        func begin(_ tracks: [TrackDescription]) {}
        func write(_ packet: MediaPacket) { state.withLock { $0.packets.append(packet) } }
        func finish() {}
    }

    @Test func `A narrow link gets fewer and smaller frames, and a wide one all of them again`() throws {
        let run = try Run()
        run.run(0..<5) { _ in 2_000_000 }
        _ = run.takeChanges()
        // A fifth more or less, as estimates tremble.
        run.run(5..<40) { frame in 150_000 * (80 + frame / 6 % 5 * 10) / 100 }
        #expect((1...2).contains(run.takeChanges()), "it does not swing")
        run.run(40..<70) { frame in min(2_000_000, 150_000 << min(8, (frame / 30 - 40) / 3)) }
        #expect((1...4).contains(run.takeChanges()))

        func packets(_ seconds: Range<Int>) -> [MediaPacket] {
            run.link.packets.filter {
                $0.timestamp >= BandwidthAdaptationTests.time(seconds.lowerBound * 30)
                    && $0.timestamp < BandwidthAdaptationTests.time(seconds.upperBound * 30)
            }
        }
        #expect(packets(0..<5).count >= 120 && packets(0..<5).allSatisfy { $0.width == 640 })
        let narrow = packets(10..<40)
        #expect(narrow.allSatisfy { $0.width < 640 && $0.width * 360 == $0.height * 640 })
        #expect(Set(narrow.map(\.width)).count == 1)
        // Half of the frames; some are left out where the bitrate falls.
        #expect((300...460).contains(narrow.count), "\(narrow.count)")
        let bitrate = narrow.reduce(0) { $0 + $1.data.count } * 8 / 30
        #expect((80_000...180_000).contains(bitrate), "\(bitrate)")
        #expect(packets(65..<70).count >= 120 && packets(65..<70).allSatisfy { $0.width == 640 })

        // A change of size is a key frame, and no other comes, since none was asked for.
        let all = run.link.packets
        let changes = all.indices.filter { $0 == 0 || all[$0].width != all[$0 - 1].width }
        #expect(all.indices.filter { all[$0].isKeyFrame } == changes)
        #expect(changes.count >= 3)
        let decoder = try VP8Decoder()
        for packet in all {
            try packet.data.withUnsafeBytes { bytes in
                try decoder.decode(bytes) { #expect($0.width == packet.width && $0.height == packet.height) }
            }
        }
    }

    /// The rungs that a bitrate leads to, one for each second.
    private static func rungs(
        _ adaptation: inout BandwidthAdaptation, seconds: Range<Int>, used: Double = 1, bitrate: (Int) -> Int
    ) -> [Int] {
        seconds.map { second in
            for frame in second * 30..<(second + 1) * 30 {
                let bitrate = bitrate(second)
                adaptation.update(
                    bitrate: bitrate, bytes: Int(Double(bitrate) * used / 240), pixelCount: full, at: time(frame))
            }
            return adaptation.index
        }
    }

    private static func adaptation(
        maximum: Int = 2_000_000, _ hint: VideoContentHint = .none
    ) -> BandwidthAdaptation {
        BandwidthAdaptation(maximumBitrate: maximum, frameRate: 30, contentHint: hint)
    }

    @Test func `A bitrate at the edge makes nothing swing`() {
        var adaptation = BandwidthAdaptationTests.adaptation()
        // Enough for ten seconds, too little for ten, for ten minutes.
        let rungs = BandwidthAdaptationTests.rungs(&adaptation, seconds: 0..<600) { second in
            second / 10 % 2 == 0 ? 400_000 : 220_000
        }
        let changes = zip(rungs, rungs.dropFirst()).count { $0 != $1 }
        #expect((3...8).contains(changes), "\(changes)")
        var second = BandwidthAdaptationTests.adaptation()
        let trembling = BandwidthAdaptationTests.rungs(&second, seconds: 0..<600) { $0 % 2 == 0 ? 270_000 : 240_000 }
        #expect(trembling.allSatisfy { $0 == 0 })
    }

    @Test func `What is lowered, and in which order`() {
        var adaptation = BandwidthAdaptationTests.adaptation()
        var wants: [CaptureWants] = []
        for step in 0..<40 {
            let bitrate = 300_000 - step * 8_000
            _ = BandwidthAdaptationTests.rungs(&adaptation, seconds: step * 3..<step * 3 + 3) { _ in max(1000, bitrate)
            }
            let now = adaptation.wants(pixelCount: BandwidthAdaptationTests.full)
            if wants.last != now { wants.append(now) }
        }
        #expect(wants.map(\.maximumFrameRate) == [nil, 20, 15, 15, 15, 10, 10, 10])
        let sizes = wants.map { $0.adaptedSize(width: 640, height: 360) }
        #expect(sizes.map(\.width) == [640, 640, 640, 480, 320, 320, 240, 160])
        #expect(sizes.map(\.height) == [360, 360, 360, 270, 180, 180, 134, 90])
        // Text stays as it is.
        var screen = BandwidthAdaptationTests.adaptation(.text)
        _ = BandwidthAdaptationTests.rungs(&screen, seconds: 0..<10) { _ in 50_000 }
        #expect(screen.wants(pixelCount: BandwidthAdaptationTests.full) == CaptureWants(maximumFrameRate: 10))
    }

    /// A receiver that estimates half more than it gets would otherwise never see the full size again.
    @Test func `Pictures that need little stay as they are, and come back`() {
        var easy = BandwidthAdaptationTests.adaptation()
        let calm = BandwidthAdaptationTests.rungs(&easy, seconds: 0..<20, used: 0.5) { _ in 60_000 }
        #expect(calm.allSatisfy { $0 == 0 })
        var adaptation = BandwidthAdaptationTests.adaptation()
        let low = BandwidthAdaptationTests.rungs(&adaptation, seconds: 0..<10) { _ in 60_000 }
        #expect(low.last ?? 0 > 3)
        let back = BandwidthAdaptationTests.rungs(&adaptation, seconds: 10..<60, used: 0.1) { _ in 60_000 }
        #expect(back.last == 0)
    }

    @Test func `A bitrate that was configured so is enough`() {
        var adaptation = BandwidthAdaptationTests.adaptation(maximum: 100_000)
        let rungs = BandwidthAdaptationTests.rungs(&adaptation, seconds: 0..<20) { _ in 100_000 }
        #expect(rungs.allSatisfy { $0 == 0 })
    }
}
