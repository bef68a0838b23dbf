import Glibc
import Testing
import VP8Codec
import VideoCapturing

@Suite struct EncodingConsumerTests {
    /// Keeps packets; may fail at one of them.
    private final class Sink: PacketSink {
        struct Failed: Error {}
        private let state = Locked((tracks: [TrackDescription](), packets: [MediaPacket](), finishes: 0))
        private let failsAt: Int?

        init(failsAt: Int? = nil) { self.failsAt = failsAt }

        func begin(_ tracks: [TrackDescription]) { state.withLock { $0.tracks += tracks } }

        func write(_ packet: MediaPacket) throws {
            try state.withLock { state in
                if state.packets.count == failsAt { throw Failed() }
                state.packets.append(packet)
            }
        }
        func finish() { state.withLock { $0.finishes += 1 } }
        var tracks: [TrackDescription] { state.withLock { $0.tracks } }
        var packets: [MediaPacket] { state.withLock { $0.packets } }
        var finishes: Int { state.withLock { $0.finishes } }
    }

    private func frames(_ range: Range<Int>) throws -> [VideoFrame] {
        try range.map { try movingFrame(width: 32, height: 32, step: $0) }
    }

    @Test func eachSinkGetsEachPacket() throws {
        let sinks = [Sink(), Sink()]
        let encoding = EncodingConsumer(
            try VP8Encoder(VP8Encoder.Configuration(bitrate: 300_000)), to: [("a", sinks[0]), ("b", sinks[1])])
        for frame in try frames(0..<10) { encoding.consumeFrame(frame) }
        encoding.finish()
        encoding.finish()
        for sink in sinks {
            #expect(sink.packets.map(\.sequenceNumber) == Array(0..<10))
            #expect(sink.finishes == 1)
            #expect(sink.tracks.map(\.codec) == [.vp8])
        }
        let statistics = encoding.statistics
        #expect(statistics.framesIn == 10)
        #expect(statistics.packets == 10)
        #expect(statistics.keyFrames == 1)
        #expect(statistics.bytes == UInt64(sinks[0].packets.reduce(0) { $0 + $1.data.count }))
        #expect(statistics.p50EncodeTime != nil)
        encoding.consumeFrame(try movingFrame(width: 32, height: 32, step: 11))
        #expect(sinks[0].packets.count == 10)
    }

    /// The last picture is encoded again where its packet would end too early, and not otherwise.
    @Test func theLastPictureIsShownUpToTheEnd() throws {
        for (delay, count) in [(20, 3), (60, 3), (500, 4)] {
            let sink = Sink()
            let encoding = EncodingConsumer(
                try VP8Encoder(VP8Encoder.Configuration(bitrate: 300_000)), to: [("a", sink)])
            let frames = try frames(0..<3)
            for frame in frames { encoding.consumeFrame(frame) }
            let end = frames[2].timestamp.advanced(by: .milliseconds(delay))
            encoding.finish(at: end)
            #expect(sink.packets.count == count)
            let last = try #require(sink.packets.last)
            if count == 4 { #expect(last.timestamp.advanced(by: last.duration) == end) }
            #expect(encoding.statistics.refinements == UInt64(count - 3))
        }
    }

    @Test func anEvenSourceOfALowRateGetsNoFurtherPicture() throws {
        let sink = Sink()
        let encoding = EncodingConsumer(try VP8Encoder(VP8Encoder.Configuration(bitrate: 300_000)), to: [("a", sink)])
        let frames = try (0..<6).map { try movingFrame(width: 32, height: 32, step: $0, rate: 10) }
        for frame in frames { encoding.consumeFrame(frame) }
        encoding.finish(at: frames[5].timestamp.advanced(by: .milliseconds(100)))
        #expect(sink.packets.count == 6)
    }

    /// A sink that may ask for something back, and fails at one packet.
    private final class AskingSink: FeedbackSink {
        struct Failed: Error {}
        private let state = Locked((feedback: PacketFeedback?.none, connections: 0, keyFrames: [Bool]()))
        private let failsAt: Int?

        init(failsAt: Int? = nil) { self.failsAt = failsAt }

        func connectFeedback(_ feedback: PacketFeedback?) {
            state.withLock { state in
                state.feedback = feedback
                state.connections += feedback == nil ? -1 : 1
            }
        }
        func begin(_ tracks: [TrackDescription]) {}
        func write(_ packet: MediaPacket) throws {
            try state.withLock { state in
                if state.keyFrames.count == failsAt { throw Failed() }
                state.keyFrames.append(packet.isKeyFrame)
            }
        }
        func finish() {}
        var feedback: PacketFeedback? { state.withLock { $0.feedback } }
        var connections: Int { state.withLock { $0.connections } }
        var keyFrames: [Bool] { state.withLock { $0.keyFrames } }
    }

    @Test func aSinkAsksForAKeyFrame() throws {
        let (sink, failing) = (AskingSink(), AskingSink(failsAt: 2))
        let encoding = EncodingConsumer(
            try VP8Encoder(VP8Encoder.Configuration(bitrate: 300_000)), to: [("asking", sink)])
        encoding.add(failing, name: "failing")
        #expect(sink.connections == 1 && failing.connections == 1)
        for frame in try frames(0..<4) { encoding.consumeFrame(frame) }
        #expect(failing.connections == 0)
        sink.feedback?.requestKeyFrame()
        sink.feedback?.requestBitrate(200_000)
        for frame in try frames(4..<7) { encoding.consumeFrame(frame) }
        #expect(sink.keyFrames == [true, false, false, false, true, false, false])
        encoding.finish()
        #expect(sink.connections == 0)
        let late = AskingSink()
        encoding.add(late, name: "late")
        #expect(late.connections == 0)
    }

    /// An encoder that records what it is asked for.
    private final class RecordingEncoder: VideoEncoder {
        let log: Locked<[Int]>
        @exclusivity(unchecked) private(set) var bitrate: Int?
        var track: TrackDescription? { nil }

        init(_ bitrate: Int?, _ log: Locked<[Int]>) {
            self.bitrate = bitrate
            self.log = log
        }

        func encode(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) {}
        func requestKeyFrame() {}
        func setBitrate(_ bitrate: Int) throws {
            guard bitrate >= 1000 else { throw AskingSink.Failed() }
            self.bitrate = bitrate
            log.withLock { $0.append(bitrate) }
        }
    }

    /// The highest of what the sinks can take counts, never more than was configured, and everything with a sink that asks
    /// for nothing.
    @Test func theFastestSinkDeterminesTheBitrate() throws {
        let log = Locked<[Int]>([])
        let (fast, slow) = (AskingSink(), AskingSink())
        let encoding = EncodingConsumer(
            RecordingEncoder(800_000, log), to: [("fast", fast), ("slow", slow)],
            onFailure: { Issue.record("\($0.error)") })
        let frame = try movingFrame(width: 64, height: 64, step: 0)
        func bitrates(_ change: () -> Void) -> [Int] {
            log.withLock { $0 = [] }
            change()
            for _ in 0..<3 { encoding.consumeFrame(frame) }
            return log.withLock { $0 }
        }
        #expect(slow.feedback?.maximumBitrate == 800_000)
        #expect(bitrates { slow.feedback?.requestBitrate(100_000) } == [])
        #expect(bitrates { fast.feedback?.requestBitrate(500_000) } == [500_000])
        #expect(bitrates { slow.feedback?.requestBitrate(200_000) } == [])
        #expect(bitrates { fast.feedback?.requestBitrate(nil) } == [800_000])
        #expect(bitrates { fast.feedback?.requestBitrate(900_000) } == [])
        // Once the fast one is gone, the slow one's limit is left; a file has none.
        #expect(bitrates { encoding.remove("fast") } == [200_000])
        #expect(bitrates { encoding.add(Sink(), name: "file") } == [800_000])
        #expect(bitrates { encoding.remove("file") } == [200_000])
        // What is configured is the limit of all, and what sinks are told.
        #expect(bitrates { encoding.setBitrate(150_000) } == [150_000])
        #expect(slow.feedback?.maximumBitrate == 150_000)
        #expect(bitrates { encoding.setBitrate(400_000) } == [200_000])
        // Lower than the encoder can go is no failure, as it is of the program.
        #expect(bitrates { slow.feedback?.requestBitrate(10) } == [])
        #expect(bitrates { slow.feedback?.requestBitrate(nil) } == [400_000])
        encoding.finish()
    }

    @Test func aSinkThatFailsHarmsNoOther() throws {
        let good = Sink()
        let bad = Sink(failsAt: 3)
        let failures = Locked<[String?]>([])
        let encoding = EncodingConsumer(
            try VP8Encoder(VP8Encoder.Configuration(bitrate: 300_000)), to: [("bad", bad), ("good", good)],
            onFailure: { failure in failures.withLock { $0.append(failure.sink) } })
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
            try VP8Encoder(VP8Encoder.Configuration(bitrate: 300_000)), to: [("file", sink)],
            onFailure: { failure in failures.withLock { $0.append(failure.sink) } })
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
            try VP8Encoder(VP8Encoder.Configuration(bitrate: 300_000)), to: [("a", sink)])
        for frame in try frames(0..<3) { encoding.consumeFrame(frame) }
        encoding.requestKeyFrame()
        for frame in try frames(3..<5) { encoding.consumeFrame(frame) }
        #expect(sink.packets.map(\.isKeyFrame) == [true, false, false, true, false])
    }

    /// Runs `body` on a thread of its own; false when it has not ended within ten seconds.
    private func ends(_ body: @escaping @Sendable () -> Void) throws -> Bool {
        let hasEnded = Locked(false)
        try CaptureThread(name: "encoding test") {
            body()
            hasEnded.withLock { $0 = true }
            hasEnded.wakeAll()
        }
        let limit = MonotonicClock().now.advanced(by: .seconds(60))
        return hasEnded.wait(until: limit) { $0 ? () : nil } != nil
    }

    /// A sink that calls its own encoding consumer while it is given a packet.
    private final class CallingSink: PacketSink {
        let encoding = Locked<EncodingConsumer?>(nil)
        let packets = Locked(0)
        let finishes = Locked(0)
        let call: @Sendable (EncodingConsumer) -> Void

        init(_ call: @escaping @Sendable (EncodingConsumer) -> Void) { self.call = call }

        func begin(_ tracks: [TrackDescription]) {}
        func write(_ packet: MediaPacket) {
            packets.withLock { $0 += 1 }
            if let encoding = encoding.withLock({ $0 }) { call(encoding) }
        }
        func finish() { finishes.withLock { $0 += 1 } }
    }

    @Test func aSinkMayCallItsEncoder() throws {
        let other = Sink()
        let sink = CallingSink { encoding in
            _ = encoding.isActive
            _ = encoding.statistics
            encoding.requestKeyFrame()
            encoding.finish()
        }
        let encoding = EncodingConsumer(
            try VP8Encoder(VP8Encoder.Configuration(bitrate: 300_000)), to: [("calling", sink), ("other", other)])
        sink.encoding.withLock { $0 = encoding }
        let frames = try frames(0..<3)
        #expect(try ends { for frame in frames { encoding.consumeFrame(frame) } })
        // The packet that was being handed out still reaches everyone; then all are finished.
        #expect(other.packets.count == 1 && other.finishes == 1)
        #expect(sink.packets.withLock { $0 } == 1 && sink.finishes.withLock { $0 } == 1)
        #expect(!encoding.isActive)
        sink.encoding.withLock { $0 = nil }
    }

    @Test func theFailureHandlerMayCallTheEncoder() throws {
        let encoding = Locked<EncodingConsumer?>(nil)
        let good = Sink()
        let made = EncodingConsumer(
            try VP8Encoder(VP8Encoder.Configuration(bitrate: 300_000)),
            to: [("bad", Sink(failsAt: 1)), ("good", good)],
            onFailure: { _ in
                guard let encoding = encoding.withLock({ $0 }) else { return }
                if encoding.isActive { encoding.finish() }
            })
        encoding.withLock { $0 = made }
        defer { encoding.withLock { $0 = nil } }
        let frames = try frames(0..<5)
        #expect(try ends { for frame in frames { made.consumeFrame(frame) } })
        #expect(good.packets.count == 2 && good.finishes == 1)
    }

    @Test func aLateSinkBeginsWithAKeyFrame() throws {
        let early = Sink()
        let late = Sink()
        let encoding = EncodingConsumer(
            try VP8Encoder(VP8Encoder.Configuration(bitrate: 300_000)), to: [("early", early)], track: 3)
        let refreshes = Locked(0)
        encoding.connectFeedback(
            CaptureFeedback(onWants: { _ in }, onRefresh: { refreshes.withLock { $0 += 1 } }))
        for frame in try frames(0..<4) { encoding.consumeFrame(frame) }
        encoding.add(late, name: "late")
        // A source that delivers changes only is asked for a frame.
        #expect(refreshes.withLock { $0 } == 1)
        for frame in try frames(4..<8) { encoding.consumeFrame(frame) }
        #expect(late.packets.map(\.isKeyFrame) == [true, false, false, false])
        #expect(early.packets.count == 8)
        #expect(late.tracks.map(\.id) == [3] && late.packets.allSatisfy { $0.track == 3 })
        encoding.remove("early")
        #expect(early.finishes == 1)
        for frame in try frames(8..<10) { encoding.consumeFrame(frame) }
        #expect(early.packets.count == 8 && late.packets.count == 6)
        encoding.remove("late")
        #expect(late.finishes == 1 && !encoding.isActive)
        // Without a sink nothing is encoded; one that comes then begins with a key frame too.
        encoding.consumeFrame(try movingFrame(width: 32, height: 32, step: 10))
        #expect(encoding.statistics.framesIn == 10)
        let last = Sink()
        encoding.add(last, name: "last")
        for frame in try frames(11..<13) { encoding.consumeFrame(frame) }
        #expect(last.packets.map(\.isKeyFrame) == [true, false])
    }

    @Test func sinksComeAndGoWhileFramesAreEncoded() throws {
        let encoding = EncodingConsumer(try VP8Encoder(VP8Encoder.Configuration(bitrate: 300_000)))
        let frames = try frames(0..<60)
        let isOver = Locked(false)
        try CaptureThread(name: "frames") {
            while !isOver.withLock({ $0 }) { for frame in frames { encoding.consumeFrame(frame) } }
        }
        for round in 0..<100 {
            let sink = Sink()
            encoding.add(sink, name: "\(round)")
            if round % 3 == 0 {
                while sink.packets.isEmpty { usleep(100) }
            }
            encoding.remove("\(round)")
            let count = sink.packets.count
            #expect(sink.finishes == 1)
            #expect(sink.packets.first?.isKeyFrame ?? true)
            if round % 10 == 0 { usleep(1000) }
            #expect(sink.packets.count == count)
        }
        isOver.withLock { $0 = true }
        encoding.finish()
    }

    @Test func theBitrateIsSetWhileItRuns() throws {
        let sink = Sink()
        let failures = Locked(0)
        let encoding = EncodingConsumer(
            try VP8Encoder(VP8Encoder.Configuration(bitrate: 4_000_000)), to: [("a", sink)],
            onFailure: { _ in failures.withLock { $0 += 1 } })
        func bytes() throws -> Int {
            let before = sink.packets.count
            for step in 0..<30 {
                var frame = try movingFrame(width: 64, height: 64, step: sink.packets.count + step)
                frame.timestamp = MediaTime(nanoseconds: Int64(sink.packets.count + 1) * 33_333_333)
                encoding.consumeFrame(frame)
            }
            return sink.packets[before...].reduce(0) { $0 + $1.data.count }
        }
        let high = try bytes()
        encoding.setBitrate(20_000)
        _ = try bytes()
        #expect(try bytes() < high / 2)
        encoding.setBitrate(-1)
        encoding.consumeFrame(try movingFrame(width: 64, height: 64, step: 0))
        #expect(failures.withLock { $0 } == 1 && encoding.isActive)
    }
}
