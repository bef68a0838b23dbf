import V4L2Support
import VideoCapturing

/// Captures from a V4L2 camera: NV12 at the best frame rate that the camera has for the size, with recovery from
/// faults.
///
/// ```swift
/// let capture = CameraCapturer(device: "C920", preset: .hd1280x720, desiredFrameRate: 30)
/// capture.videoCaptureConsumer = encoder
/// try capture.initCapture()
/// print(capture.decision!)
/// try capture.startCapture()
/// ```
///
/// **Frames** are NV12. They are in the driver's own memory where the camera delivers NV12 in the requested size and
/// the consumers keep few enough frames that the driver does not run out of buffers; otherwise they are copied,
/// converted or decoded in one pass. Where all consumers accept the camera's own format
/// (`CaptureWants.acceptsNativeFormat`), frames are lent in that format likewise. Other devices can import lent frames
/// (`PixelBuffer.dmaBuffers`) as long as their stream lasts. Timestamps are the driver's if they
/// pass validation, otherwise the time of arrival; the capture delay is measured from the driver's timestamp.
///
/// **Faults.** A camera that is unplugged, stalls or fails makes the state `interrupted`. The capture resumes
/// automatically when the same camera is back, at whichever path; ``CameraCapturer/Event`` reports the progress. `initCapture`
/// and `startCapture` throw the errors from which there is no recovery at the start: `deviceNotFound`,
/// `permissionDenied`, `deviceBusy`, `formatUnsupported`, `invalidConfiguration`.
///
/// V4L2: <https://docs.kernel.org/userspace-api/media/v4l/v4l2.html>.
public final class CameraCapturer: ForwardingVideoCapture {
    public let forwardedCapture: SourceCapturer

    /// The requested device, format and behavior.
    public let configuration: CameraCapturer.Configuration
    let status = CameraStatus()
    let calls: any DeviceCalls
    /// Held over calls of the driver, which are as slow as the camera: for adjustments alone.
    let adjuster = Locked(ControlAdjuster())

    /// Makes a capture that has not opened its camera yet; `initCapture` does.
    ///
    /// - Parameters:
    ///   - device: the camera, as in ``CameraCapturer/Configuration/device``; nil for the first usable one.
    ///   - preset: the size of the frames; nil for the camera's own.
    ///   - desiredFrameRate: the maximum number of frames per second.
    public convenience init(
        device: String? = nil, preset: PixelSize? = nil, desiredFrameRate: FrameRate = 30
    ) {
        self.init(CameraCapturer.Configuration(device: device, preset: preset, desiredFrameRate: desiredFrameRate))
    }

    /// Makes a capture that has not opened its camera yet; `initCapture` does.
    ///
    /// - Parameters:
    ///   - configuration: the requested device, format and behavior.
    ///   - clock: the clock of the timestamps. It must be the driver's, which is the monotonic clock, except in tests.
    public convenience init(_ configuration: CameraCapturer.Configuration, clock: any CaptureClock = MonotonicClock()) {
        self.init(configuration, clock: clock, directory: CameraDirectory())
    }

    init(
        _ configuration: CameraCapturer.Configuration, clock: any CaptureClock, directory: CameraDirectory
    ) {
        self.configuration = configuration
        calls = directory.calls
        forwardedCapture = SourceCapturer(
            CameraSource(configuration, status: status, directory: directory), name: "camera",
            clock: clock)
    }

    /// The camera that `initCapture` found, whether or not it could be configured; nil before.
    public var device: CameraDevice? { status.contents.withLock { $0.device } }

    /// The negotiated mode, and why it was chosen; nil before `initCapture`.
    public var decision: CameraMode.Decision? { status.contents.withLock { $0.decision } }

    /// Statistics of the camera, in addition to `VideoCapture.statistics`.
    public var cameraStatistics: CameraCapturer.Statistics { status.contents.withLock { $0.statistics } }

    /// The camera's controls with their values; also available while it captures.
    ///
    /// - Throws: `invalidState` before `initCapture`, and the errors of ``CameraDevice/controls()``.
    public func controls() throws(CaptureError) -> [CameraControl] {
        try knownDevice("list the controls").controls(calls)
    }

    /// Sets a control by its name; also available while the camera captures. The value is restored after an unplug.
    ///
    /// - Parameters:
    ///   - name: the control's name, as ``CameraControl/name``.
    ///   - value: the value, as ``CameraControl/parse(_:)`` reads it.
    /// - Returns: the value that the driver has set: drivers round to their steps.
    /// - Throws: `invalidState` before `initCapture`, and the errors of ``CameraDevice/setControl(_:to:)``.
    @discardableResult
    public func setControl(_ name: String, to value: String) throws(CaptureError) -> CameraControl.Value {
        try status.setControl(name, to: value, configuration.device, calls)
    }

    func knownDevice(_ operation: String) throws(CaptureError) -> CameraDevice {
        try status.knownDevice(operation, configuration.device)
    }

    /// Sets the handler that is called with the events of the camera.
    ///
    /// It is called on the capture thread: it must return soon and must not start, stop or release the capture.
    public func setEventHandler(_ handler: (@Sendable (CameraCapturer.Event) -> Void)?) {
        status.contents.withLock { $0.eventHandler = handler }
    }
}
