import CapturerTestKit
import PatternCapturer
import Testing
import VideoCapturing

@Suite struct PatternCapturerTests {
    @Test(arguments: PatternCapturer.Pattern.allCases)
    func keepsTheContract(pattern: PatternCapturer.Pattern) async {
        for format in [PixelFormat.nv12, .i420] {
            let report = await ConformanceSuite(name: "\(pattern) \(format)") {
                PatternCapturer(pattern, format: VideoFormat(format, width: 35, height: 17), frameRate: 200)
            }.runDetached()
            #expect(report.failures.isEmpty, "\(report)")
        }
    }

    /// 75 % bars in BT.601: what every other generator shows.
    @Test(arguments: [PixelFormat.nv12, .i420]) func theColorsOfTheBars(format: PixelFormat) throws {
        let frame = try #require(try frames(.bars, format, width: 320, height: 160, count: 1).first)
        let expected: [(UInt8, UInt8, UInt8)] = [
            (180, 128, 128), (162, 44, 142), (131, 156, 44), (112, 72, 58), (84, 184, 198), (65, 100, 212),
            (35, 212, 114), (16, 128, 128),
        ]
        for (bar, color) in expected.enumerated() {
            #expect(sample(frame, column: bar * 40 + 20, row: 10) == [color.0, color.1, color.2], "bar \(bar)")
        }
        #expect(sample(frame, column: 0, row: 159) == [16, 128, 128])
        #expect(sample(frame, column: 319, row: 159) == [235, 128, 128])
    }

    @Test func theBallMovesAndTheNumberCounts() throws {
        for pattern in [PatternCapturer.Pattern.ball, .clock] {
            let made = try frames(pattern, .nv12, width: 320, height: 240, count: 3)
            let bytes = made.map { frame in
                (0..<240).flatMap { row in frame.buffer.withRow(row, ofPlane: 0) { Array($0) } }
            }
            #expect(Set(bytes).count == 3, "\(pattern)")
        }
        let still = try frames(.bars, .nv12, width: 64, height: 64, count: 2)
        #expect(sample(still[0], column: 9, row: 9) == sample(still[1], column: 9, row: 9))
    }

    @Test(arguments: [(16, 16), (17, 33), (35, 1000), (1001, 16), (1920, 1080)])
    func everySizeCanBeDrawn(size: (Int, Int)) throws {
        for pattern in PatternCapturer.Pattern.allCases {
            #expect(try frames(pattern, .i420, width: size.0, height: size.1, count: 2).count == 2)
        }
    }

    @Test(arguments: [(15, 16), (0, 0), (-4, 40), (16384, 20)]) func refusesSizes(size: (Int, Int)) {
        #expect {
            try PatternCapturer(format: .nv12(width: size.0, height: size.1)).initCapture()
        } throws: {
            ($0 as? CaptureError)?.code == .invalidConfiguration
        }
    }

    private func frames(
        _ pattern: PatternCapturer.Pattern, _ format: PixelFormat, width: Int, height: Int, count: Int
    ) throws -> [VideoFrame] {
        let capture = PatternCapturer(
            pattern, format: VideoFormat(format, width: width, height: height), frameRate: 30, clock: VirtualClock())
        let consumer = RecordingConsumer(limit: count)
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        try capture.startCapture()
        let haveCome = consumer.waitForFrames(count)
        try capture.stopCapture()
        capture.releaseCapture()
        try #require(haveCome)
        return consumer.frames
    }

    /// Luma and chroma of a pixel.
    private func sample(_ frame: VideoFrame, column: Int, row: Int) -> [UInt8] {
        let luma = frame.buffer.withRow(row, ofPlane: 0) { $0[column] }
        guard frame.pixelFormat == .nv12 else {
            return [luma] + (1...2).map { plane in frame.buffer.withRow(row / 2, ofPlane: plane) { $0[column / 2] } }
        }
        return [luma] + frame.buffer.withRow(row / 2, ofPlane: 1) { [$0[column / 2 * 2], $0[column / 2 * 2 + 1]] }
    }
}
