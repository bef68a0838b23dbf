import CapturerTestKit
import FileCapturer
import MediaContainers
import TestTools
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// A FIFO whose writer is silent: nothing may hang, and nothing may be lost.
@Suite struct PipeTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("clip.fifo") }

    init() throws { try #require(mkfifo(folder.file("clip.fifo"), 0o600) == 0) }

    private func bytes(frames: Int) throws -> [UInt8] {
        try writeY4M(folder.file("clip.y4m"), frames: frames)
        let file = try InputFile(path: folder.file("clip.y4m"))
        var bytes = [UInt8](repeating: 0, count: Int(file.size!))
        _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0) }
        return bytes
    }

    /// The thread that initializes must not be one of the test's own.
    private func initialize(_ capture: FileCapturer) throws -> Locked<CaptureError??> {
        let result = Locked<CaptureError??>(nil)
        try CaptureThread(name: "init") {
            var failure: CaptureError?
            do throws(CaptureError) { try capture.initCapture() } catch { failure = error }
            result.withLock { $0 = .some(failure) }
        }
        return result
    }

    @Test func aReleaseEndsTheWaitForAWriter() throws {
        let capture = FileCapturer(path: path)
        let result = try initialize(capture)
        usleep(50_000)
        #expect(result.withLock { $0 } == nil)
        let watch = Stopwatch()
        capture.releaseCapture()
        #expect(eventually { result.withLock { $0 } != nil })
        #expect(watch.time < .seconds(2))
        #expect(result.withLock { $0 }??.code == .invalidState)
        #expect(capture.state == .idle)
    }

    @Test func aStopEndsTheWaitForDataAndARestartLosesNothing() throws {
        let data = try bytes(frames: 4)
        let capture = FileCapturer(path: path, pacing: .asFastAsPossible)
        let collector = Collector()
        capture.videoCaptureConsumer = collector
        let result = try initialize(capture)
        let writer = open(path, O_WRONLY)
        try #require(writer >= 0)
        // One picture, and a half.
        let cut = data.count - 276 * 2 - 130
        #expect(data.withUnsafeBytes { write(writer, $0.baseAddress!, cut) } == cut)
        #expect(eventually { result.withLock { $0 } != nil })
        #expect(result.withLock { $0 } == .some(nil))
        try capture.startCapture()
        #expect(eventually { collector.collected.count == 1 })
        for _ in 0..<3 {
            usleep(20_000)
            #expect(try Stopwatch.time { try capture.stopCapture() } < .seconds(1))
            #expect(capture.state == .stopped(.user))
            try capture.startCapture()
        }
        let rest = data.count - cut
        #expect(data.withUnsafeBytes { write(writer, $0.baseAddress! + cut, rest) } == rest)
        close(writer)
        #expect(eventually { !capture.isCaptureStarted })
        #expect(capture.state == .stopped(.endOfStream))
        #expect(collector.collected.map(number) == [0, 1, 2, 3])
        try capture.startCapture()
        #expect(eventually { capture.state == .stopped(.endOfStream) })
        #expect(collector.collected.count == 4)
        capture.releaseCapture()
    }
}
