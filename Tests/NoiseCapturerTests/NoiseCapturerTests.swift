import CapturerTestKit
import NoiseCapturer
import Testing
import VideoCapturing

@Suite struct NoiseCapturerTests {
    @Test(arguments: [PixelFormat.nv12, .i420, .argb])
    func keepsTheContract(format: PixelFormat) async {
        let report = await ConformanceSuite(name: "noise \(format)") {
            NoiseCapturer(format: VideoFormat(format, width: 35, height: 17), frameRate: 200)
        }.runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    /// Frames of an hour at 29.97 are due where they should be; the clock is virtual, so it takes no time.
    @Test func keepsItsRateWithoutDrift() throws {
        let rate = try #require(FrameRate(30000, per: 1001))
        let frames = try record(
            NoiseCapturer(format: .nv12(width: 2, height: 2), frameRate: rate, clock: VirtualClock()), count: 3000)
        for (index, frame) in frames.enumerated() {
            #expect(frame.timestamp - frames[0].timestamp == rate.time(ofFrame: Int64(index)))
            #expect(frame.sequenceNumber == UInt64(index))
        }
        #expect(frames[100].estimatedFrameRate == rate)
    }

    @Test func theSameSeedGivesTheSameFrames() throws {
        func digests(seed: UInt64) throws -> [[UInt8]] {
            try record(NoiseCapturer(format: .i420(width: 21, height: 9), frameRate: nil, seed: seed), count: 5)
                .map { frame in
                    (0..<3).flatMap { plane in
                        (0..<frame.buffer.planes[plane].rows).flatMap { row in
                            frame.buffer.withRow(row, ofPlane: plane) { Array($0) }
                        }
                    }
                }
        }
        let first = try digests(seed: 5)
        #expect(try digests(seed: 5) == first)
        #expect(Set(try digests(seed: 6) + first).count == 10)
    }

    @Test(arguments: [(1, 2), (0, 0), (-4, 4), (16384, 2)])
    func refusesSizes(size: (Int, Int)) {
        #expect {
            try NoiseCapturer(format: .nv12(width: size.0, height: size.1)).initCapture()
        } throws: {
            ($0 as? CaptureError)?.code == .invalidConfiguration
        }
    }

    @Test func refusesOtherPixelFormats() {
        #expect {
            try NoiseCapturer(format: VideoFormat(.yuy2, width: 4, height: 4)).initCapture()
        } throws: {
            ($0 as? CaptureError)?.code == .formatUnsupported
        }
    }

    @Test func followsWants() throws {
        let capture = NoiseCapturer(format: .nv12(width: 64, height: 48), frameRate: 500)
        capture.adapt(to: CaptureWants(maximumPixelCount: 16 * 12, maximumFrameRate: 100, sizeAlignment: 2))
        let frames = try record(capture, count: 4)
        #expect(frames.allSatisfy { $0.width == 16 && $0.height == 12 })
        #expect(frames[1].timestamp - frames[0].timestamp >= .milliseconds(10))
    }

    /// The first `count` frames of a capture.
    private func record(_ capture: NoiseCapturer, count: Int) throws -> [VideoFrame] {
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
}
