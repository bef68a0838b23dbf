import CapturerTestKit
import CompositorCapturer
import TestTools
import Testing
import VideoCapturing

/// The scripted compositor of the end-to-end tests, whose screen changes at 50 Hz.
@Suite struct CompositorConformanceTests {
    private let folder = TemporaryFolder()
    private let compositor: Peer

    init() throws {
        let tests = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
        let program = "/\(tests)/EndToEnd/support/scripted_compositor.py"
        compositor = try #require(Peer("/usr/bin/env", ["python3", program, folder.file("wayland-1")]))
        try #require(compositor.line() == "ready")
    }

    private func capture(_ format: PixelFormat = .nv12) -> @Sendable () -> CompositorCapturer {
        let display = folder.file("wayland-1")
        return { CompositorCapturer(.init(display: display, pixelFormat: format)) }
    }

    @Test(arguments: [PixelFormat.nv12, .argb]) func keepsTheContract(format: PixelFormat) async throws {
        let report = await ConformanceSuite(name: "compositor \(format)", makeCapture: capture(format)).runDetached()
        #expect(report.failures.isEmpty, "\(report)")
    }

    /// The compositor may copy a picture long before the session that would show it.
    @Test func startsAgainWithAWholePictureOfNow() throws {
        let capture = capture()()
        let consumer = RecordingConsumer()
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        for count in [1, 2, 3, 1] {
            let start = MonotonicClock().now
            try capture.startCapture()
            try #require(consumer.waitForFrames(count))
            try capture.stopCapture()
            #expect(consumer.frames[0].damage == nil && consumer.frames.allSatisfy { $0.timestamp >= start })
            consumer.removeAll()
        }
        capture.releaseCapture()
    }
}
