import CapturerTestKit
import FileCapturer
import MediaContainers
import TestTools
import Testing
import VP8Codec
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct FileCapturerTests {
    private func luma(_ frame: VideoFrame) -> Int { frame.buffer.withRow(0, ofPlane: 0) { Int($0[0]) } }

    @Test(arguments: FileCapturer.Pacing.allCases)
    func keepsTheContract(pacing: FileCapturer.Pacing) async throws {
        let folder = TemporaryFolder()
        try writeY4M(folder.file("clip.y4m"), frames: 30)
        let path = folder.file("clip.y4m")
        let report = await ConformanceSuite(
            name: "file \(pacing)", timestampsMayRunAhead: pacing == .asFastAsPossible
        ) { FileCapturer(path: path, pacing: pacing) }.runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    /// Two pictures, again and again: every rule meets the place where the file begins anew.
    @Test(arguments: FileCapturer.Pacing.allCases)
    func keepsTheContractInALoop(pacing: FileCapturer.Pacing) async throws {
        let folder = TemporaryFolder()
        try writeY4M(folder.file("clip.y4m"), frames: 2)
        let path = folder.file("clip.y4m")
        let playback = FileCapturer.Playback(pacing: pacing, rate: 2, plays: nil)
        let report = await ConformanceSuite(
            name: "loop \(pacing)", timestampsMayRunAhead: pacing == .asFastAsPossible
        ) { FileCapturer(path: path, playback: playback) }.runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    @Test func readsY4M() throws {
        let folder = TemporaryFolder()
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
        let folder = TemporaryFolder()
        try writeY4M(folder.file("clip.y4m"), frames: 4)
        let begin = MonotonicClock().now
        let (frames, _) = try run(FileCapturer(path: folder.file("clip.y4m")))
        #expect(frames.count == 4)
        #expect(MonotonicClock().now - begin >= .milliseconds(120))
    }

    @Test func beginsAnewAfterTheEnd() throws {
        let folder = TemporaryFolder()
        try writeY4M(folder.file("clip.y4m"), frames: 3)
        let capture = FileCapturer(path: folder.file("clip.y4m"), pacing: .asFastAsPossible)
        let (first, _) = try run(capture)
        let (second, state) = try run(capture)
        #expect(second.map(luma) == first.map(luma))
        #expect(state == .stopped(.endOfStream))
        #expect(second[0].timestamp > first[2].timestamp)
    }

    @Test func decodesIVF() throws {
        let folder = TemporaryFolder()
        let encoder = try VP8Encoder(VP8Encoder.Configuration(bitrate: 500_000))
        let writer = IVFWriter(try OutputFile(path: folder.file("clip.ivf")))
        for value in 0..<5 {
            try encoder.encode(picture(value)) { packet in
                if value == 0 { try writer.begin([#require(encoder.track)]) }
                try writer.write(packet)
            }
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
        let folder = TemporaryFolder()
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
        let folder = TemporaryFolder()
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
