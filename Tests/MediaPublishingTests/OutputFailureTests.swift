import FileOutput
import MediaContainers
import MediaPublishing
import TestTools
import Testing
import VP8Codec
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Outputs that fail, stall or cannot be opened, and what becomes of the others.
@Suite struct OutputFailureTests {
    @Test func aFullDeviceIsReportedAndTheOthersGoOn() throws {
        let folder = TemporaryFolder()
        let publisher = noisePublisher(frames: 50)
        let log = RunLog(publisher)
        try publisher.add(FileOutput("/dev/full", format: .y4m))
        try publisher.add(FileOutput("/dev/full", format: .ivf))
        try publisher.add(FileOutput(folder.file("a.ivf")))
        try publisher.start()
        #expect(try log.waitForEnd() == .limitReached)
        try publisher.stop()
        let failed: [[Int]] = log.failures.map(\.outputs)
        #expect(failed.sorted { $0[0] < $1[0] } == [[0], [1]], "each is reported once")
        #expect(log.failures.allSatisfy { ($0.error as? MediaFileError)?.code == .noSpace })
        #expect(publisher.statistics.outputs.map(\.hasFailed) == [true, true, false])
        let reader = try IVFReader(InputFile(path: folder.file("a.ivf")))
        var packets = 0
        while try reader.nextPacket() != nil { packets += 1 }
        #expect(packets == 50)
    }

    /// As a file on a disk that does not answer.
    private final class BlockedConsumer: VideoCaptureConsumer {
        let gate = ManualResetEvent()
        func consumeFrame(_ frame: VideoFrame) { gate.wait() }
    }

    @Test func aDiskThatDoesNotAnswer() throws {
        let folder = TemporaryFolder()
        // Within this time the thread of the other file must run, too.
        let publisher = noisePublisher(frames: 50) { $0.diskTimeout = .seconds(2) }
        let log = RunLog(publisher)
        let blocked = BlockedConsumer()
        defer { blocked.gate.raise() }
        try publisher.add(ProbeOutput(blocked))
        try publisher.add(FileOutput(folder.file("b.yuv")))
        try publisher.start()
        #expect(try log.waitForEnd() == .limitReached)
        try log.waitForFailures(1)
        // The consumer is removed as soon as it is found to be stalled, so stopping waits for nothing.
        try publisher.stop()
        #expect(log.failures.map(\.outputs) == [[0]], "reported once")
        #expect((log.failures.first?.error as? CaptureError)?.code == .stalled)
        #expect((log.failures.first?.error as? CaptureError)?.subject == "probe")
        #expect(publisher.statistics.outputs[1].statistics.bytes == 50 * 16 * 8 * 3 / 2)
    }

    /// It sends on a separate thread, which finds that the server refuses for good; the end waits for that thread.
    private final class RefusedSink: PacketSink {
        let context = Locked<OutputContext?>(nil)
        private let thread = Locked<CaptureThread?>(nil)

        func begin(_ tracks: [TrackDescription]) throws {
            let context = context.withLock { $0 }
            let sender = try CaptureThread(name: "sender") {
                context?.fail(CaptureError(.permissionDenied, operation: "send", message: "It refuses."))
            }
            thread.withLock { $0 = sender }
        }
        func write(_ packet: MediaPacket) {}
        func finish() { thread.withLock { $0 }?.join() }
    }

    @Test(.timeLimit(.minutes(1))) func oneThatFailsOnAThreadForWhichItsEndWaits() throws {
        let publisher = noisePublisher(frames: 100)
        let log = RunLog(publisher)
        let sink = RefusedSink()
        try publisher.add(
            ProbeOutput(sink, .init(codecs: [.vp8])) { context in sink.context.withLock { $0 = context } })
        let other = ProbeSink()
        try publisher.add(ProbeOutput(other, .init(codecs: [.vp8])))
        try publisher.start()
        #expect(try log.waitForEnd() == .limitReached)
        try log.waitForFailures(1)
        try publisher.stop()
        #expect(log.failures.map(\.outputs) == [[0]])
        #expect((log.failures.first?.error as? CaptureError)?.code == .permissionDenied)
        #expect(other.packets.count == 100)
    }

    /// Nothing is left behind by a run that cannot begin.
    @Test func oneThatCannotBeOpened() throws {
        let folder = TemporaryFolder()
        try folder.write([1, 2, 3], to: "there.webm")
        let publisher = noisePublisher(frames: 5)
        let probe = ProbeOutput(ProbeSink(), .init(codecs: [.vp8]))
        try publisher.add(FileOutput(folder.file("new.y4m")))
        try publisher.add(probe)
        try publisher.add(FileOutput(folder.file("there.webm")))
        let error = #expect(throws: MediaFileError.self) { try publisher.start() }
        #expect(error?.code == .fileExists)
        #expect(access(folder.file("new.y4m"), F_OK) != 0)
        #expect(try folder.read("there.webm") == [1, 2, 3])
        #expect(probe.log == ["open", "discard"])
    }

    @Test func settingsThatNoEncoderTakes() throws {
        let folder = TemporaryFolder()
        let output = try FileOutput(folder.file("a.webm"))
        for encoding in [
            EncodingSettings(bitrate: 10), EncodingSettings(encoder: "vp88"), EncodingSettings(codec: .h264),
        ] {
            let publisher = noisePublisher(frames: 5) { $0.encoding = encoding }
            try publisher.add(output)
            #expect(throws: (any Error).self) { try publisher.start() }
            #expect(access(folder.file("a.webm"), F_OK) != 0, "no file is created")
        }
        let publisher = noisePublisher { $0.encoding = EncodingSettings(encoder: "vp88") }
        try publisher.add(output)
        let error = #expect(throws: OptionError.self) { try publisher.open() }
        #expect(error?.description == "--encoder 'vp88': unknown. Did you mean vp8? Choose one of vp8.")
    }

    @Test func aReaderThatDoesNotComeIsNotWaitedForAfterAStop() throws {
        let folder = TemporaryFolder()
        try #require(mkfifo(folder.file("fifo.y4m"), 0o600) == 0)
        let publisher = noisePublisher()
        try publisher.add(FileOutput(folder.file("fifo.y4m")))
        let opening = try CaptureThread(name: "stop") { publisher.requestStop() }
        let error = #expect(throws: (any Error).self) { try publisher.start() }
        opening.join()
        #expect(publisher.isStopRequested, "\(String(describing: error))")
    }

    @Test func aStopLimitsTheWaitsOfOutputs() throws {
        let folder = TemporaryFolder()
        let publisher = noisePublisher(rate: 30)
        let before = TimeoutProbe()
        try publisher.add(before)
        try publisher.add(FileOutput(folder.file("a.y4m")))
        try publisher.start()
        #expect(before.timeout == .seconds(5), "one of several")
        publisher.requestStop()
        #expect(before.timeout == .seconds(3))
        try publisher.stop()
    }

    private final class TimeoutProbe: MediaOutput {
        private let value = Locked<Duration?>(nil)
        var timeout: Duration? { value.withLock { $0 } }
        var name: String { "probe" }
        var kind: String { "probe" }
        var feed: OutputContext.Feed { .frames(.init()) }
        func open(_ context: OutputContext) -> OutputContext.Destination { .consumer(BlockedNever()) }
        func setWriteTimeout(_ timeout: Duration?) { value.withLock { $0 = timeout } }
        var outputStatistics: OutputStatistics { OutputStatistics(bytes: 0) }
    }

    private final class BlockedNever: VideoCaptureConsumer {
        func consumeFrame(_ frame: VideoFrame) {}
    }

    /// Without a frame there is no file.
    @Test func aCaptureWithoutFramesLeavesNoFile() throws {
        let folder = TemporaryFolder()
        let publisher = MediaPublisher(
            video: PushCapturer(format: .nv12(width: 8, height: 6)), settings: .init(encoders: [.vp8]))
        try publisher.add(FileOutput(folder.file("a.webm")))
        try publisher.add(FileOutput(folder.file("b.yuv")))
        try publisher.start()
        #expect(access(folder.file("b.yuv"), F_OK) == 0)
        try publisher.stop()
        #expect(access(folder.file("a.webm"), F_OK) != 0 && access(folder.file("b.yuv"), F_OK) != 0)
    }
}
