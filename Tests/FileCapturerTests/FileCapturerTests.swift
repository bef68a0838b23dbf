import CapturerTestKit
import FileCapturer
import MediaFiles
import Testing
import VP8Codec
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// Keeps frames and lets a test wait for a state.
private final class Collector: VideoCaptureConsumer {
    let frames = Locked<[VideoFrame]>([])
    func consumeFrame(_ frame: VideoFrame) { frames.withLock { $0.append(frame) } }
    var collected: [VideoFrame] { frames.withLock { $0 } }
}

@Suite struct FileCapturerTests {
    /// A folder that is removed at the end of the test.
    private final class Folder {
        let path: String
        init() {
            var template = Array("/tmp/file-capturer-XXXXXX".utf8CString)
            path = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
        }
        deinit {
            for name in ["clip.y4m", "clip.ivf", "clip.nv12"] { unlink("\(path)/\(name)") }
            rmdir(path)
        }
        func file(_ name: String) -> String { "\(path)/\(name)" }
    }

    private func picture(_ value: Int, _ format: PixelFormat = .i420) throws -> VideoFrame {
        let buffer = try PixelBuffer.make(format, width: 18, height: 10) { pixels in
            for plane in 0..<format.planeCount { pixels.fill(plane: plane, with: UInt8(value % 20 * 10 + plane)) }
        }
        return VideoFrame(
            buffer: buffer, timestamp: MediaTime(nanoseconds: Int64(value) * 40_000_000), estimatedFrameRate: 25)
    }

    private func writeY4M(_ path: String, frames: Int) throws {
        let writer = Y4MWriter(try OutputFile(path: path, overwrite: true), rate: 25)
        for value in 0..<frames { try writer.writeFrame(picture(value)) }
        try writer.finish()
    }

    /// Runs a capture to its end and gives its frames and why it stopped.
    private func run(_ capture: FileCapturer) throws -> ([VideoFrame], CaptureState) {
        let collector = Collector()
        capture.videoCaptureConsumer = collector
        try capture.initCapture()
        try capture.startCapture()
        let deadline = MonotonicClock().now.advanced(by: .seconds(10))
        while capture.isCaptureStarted, MonotonicClock().now < deadline { usleep(1000) }
        return (collector.collected, capture.state)
    }

    private func luma(_ frame: VideoFrame) -> Int { frame.buffer.withRow(0, ofPlane: 0) { Int($0[0]) } }

    @Test(arguments: FileCapturer.Pacing.allCases)
    func keepsTheContract(pacing: FileCapturer.Pacing) async throws {
        let folder = Folder()
        try writeY4M(folder.file("clip.y4m"), frames: 30)
        let path = folder.file("clip.y4m")
        let report = await ConformanceSuite(
            name: "file \(pacing)", frameDeadline: .seconds(2), timestampsMayRunAhead: pacing == .asFastAsPossible
        ) { FileCapturer(path: path, pacing: pacing) }.runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    @Test func readsY4M() throws {
        let folder = Folder()
        try writeY4M(folder.file("clip.y4m"), frames: 7)
        let capture = FileCapturer(path: folder.file("clip.y4m"), pacing: .asFastAsPossible)
        let (frames, state) = try run(capture)
        #expect(frames.map(luma) == (0..<7).map { $0 * 10 })
        #expect(state == .stopped(.endOfStream))
        #expect(capture.captureSettings().format.imageWidth == 18)
        #expect(capture.captureSettings().format.estimatedFramesPerSecond == 25)
        for (index, frame) in frames.enumerated() {
            #expect(frame.timestamp - frames[0].timestamp == .milliseconds(40 * index))
        }
    }

    @Test func keepsTheFilesPace() throws {
        let folder = Folder()
        try writeY4M(folder.file("clip.y4m"), frames: 4)
        let begin = MonotonicClock().now
        let (frames, _) = try run(FileCapturer(path: folder.file("clip.y4m")))
        #expect(frames.count == 4)
        #expect(MonotonicClock().now - begin >= .milliseconds(120))
    }

    @Test func beginsAnewAfterTheEnd() throws {
        let folder = Folder()
        try writeY4M(folder.file("clip.y4m"), frames: 3)
        let capture = FileCapturer(path: folder.file("clip.y4m"), pacing: .asFastAsPossible)
        let (first, _) = try run(capture)
        let (second, state) = try run(capture)
        #expect(second.map(luma) == first.map(luma))
        #expect(state == .stopped(.endOfStream))
        #expect(second[0].timestamp > first[2].timestamp)
    }

    @Test func decodesIVF() throws {
        let folder = Folder()
        let encoder = try VP8Encoder(VP8EncoderConfiguration(bitrate: 500_000))
        let writer = IVFWriter(try OutputFile(path: folder.file("clip.ivf")))
        for value in 0..<5 {
            try encoder.encode(picture(value), forceKeyFrame: false) { try writer.consumePacket($0) }
        }
        try writer.finish()
        let capture = FileCapturer(
            path: folder.file("clip.ivf"), decoders: [VP8Decoder.factory], pacing: .asFastAsPossible)
        let (frames, state) = try run(capture)
        #expect(state == .stopped(.endOfStream))
        #expect(frames.count == 5)
        for (value, frame) in frames.enumerated() { #expect(abs(luma(frame) - value * 10) < 6) }
        #expect(frames[4].timestamp - frames[0].timestamp == .milliseconds(160))
        #expect(throws: CaptureError.self) { try run(FileCapturer(path: folder.file("clip.ivf"))) }
    }

    @Test func readsRawVideo() throws {
        let folder = Folder()
        let writer = RawFrameWriter(try OutputFile(path: folder.file("clip.nv12")), pixelFormat: .nv12)
        for value in 0..<3 { try writer.writeFrame(picture(value, .nv12)) }
        try writer.finish()
        let format = VideoFormat(.nv12, width: 18, height: 10, estimatedFramesPerSecond: 50)
        let (frames, _) = try run(
            FileCapturer(path: folder.file("clip.nv12"), rawFormat: format, pacing: .asFastAsPossible))
        #expect(frames.map(luma) == [0, 10, 20])
        #expect(frames[2].timestamp - frames[0].timestamp == .milliseconds(40))
    }

    @Test func aCutFileDeliversWhatIsWhole() throws {
        let folder = Folder()
        try writeY4M(folder.file("clip.y4m"), frames: 3)
        truncate(folder.file("clip.y4m"), 800)
        let (frames, state) = try run(FileCapturer(path: folder.file("clip.y4m"), pacing: .asFastAsPossible))
        #expect(frames.map(luma) == [0, 10])
        guard case .stopped(.error(let error)) = state else {
            Issue.record("\(state)")
            return
        }
        #expect(error.code == .corruptData)
    }

    @Test func aMissingFileIsNamed() throws {
        #expect { try FileCapturer(path: "/nowhere/clip.y4m").initCapture() } throws: {
            ($0 as? CaptureError)?.code == .deviceNotFound && "\($0)".contains("/nowhere/clip.y4m")
        }
    }
}
