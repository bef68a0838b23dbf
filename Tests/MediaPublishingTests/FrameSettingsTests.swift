import CapturerTestKit
import FrameProcessing
import Testing
import VP8Codec
import VideoCapturing

@testable import MediaPublishing

@Suite struct FrameSettingsTests {
    /// A picture whose luma is the column's number, as far as it goes.
    private func ramp(_ width: Int, _ height: Int, _ orientation: VideoOrientation = .up) throws -> VideoFrame {
        let buffer = try PixelBuffer.make(.i420, width: width, height: height) { pixels in
            pixels.fill(plane: 0) { column, _ in UInt8(clamping: column + 20) }
            pixels.fill(plane: 1, with: 128)
            pixels.fill(plane: 2, with: 128)
        }
        return VideoFrame(buffer: buffer, timestamp: .zero, orientation: orientation)
    }

    private func shape(_ frame: VideoFrame, _ settings: MediaPublisher.FrameSettings) throws -> VideoFrame {
        try FrameShaper(settings, FrameTransform()).shape(frame)
    }

    private func luma(_ frame: VideoFrame, _ x: Int, _ y: Int) -> UInt8 {
        frame.buffer.withRow(y, ofPlane: 0) { $0[x] }
    }

    @Test func aPart() throws {
        let part = try shape(ramp(64, 48), .init(crop: PixelRect(x: 10, y: 4, width: 20, height: 16)))
        #expect((part.width, part.height) == (20, 16))
        #expect(luma(part, 0, 0) == 30 && luma(part, 19, 15) == 49)
        // Of another camera's smaller picture what there is.
        let rest = try shape(ramp(16, 8), .init(crop: PixelRect(x: 10, y: 4, width: 20, height: 16)))
        #expect((rest.width, rest.height) == (6, 4))
    }

    @Test func aPartOfAPictureThatLiesOnItsSide() throws {
        let part = try shape(ramp(64, 48, .left), .init(crop: PixelRect(x: 0, y: 0, width: 48, height: 10)))
        #expect((part.width, part.height) == (48, 10) && part.orientation == .up)
    }

    @Test(arguments: MediaPublisher.FrameSettings.Fit.allCases)
    func aSizeOfAnotherAspect(fit: MediaPublisher.FrameSettings.Fit) throws {
        let result = try shape(ramp(64, 48), .init(size: .init(width: 64, height: 24), fit: fit))
        #expect((result.width, result.height) == (64, 24))
        switch fit {
        case .pad: #expect(luma(result, 0, 12) == 16 && luma(result, 63, 12) == 16 && luma(result, 32, 12) > 20)
        case .crop, .stretch: #expect(luma(result, 0, 12) == 20 && luma(result, 63, 12) == 83)
        }
    }

    @Test(arguments: [(1, 1), (3, 5), (16383, 2), (100, 1)], [(1, 1), (7, 3), (64, 48)])
    func anySize(from: (Int, Int), to: (Int, Int)) throws {
        for fit in MediaPublisher.FrameSettings.Fit.allCases {
            let result = try shape(
                ramp(from.0, from.1), .init(size: .init(width: to.0, height: to.1), fit: fit, overlay: .init("x")))
            #expect((result.width, result.height) == to)
        }
    }

    @Test(
        "A size relative to the picture keeps its aspect",
        arguments: [
            ("50%", (32, 24)), ("half", (32, 24)), ("100%", (64, 48)), ("300%", (192, 144)), ("1%", (2, 2)),
            ("32x", (32, 24)), ("x12", (16, 12)), ("33x-1", (33, 24)), ("-2x24", (32, 24)), ("20:-2", (20, 16)),
            ("20x10", (20, 10)), ("qcif", (176, 144)),
        ])
    func aRelativeSize(text: String, expected: (Int, Int)) throws {
        let settings = try MediaPublisher.FrameSettings(OptionValues(["size": [text]]))
        let result = try shape(ramp(64, 48), settings)
        #expect((result.width, result.height) == expected)
        let format = VideoFormat(.i420, width: 64, height: 48)
        let announced = try settings.format(of: format, .up)
        #expect((announced.imageWidth, announced.imageHeight) == expected)
        // All of the picture, without bars.
        if settings.size?.keepsAspect == true {
            #expect(luma(result, 0, 0) >= 19 && luma(result, expected.0 - 1, 0) > 50)
        }
    }

    @Test(arguments: ["0%", "1001%", "0.5", "0x", "x0", "16385x", "x", "50 %", "-1x-1"])
    func noSize(text: String) {
        #expect(throws: OptionError.self) { try MediaPublisher.FrameSettings(OptionValues(["size": [text]])) }
    }

    @Test func theFormatIsThatOfTheFrames() throws {
        let source = VideoFormat(.i420, width: 64, height: 48, estimatedFramesPerSecond: 30)
        let settings = MediaPublisher.FrameSettings(frameRate: 10, size: .init(width: 20, height: 10))
        let format = try settings.format(of: source, .left)
        #expect(format.imageWidth == 20 && format.imageHeight == 10)
        #expect(format.estimatedFramesPerSecond == 10)
        let crop = MediaPublisher.FrameSettings(crop: PixelRect(x: 0, y: 0, width: 48, height: 64))
        #expect(try crop.format(of: source, .left).imageHeight == 64, "upright it is 48x64")
        #expect(throws: OptionError.self) { try crop.format(of: source, .up) }
        #expect(try MediaPublisher.FrameSettings(frameRate: 60).format(of: source, .up) == source)
    }

    @Test func outputsOfOnePublisherDiffer() throws {
        // Times of the test's own: a paced capture leaves out what a loaded machine is late for.
        let format = VideoFormat(.i420, width: 16, height: 8, estimatedFramesPerSecond: 100)
        let capture = PushCapturer(format: format, policy: .block)
        let publisher = MediaPublisher(video: capture, settings: .init(encoders: [.vp8]))
        let log = RunLog(publisher)
        let (all, few) = (RecordingConsumer(), RecordingConsumer())
        let queue = VideoPublisher.QueueSettings(capacity: 4, policy: .block)
        try publisher.add(ProbeOutput(all, .init(queue: queue)))
        try publisher.add(
            ProbeOutput(few, .init(queue: queue)),
            frames: .init(frameRate: FrameRate(100, per: 3), size: .init(width: 8, height: 8)))
        let (sink, small) = (ProbeSink(), ProbeSink())
        try publisher.add(ProbeOutput(sink, .init(codecs: [.vp8])))
        try publisher.add(ProbeOutput(small, .init(codecs: [.vp8])), frames: .init(frameRate: 50))
        try publisher.start()
        let start = MonotonicClock().now
        for number in 0..<30 {
            let buffer = try PixelBuffer.black(.i420, width: 16, height: 8, color: .bt601)
            #expect(capture.push(buffer, timestamp: start + .milliseconds(10 * number)))
        }
        capture.finish()
        #expect(try log.waitForEnd() == .captureStopped(.endOfStream))
        try publisher.stop()
        #expect(log.failures.isEmpty)
        #expect(all.count == 30 && few.count == 10)
        #expect(few.frames.allSatisfy { $0.width == 8 && $0.height == 8 })
        #expect(few.frames.map(\.sequenceNumber) == stride(from: 0, to: 30, by: 3).map { UInt64($0) })
        #expect(publisher.statistics.encoders.count == 2, "they cannot share one")
        // Where the machine is late, the last picture is encoded again at the end.
        #expect((30...31).contains(sink.packets.count) && (15...16).contains(small.packets.count))
    }
}
