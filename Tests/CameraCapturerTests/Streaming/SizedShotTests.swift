import Testing
import VideoCapturing

@testable import CameraCapturer

/// Frames of another size than the stream's.
@Suite struct SizedShotTests {
    private static let usual = PixelSize(width: 64, height: 48)
    private static let large = PixelSize(width: 128, height: 96)
    private let run: CaptureRun

    init() throws {
        let machine = StreamingMachine([
            FakeCamera.Mode(fourCC: .nv12, width: 64, height: 48, rate: 200),
            FakeCamera.Mode(fourCC: .nv12, width: 128, height: 96, rate: 100),
        ])
        let configuration = CameraCapturer.Configuration(preset: SizedShotTests.usual, desiredFrameRate: 200)
        run = try CaptureRun.running(machine, configuration)
    }

    @Test func theStreamIsInterruptedAndGoesOn() throws {
        run.probe.set { $0.keeps = 10_000 }
        let timestamp: MediaTime
        do {
            let frame = try run.capture.captureFrame(of: SizedShotTests.large)
            #expect(frame.width == 128 && frame.height == 96)
            // Still readable, though its mode has ended.
            let byte = frame.buffer.withRow(0, ofPlane: 0) { $0[0] }
            #expect(frame.buffer.withRow(95, ofPlane: 0) { $0.allSatisfy { $0 == byte } })
            timestamp = frame.timestamp
        }
        #expect(run.probe.waitForMore(5))
        #expect(run.capture.state == .running)
        #expect(run.wasIn(.interrupted(.other("A still of 128x96 is being taken."))))
        // Again, since the way back leaves all as it was.
        #expect(try run.capture.captureFrame(of: SizedShotTests.large, skippedFrames: 0).timestamp > timestamp)
        #expect(run.probe.waitForMore(5))
        _ = try run.stop()
        #expect(run.probe.kept.allSatisfy { $0.width == 64 && $0.height == 48 }, "consumers get none of them")
        let times = run.probe.notes.map(\.timestamp)
        #expect(times == times.sorted() && Set(times).count == times.count)
        #expect(run.leak == nil)
    }

    @Test func aSizeThatTheCameraHasNot() throws {
        let error = #expect(throws: CaptureError.self) {
            try run.capture.captureFrame(of: PixelSize(width: 640, height: 480))
        }
        #expect(
            error?.code == .formatUnsupported && error?.message.contains("128x96") == true, "\(error?.message ?? "")")
        #expect(run.probe.waitForMore(5))
        #expect(run.leak == nil)
    }

    @Test func aCaptureThatDoesNotRun() throws {
        _ = try run.stop()
        let error = #expect(throws: CaptureError.self) { try run.capture.captureFrame(of: SizedShotTests.large) }
        #expect(error?.code == .invalidState)
    }

    @Test func anUnpluggedCamera() throws {
        run.machine.unplug()
        #expect(run.waitForState(.interrupted(.deviceDisconnected)))
        let error = #expect(throws: CaptureError.self) {
            try run.capture.captureFrame(of: SizedShotTests.large, timeout: .milliseconds(-1900))
        }
        #expect(error?.code == .stalled)
        run.machine.plug()
        #expect(run.probe.waitForMore(5))
        #expect(run.leak == nil)
    }
}
