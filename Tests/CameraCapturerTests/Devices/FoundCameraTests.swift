import Testing
import VideoCapturing

@testable import CameraCapturer

/// What a capture that could not be set up says of its camera.
@Suite struct FoundCameraTests {
    private let machine = FakeMachine()

    private func failedCapture(_ device: String?) -> CameraCapturer {
        let capture = CameraCapturer(
            CameraCapturer.Configuration(device: device), clock: MonotonicClock(), directory: machine.directory)
        #expect(capture.device == nil)
        #expect(throws: CaptureError.self) { try capture.initCapture() }
        return capture
    }

    /// Then it is the request that is at fault, and not the name.
    @Test func aCameraThatIsThereIsNamed() {
        machine.addUSB("video0", .webcam())
        #expect(failedCapture("C920").device?.path == machine.path("video0"))
    }

    @Test func aCameraThatIsNotThereIsNot() {
        machine.addUSB("video0", .webcam())
        machine.addUSB("video1", index: 1, .metadata)
        #expect(failedCapture("nosuch").device == nil)
        #expect(failedCapture(machine.path("video1")).device == nil)
    }
}
