import CapturerTestKit
import FileCapturer
import MediaContainers
import TestTools
import Testing
import VideoCapturing

@Suite struct WantsTests {
    private let folder = TemporaryFolder()

    @Test(arguments: [1.0, 2.0]) func theRateIsKeptAtTheSource(speed: Double) throws {
        try writeY4M(folder.file("clip.y4m"), frames: 10)
        let capture = FileCapturer(
            path: folder.file("clip.y4m"), playback: FileCapturer.Playback(pacing: .asFastAsPossible, rate: speed))
        capture.adapt(to: CaptureWants(maximumFrameRate: FrameRate("12.5")!))
        let (frames, _) = try run(capture)
        #expect(frames.map(number) == (speed == 1 ? [0, 2, 4, 6, 8] : [0, 4, 8]))
        #expect(capture.captureSettings().format.estimatedFramesPerSecond == FrameRate("12.5"))
        #expect(capture.statistics.framesDropped.total == 0)
    }

    @Test func theSizeIsKeptAtTheSource() throws {
        try writeY4M(folder.file("clip.y4m"), frames: 4)
        let capture = FileCapturer(path: folder.file("clip.y4m"), pacing: .asFastAsPossible)
        let collector = Collector { [unowned capture] index in
            if index == 1 { capture.adapt(to: CaptureWants(maximumPixelCount: 50, sizeAlignment: 2)) }
        }
        let (frames, _) = try run(capture, collector)
        #expect(frames.map(\.width) == [18, 18, 8, 8])
        #expect(frames.map(\.height) == [10, 10, 4, 4])
        #expect(frames.map(number) == [0, 1, 2, 3])
        #expect(capture.captureSettings().format.imageWidth == 8)
        #expect(capture.fileFormat?.imageWidth == 18)
    }

    @Test func whatTheFileTellsOfItsPicturesIsCarried() throws {
        let capture = try ListReader.capture(in: folder, .asFastAsPossible, clock: VirtualClock()) { _ in
            ListReader([0, 40], orientation: .left, isMirrored: true)
        }
        capture.adapt(to: CaptureWants(maximumPixelCount: 50))
        let (frames, _) = try run(capture)
        #expect(frames.count == 2)
        for frame in frames {
            #expect(frame.orientation == .left)
            #expect(frame.isMirrored)
            #expect(frame.color == ColorDescription(matrix: .bt709, range: .full))
        }
    }
}
