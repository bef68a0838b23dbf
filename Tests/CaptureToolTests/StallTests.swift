import ArgumentParser
import MediaContainers
import TestTools
import Testing
import VideoCapturing

@testable import CaptureTool

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Outputs and terminals that have stalled.
@Suite struct StallTests {
    /// As a file on a disk that does not answer.
    private final class BlockedWriter: FrameWriter {
        let gate = ManualResetEvent()
        var bytesWritten: Int64 { 0 }
        func writeFrame(_ frame: VideoFrame) { gate.wait() }
        func finish() { gate.wait() }
    }

    @Test func aDiskThatDoesNotAnswer() throws {
        let folder = TemporaryFolder()
        let arguments = [
            "-o", "a.yuv", "-o", "\(folder.path)/b.yuv", "--size", "16x8", "--frames", "50", "--fps", "max",
        ]
        let plan = try CapturePlan(CaptureOptions.parse(arguments), catalog: demoCatalog)
        let events = RunEvents()
        let capture = LimitedCapture(try plan.source.makeCapture(plan.request), frames: plan.frames) {
            events.post(.limitReached)
        }
        try capture.initCapture()
        let blocked = BlockedWriter()
        let file = try OutputFile(path: "\(folder.path)/b.yuv")
        let writers = [
            OutputWriter(name: plan.outputs[0], kind: .frames(blocked), madeFile: nil),
            OutputWriter(
                name: plan.outputs[1], kind: .frames(RawFrameWriter(file, pixelFormat: .i420)), file: file,
                madeFile: nil),
        ]
        let pipeline = try Pipeline(
            capture, writers: writers, plan: plan, rate: 30, events: events, diskTimeout: .milliseconds(50))
        try pipeline.publisher.start()
        let news = events.wait(until: MonotonicClock().now.advanced(by: .seconds(20)))
        guard case .limitReached? = news.end else {
            Issue.record("the run ended with \(news)")
            return
        }
        #expect(throws: CaptureError.self) { try pipeline.publisher.stop() }
        pipeline.finish(events)
        pipeline.postStalls(events)
        let failures = events.takeFailures()
        #expect(failures.map(\.output) == [0], "told once")
        let error = failures.first?.error as? MediaFileError
        #expect(error?.code == .stalled)
        #expect(error?.subject == "a.yuv")
        #expect(!pipeline.isActive)
        #expect(file.bytesWritten == 50 * 16 * 8 * 3 / 2)
        blocked.gate.raise()
    }

    @Test func aTerminalThatIsNotRead() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let terminal = Terminal(descriptor: ends[1], timeout: .milliseconds(50)) { _ in nil }
        for _ in 0..<5 { terminal.writeLine(String(repeating: "x", count: 50_000)) }
        terminal.writeLine("lost")
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        var count = read(ends[0], &bytes, bytes.count)
        // What did not fit is cut.
        #expect(count > 50_000 && count < 250_000)
        terminal.writeLine("read again")
        count = read(ends[0], &bytes, bytes.count)
        #expect(String(decoding: bytes[..<count], as: UTF8.self) == "\nread again\n")
        terminal.writeLine("and again")
        count = read(ends[0], &bytes, bytes.count)
        #expect(String(decoding: bytes[..<count], as: UTF8.self) == "and again\n")
        for end in ends { close(end) }
    }

    @Test func aStopLimitsTheWaitsOfOutputs() throws {
        let folder = TemporaryFolder()
        let before = try OutputFile(path: "\(folder.path)/a")
        let stop = StopRequest()
        stop.setFiles([before])
        #expect(before.stallTimeout == nil && !stop.isMade)
        stop.make()
        #expect(before.stallTimeout == StopRequest.outputTimeout && stop.isMade)
        let after = try OutputFile(path: "\(folder.path)/b")
        stop.setFiles([after])
        #expect(after.stallTimeout == StopRequest.outputTimeout)
    }
}
