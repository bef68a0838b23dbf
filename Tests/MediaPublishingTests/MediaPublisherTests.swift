import FileOutput
import MediaContainers
import NoiseCapturer
import TestTools
import Testing
import VP8Codec
import VideoCapturing

@testable import MediaPublishing

@Suite struct MediaPublisherTests {
    @Test func everyOutputGetsEveryFrame() throws {
        let folder = TemporaryFolder()
        let publisher = noisePublisher(frames: 5)
        let log = RunLog(publisher)
        for name in ["a.webm", "b.ivf", "c.y4m", "d.yuv"] { try publisher.add(FileOutput(folder.file(name))) }
        try publisher.add(FileOutput("", format: .null))
        try publisher.start()
        #expect(try log.waitForEnd() == .limitReached)
        try publisher.stop()
        #expect(log.failures.isEmpty)
        let statistics = publisher.statistics
        #expect(statistics.framesPublished == 5)
        #expect(statistics.encoders.map(\.name) == ["vp8"], "one for both")
        #expect(statistics.encoders[0].encoding.packets == 5)
        #expect(statistics.outputs.map(\.kind) == ["webm", "ivf", "y4m", "yuv", "null"])
        #expect(statistics.outputs.map(\.encoder) == [0, 0, nil, nil, nil])
        #expect(statistics.outputs[2...].allSatisfy { $0.consumer?.delivered == 5 })
        #expect(statistics.outputs[3].statistics.bytes == 5 * 16 * 8 * 3 / 2)
        #expect(statistics.outputs[4].statistics.bytes == 5 * 16 * 8 * 3 / 2)
        let reader = try MediaFileReader.open(path: folder.file("c.y4m"), decoders: [])
        var frames = 0
        while try reader.nextFrame() != nil { frames += 1 }
        #expect(frames == 5)
    }

    /// An encoder that says something of each frame.
    private final class NotingEncoder: VideoEncoder {
        private let encoder: VP8Encoder
        init() throws { encoder = try VP8Encoder(VP8Encoder.Configuration(bitrate: 100_000)) }
        var track: TrackDescription? { encoder.track }
        func encode(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) throws {
            try encoder.encode(frame, output: output)
        }
        func requestKeyFrame() { encoder.requestKeyFrame() }
        func setBitrate(_ bitrate: Int) throws { try encoder.setBitrate(bitrate) }
        func takeNotice() -> String? { "It is difficult." }
    }

    /// An encoder takes the place of one that does not take the size, if it works on this machine; what it has to say
    /// reaches the user.
    @Test(arguments: [16, 32]) func anEncoderForTheSizeIsChosen(width: Int) throws {
        func entry(
            _ name: String, problem: String? = nil, acceptsSize: @escaping @Sendable (PixelSize) -> Bool = { _ in true }
        ) -> EncoderEntry {
            EncoderEntry(
                name: name, codec: .vp8, summary: "", problem: { problem }, acceptsSize: acceptsSize,
                make: { _ in try NotingEncoder() })
        }
        let folder = TemporaryFolder()
        let publisher = noisePublisher(frames: 3) { settings in
            settings.encoders = [
                entry("small") { $0.width < width }, entry("broken", problem: "It has no device."), entry("large"),
            ]
        }
        let log = RunLog(publisher)
        try publisher.add(FileOutput(folder.file("a.webm")))
        try publisher.start()
        #expect(try log.waitForEnd() == .limitReached)
        try publisher.stop()
        #expect(publisher.statistics.encoders.map(\.name) == [width > 16 ? "small" : "large"])
        #expect(log.warnings == ["It is difficult.", "It is difficult.", "It is difficult."])
    }

    @Test(arguments: [1, 2, 1000] as [UInt64])
    func exactlySoManyFrames(count: UInt64) throws {
        let publisher = noisePublisher(frames: count)
        let log = RunLog(publisher)
        let consumer = Locked<UInt64>(0)
        try publisher.add(FileOutput("", format: .null))
        try publisher.start()
        #expect(try log.waitForEnd() == .limitReached)
        try publisher.stop()
        consumer.withLock { $0 = publisher.statistics.outputs[0].consumer?.delivered ?? 0 }
        #expect(consumer.withLock { $0 } == count)
        #expect(publisher.statistics.framesPublished == count)
    }

    @Test func soLongByTheFramesOwnTimes() throws {
        let publisher = noisePublisher(rate: FrameRate(200, per: 1)!) { settings in
            settings.maximumDuration = .milliseconds(100)
            settings.orientation = .left
        }
        let log = RunLog(publisher)
        let frames = FrameTimes()
        try publisher.video.add(frames, queue: .init(capacity: 100, policy: .block))
        try publisher.start()
        #expect(try log.waitForEnd() == .limitReached)
        let missed = publisher.statistics.capture.framesDropped.late
        try publisher.stop()
        let first = try #require(frames.all.first)
        #expect(frames.all.allSatisfy { $0.time - first.time < .milliseconds(100) && $0.orientation == .left })
        // A busy machine may miss frames, and says so.
        #expect(UInt64(frames.all.count) + missed >= 20)
    }

    @Test func anOutputMayBeCompleteBeforeTheEnd() throws {
        let publisher = noisePublisher(rate: FrameRate(200, per: 1)!)
        let log = RunLog(publisher)
        let context = Locked<OutputContext?>(nil)
        let output = ProbeOutput(FrameTimes()) { opened in context.withLock { $0 = opened } }
        let sink = ProbeSink()
        try publisher.add(output)
        try publisher.add(ProbeOutput(sink, .init(codecs: [.vp8])))
        try publisher.start()
        let complete = try #require(context.withLock { $0 }?.complete)
        complete()
        complete()
        #expect(log.completed == [0])
        #expect(publisher.isActive)
        let count = sink.packets.count
        try sink.waitForPackets(count + 2)
        try publisher.stop()
        #expect(log.failures.isEmpty)
        #expect(publisher.statistics.outputs.allSatisfy { !$0.hasFailed })
        #expect(output.log == ["open", "close"], "it is closed with the others")
    }

    /// Also one that was there before the first frame.
    @Test func anOutputAsksItsEncoderForKeyFrames() throws {
        let publisher = noisePublisher(rate: FrameRate(100, per: 1)!) { settings in
            settings.encoding.keyFrameInterval = .time(.seconds(3600))
        }
        let sink = AskingSink()
        try publisher.add(ProbeOutput(sink, .init(codecs: [.vp8], purpose: .live)))
        try publisher.start()
        #expect(sink.waitForKeyFrames(5))
        try publisher.stop()
    }

    @Test func anOutputWithABandwidthOfItsOwnHasItsOwnEncoder() throws {
        let publisher = noisePublisher(frames: 8)
        let log = RunLog(publisher)
        let sinks = [ProbeSink(), ProbeSink(), ProbeSink()]
        try publisher.add(ProbeOutput(sinks[0], .init(codecs: [.vp8])))
        try publisher.add(ProbeOutput(sinks[1], .init(codecs: [.vp8], needsOwnEncoder: true)))
        try publisher.add(ProbeOutput(sinks[2], .init(codecs: [.h264, .vp8])), encoding: .init(bitrate: 1_000_000))
        try publisher.start()
        _ = try log.waitForEnd()
        try publisher.stop()
        #expect(publisher.statistics.outputs.map(\.encoder) == [0, 1, 2])
        #expect(publisher.statistics.encoders[2].targetBitrate == 1_000_000)
        #expect(sinks.allSatisfy { $0.packets.count == 8 && $0.isFinished })
        // Its receivers may leave layers out; a file pays nothing for that.
        #expect(sinks[1].packets.map(\.temporalLayer) == [0, 2, 1, 2, 0, 2, 1, 2])
        #expect((sinks[0].packets + sinks[2].packets).allSatisfy { $0.temporalLayer == 0 })
    }

    @Test func outputsComeAndGoWhileOthersGoOn() throws {
        let publisher = noisePublisher(rate: FrameRate(100, per: 1)!)
        let log = RunLog(publisher)
        let first = ProbeSink()
        try publisher.add(ProbeOutput(first, .init(codecs: [.vp8])))
        try publisher.start()
        try first.waitForPackets(3)
        let second = ProbeSink()
        let output = ProbeOutput(second, .init(codecs: [.vp8]))
        let id = try publisher.add(output)
        try second.waitForPackets(3)
        publisher.remove(id)
        #expect(second.isFinished && output.log == ["open", "close"])
        #expect(second.packets[0].isKeyFrame, "a late output begins with a key frame")
        let count = second.packets.count
        try first.waitForPackets(first.packets.count + 3)
        #expect(second.packets.count == count && publisher.isActive)
        try publisher.stop()
        #expect(first.isFinished && log.failures.isEmpty)
        #expect(publisher.statistics.encoders.count == 1)
        // All that was encoded while there was one output or two.
        let numbers = first.packets.map(\.sequenceNumber)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test func eventsAsAStream() async throws {
        let publisher = noisePublisher(frames: 2)
        try publisher.add(FileOutput("", format: .null))
        let events = publisher.events()
        try publisher.start()
        var ends: [MediaPublisher.Event.End] = []
        for await event in events {
            guard case .ended(let end) = event else { continue }
            ends.append(end)
            publisher.close()
        }
        #expect(ends == [.limitReached])
    }

    @Test(arguments: [false, true]) func eventsOfARunThatHasEnded(isStopped: Bool) async throws {
        let publisher = noisePublisher(frames: 2)
        let log = RunLog(publisher)
        try publisher.add(FileOutput("", format: .null))
        try publisher.start()
        #expect(try log.waitForEnd() == .limitReached)
        if isStopped { try publisher.stop() }
        var ends: [MediaPublisher.Event.End] = []
        for await event in publisher.events() {
            guard case .ended(let end) = event else { continue }
            ends.append(end)
            try publisher.stop()
        }
        #expect(ends == [.limitReached])
    }

    @Test func aSecondRunIsRefused() throws {
        let publisher = noisePublisher(frames: 2)
        let log = RunLog(publisher)
        try publisher.add(FileOutput("", format: .null))
        try publisher.start()
        #expect(try log.waitForEnd() == .limitReached)
        try publisher.stop()
        for isClosed in [false, true] {
            if isClosed { publisher.close() }
            let error = #expect(throws: CaptureError.self) { try publisher.start() }
            #expect(error?.code == .invalidState)
        }
    }

    @Test func aFrameIsConvertedOnceForAll() throws {
        let shared = FrameConverter(FrameConverter.Key(.i420, MediaPublisher.FrameSettings()), reach: 4)
        shared.addUser()
        let buffer = try PixelBuffer.black(.nv12, width: 6, height: 4, color: .bt601)
        let frame = VideoFrame(buffer: buffer, timestamp: .zero, sequenceNumber: 3, orientation: .left)
        let first = try shared.convert(frame)
        #expect(first.pixelFormat == .i420)
        #expect((first.width, first.height) == (4, 6))
        #expect(first.orientation == .up)
        #expect(try shared.convert(frame).buffer === first.buffer)
        let own = FrameConverter(FrameConverter.Key(.nv12, MediaPublisher.FrameSettings()), reach: 4)
        #expect(try own.convert(VideoFrame(buffer: buffer, timestamp: .zero)).buffer === buffer)
    }
}

/// Keeps what is known of each frame, but the pixels.
private final class FrameTimes: VideoCaptureConsumer {
    private let frames = Locked<[(time: MediaTime, orientation: VideoOrientation)]>([])

    var all: [(time: MediaTime, orientation: VideoOrientation)] { frames.withLock { $0 } }

    func consumeFrame(_ frame: VideoFrame) {
        frames.withLock { $0.append((frame.timestamp, frame.orientation)) }
    }
}
