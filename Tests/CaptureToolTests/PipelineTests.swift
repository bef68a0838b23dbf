import ArgumentParser
import FrameProcessing
import MediaContainers
import NoiseCapturer
import TestTools
import Testing
import VideoCapturing

@testable import CaptureTool

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Keeps what is known of each frame, but the pixels.
private final class FrameLog: VideoCaptureConsumer {
    private let frames = Locked<[(time: MediaTime, orientation: VideoOrientation)]>([])

    var all: [(time: MediaTime, orientation: VideoOrientation)] { frames.withLock { $0 } }

    func consumeFrame(_ frame: VideoFrame) {
        frames.withLock { $0.append((frame.timestamp, frame.orientation)) }
    }
}

@Suite struct PipelineTests {
    private func run(
        frames: UInt64? = nil, duration: Duration? = nil, rate: FrameRate?, orientation: VideoOrientation = .up
    ) throws -> (log: FrameLog, capture: LimitedCapture) {
        let ended = ManualResetEvent()
        let capture = LimitedCapture(
            NoiseCapturer(format: .i420(width: 4, height: 4), frameRate: rate), frames: frames, duration: duration,
            orientation: orientation, onLimit: { ended.raise() })
        let log = FrameLog()
        capture.videoCaptureConsumer = log
        try capture.initCapture()
        try capture.startCapture()
        ended.wait(until: MonotonicClock().now.advanced(by: .seconds(10)))
        try #require(ended.isRaised)
        try capture.stopCapture()
        capture.releaseCapture()
        return (log, capture)
    }

    @Test(arguments: [1, 2, 1000] as [UInt64])
    func exactlySoManyFrames(count: UInt64) throws {
        let (log, capture) = try run(frames: count, rate: nil)
        #expect(UInt64(log.all.count) == count)
        #expect(capture.passed.count == count)
    }

    @Test func soLongByTheFramesOwnTimes() throws {
        let rate = FrameRate(200, per: 1)!
        let (log, capture) = try run(duration: .milliseconds(100), rate: rate, orientation: .left)
        let first = try #require(log.all.first)
        #expect(log.all.allSatisfy { $0.time - first.time < .milliseconds(100) && $0.orientation == .left })
        // A busy machine may miss frames, and says so.
        #expect(UInt64(log.all.count) + capture.statistics.framesDropped.late >= 20)
    }

    @Test func aFrameIsConvertedOnceForAll() throws {
        let shared = SharedConverter(pixelFormat: .i420, userCount: 2, reach: 4)
        let buffer = try PixelBuffer.black(.nv12, width: 6, height: 4, color: .bt601)
        let frame = VideoFrame(buffer: buffer, timestamp: .zero, sequenceNumber: 3, orientation: .left)
        let first = try shared.convert(frame)
        #expect(first.pixelFormat == .i420)
        #expect((first.width, first.height) == (4, 6))
        #expect(first.orientation == .up)
        #expect(try shared.convert(frame).buffer === first.buffer)
        let own = SharedConverter(pixelFormat: .nv12, userCount: 2, reach: 4)
        #expect(try own.convert(VideoFrame(buffer: buffer, timestamp: .zero)).buffer === buffer)
    }

    /// The way of a whole run but for the terminal and the signals: every output gets every frame.
    @Test func everyOutputGetsEveryFrame() throws {
        let folder = TemporaryFolder()
        let paths = ["a.webm", "b.ivf", "c.y4m", "d.yuv"].map { "\(folder.path)/\($0)" }
        let arguments = paths.flatMap { ["-o", $0] } + ["-o", "null", "--size", "16x8", "--frames", "5"]
        let plan = try CapturePlan(CaptureOptions.parse(arguments), catalog: demoCatalog)
        let events = RunEvents()
        let capture = LimitedCapture(try plan.source.makeCapture(plan.request), frames: plan.frames) {
            events.post(.limitReached)
        }
        try capture.initCapture()
        let writers = try OutputWriter.open(plan.outputs, overwrites: false, timing: .everyFrame(rate: 30))
        let pipeline = try Pipeline(capture, writers: writers, plan: plan, rate: 30, events: events)
        try pipeline.publisher.start()
        let news = events.wait(until: MonotonicClock().now.advanced(by: .seconds(20)))
        guard case .limitReached? = news.end else {
            Issue.record("the run ended with \(news)")
            return
        }
        try pipeline.publisher.stop()
        pipeline.finish(events)
        #expect(events.takeFailures().isEmpty)
        #expect(!pipeline.isActive)
        let run = RunSnapshot(pipeline, plan: plan, elapsed: .seconds(1), failedOutputs: [])
        #expect(run.captured == 5)
        #expect(run.consumers.map(\.name) == ["vp8", "y4m", "yuv", "null"])
        #expect(run.consumers.allSatisfy { $0.delivered == 5 })
        #expect(run.encoding?.packets == 5)
        #expect(run.outputs[3].bytes == 5 * 16 * 8 * 3 / 2)
        #expect(run.outputs[4].bytes == 5 * 16 * 8 * 3 / 2)
        let reader = try MediaFileReader.open(path: paths[2], decoders: [])
        var frames = 0
        while try reader.nextFrame() != nil { frames += 1 }
        #expect(frames == 5)
    }

    /// One output that fails keeps the encoder's others whole.
    @Test func aFullDeviceIsToldAndTheOthersGoOn() throws {
        let folder = TemporaryFolder()
        let plan = try CapturePlan(
            CaptureOptions.parse([
                "-o", "y4m:/dev/full", "-o", "ivf:/dev/full", "-o", "\(folder.path)/a.ivf", "--size", "16x8",
                "--frames",
                "50", "--fps", "max",
            ]), catalog: demoCatalog)
        let events = RunEvents()
        let capture = LimitedCapture(try plan.source.makeCapture(plan.request), frames: plan.frames) {
            events.post(.limitReached)
        }
        try capture.initCapture()
        let writers = try OutputWriter.open(plan.outputs, overwrites: false, timing: .everyFrame(rate: 30))
        let pipeline = try Pipeline(capture, writers: writers, plan: plan, rate: 30, events: events)
        try pipeline.publisher.start()
        var failures: [RunEvents.Failure] = []
        while true {
            let news = events.wait(until: MonotonicClock().now.advanced(by: .seconds(20)))
            failures += news.failures
            if news.end != nil { break }
            try #require(!news.failures.isEmpty, "nothing has happened for 20 s")
        }
        try pipeline.publisher.stop()
        pipeline.finish(events)
        failures += events.takeFailures()
        #expect(Set(failures.map(\.output)) == [0, 1])
        #expect(failures.count == 2, "each failure is posted once")
        #expect(failures.allSatisfy { ($0.error as? MediaFileError)?.code == .noSpace })
        let reader = try IVFReader(InputFile(path: "\(folder.path)/a.ivf"))
        var packets = 0
        while try reader.nextPacket() != nil { packets += 1 }
        #expect(packets == 50)
    }
}
