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
            ListReader([0, 40], orientation: .left)
        }
        capture.adapt(to: CaptureWants(maximumPixelCount: 50))
        let (frames, _) = try run(capture)
        #expect(frames.count == 2)
        for frame in frames {
            #expect(frame.orientation == .left)
            #expect(frame.color == ColorDescription(matrix: .bt709, range: .full))
        }
    }

    /// Left and right as they are seen: no output knows of a mirror.
    @Test(arguments: VideoOrientation.allCases) func aMirroredFileIsMirrored(_ orientation: VideoOrientation) throws {
        let capture = try ListReader.capture(in: folder, .asFastAsPossible, clock: VirtualClock()) { _ in
            let reader = ListReader([0, 40], orientation: orientation, isMirrored: true)
            reader.makesPicture = { _ in
                try PixelBuffer.make(.i420, width: 18, height: 10) { $0.fill(plane: 0) { x, y in UInt8(x * 10 + y) } }
            }
            return reader
        }
        let (frames, _) = try run(capture)
        #expect(frames.count == 2)
        for frame in frames {
            #expect(frame.orientation == orientation && !frame.isMirrored)
            // On its side, left and right are top and bottom.
            let corner = frame.buffer.withRow(0, ofPlane: 0) { $0[0] }
            #expect(corner == (orientation.swapsDimensions ? 9 : 170))
        }
    }

    @Test(arguments: [true, false]) func fieldsAreDeinterlacedUnlessTheyAreWanted(_ deinterlaces: Bool) throws {
        let playback = FileCapturer.Playback(pacing: .asFastAsPossible, deinterlaces: deinterlaces)
        let capture = try ListReader.capture(in: folder, playback, clock: VirtualClock()) { _ in
            let reader = ListReader([0])
            reader.isInterlaced = true
            reader.makesPicture = { _ in
                try PixelBuffer.make(.i420, width: 18, height: 10) {
                    $0.fill(plane: 0) { _, y in y % 2 == 0 ? 50 : 200 }
                }
            }
            return reader
        }
        let (frames, _) = try run(capture)
        #expect(capture.isInterlaced)
        let lines = (0..<10).map { row in frames[0].buffer.withRow(row, ofPlane: 0) { $0[5] } }
        #expect(lines == (0..<10).map { deinterlaces || $0 % 2 == 0 ? 50 : 200 })
    }
}
