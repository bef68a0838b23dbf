import VideoCapturing

/// A capture of a V4L2 camera: NV12 at the best frame rate that the camera has for the size, through every fault.
///
/// ```swift
/// let capture = CameraCapturer(device: "C920", preset: .hd1280x720, desiredFrameRate: 30)
/// capture.videoCaptureConsumer = encoder
/// try capture.initCapture()
/// print(capture.decision!)
/// try capture.startCapture()
/// ```
///
/// **Frames** are NV12, in the driver's own memory where the camera gives that in the size asked for, and no consumer
/// keeps so many that the driver would run out of buffers; else they are copied, converted or decoded in one pass. Where
/// all consumers can take the camera's own format (`CaptureWants.acceptsNativeFormat`) that is lent likewise. Their
/// timestamps are the driver's, as far as it can be believed; their delay is measured from there.
///
/// **Faults.** A camera that is unplugged, stalls or fails makes the state `interrupted`, and the capture goes on by
/// itself when the same camera is back, at whichever path: see ``CameraEvent`` for what is told meanwhile. What can
/// not be got over at the start is thrown by `initCapture` or `startCapture`: `deviceNotFound`, `permissionDenied`,
/// `deviceBusy`, `formatUnsupported`, `invalidConfiguration`.
///
/// V4L2: <https://docs.kernel.org/userspace-api/media/v4l/v4l2.html>.
public final class CameraCapturer: ForwardingVideoCapture {
    public let forwardedCapture: SourceCapturer

    /// What is asked of the camera.
    public let configuration: CameraConfiguration
    private let status = CameraStatus()
    private let calls: any DeviceCalls

    /// Opens nothing yet; `initCapture` does.
    ///
    /// - Parameters:
    ///   - device: which camera, as ``CameraConfiguration/device`` has it; nil for the first that can be used.
    ///   - preset: the size of the frames; nil for the camera's own.
    ///   - desiredFrameRate: the frames a second that are wanted.
    public convenience init(
        device: String? = nil, preset: PixelSize? = nil, desiredFrameRate: FrameRate = 30
    ) {
        self.init(CameraConfiguration(device: device, preset: preset, desiredFrameRate: desiredFrameRate))
    }

    /// Opens nothing yet; `initCapture` does.
    ///
    /// - Parameters:
    ///   - configuration: what is asked of the camera.
    ///   - clock: the clock of the timestamps; must be the driver's, the monotonic clock, but for tests.
    public convenience init(_ configuration: CameraConfiguration, clock: any CaptureClock = MonotonicClock()) {
        self.init(configuration, clock: clock, directory: CameraDirectory())
    }

    init(
        _ configuration: CameraConfiguration, clock: any CaptureClock, directory: CameraDirectory
    ) {
        self.configuration = configuration
        calls = directory.calls
        forwardedCapture = SourceCapturer(
            CameraSource(configuration, status: status, directory: directory), name: "camera",
            clock: clock)
    }

    /// The camera that was found, whether or not it could be set up; nil before `initCapture`.
    public var device: CameraDevice? { status.contents.withLock { $0.device } }

    /// The mode that was settled, and why; nil before `initCapture`.
    public var decision: CameraModeDecision? { status.contents.withLock { $0.decision } }

    /// What is counted of the camera, beside `VideoCapture.statistics`.
    public var cameraStatistics: CameraStatistics { status.contents.withLock { $0.statistics } }

    /// The camera's controls with their values; also while it captures.
    ///
    /// Throws `invalidState` before `initCapture`, and what ``CameraDevice/controls()`` throws.
    public func controls() throws(CaptureError) -> [CameraControl] {
        try knownDevice("list the controls").controls(calls)
    }

    /// Sets a control by its name; also while the camera captures, and again after it was unplugged.
    ///
    /// Throws `invalidState` before `initCapture`, and what ``CameraDevice/setControl(_:to:)`` throws.
    @discardableResult
    public func setControl(_ name: String, to value: String) throws(CaptureError) -> CameraControlValue {
        let done = try knownDevice("set the control").setControl(name, to: value, calls)
        status.noteControl(id: done.id, value: done.value)
        return done.value
    }

    /// The camera's own memory that a frame is in, for other devices: one for each plane of memory. Nil for a frame that
    /// was copied or converted, or whose stream has ended.
    ///
    /// Any thread. Throws `system` when the driver does not export its buffers.
    public func dmaBuffers(of frame: VideoFrame) throws(CaptureError) -> [DMABuffer]? {
        guard let exporter = status.contents.withLock({ $0.exporter }) else { return nil }
        do {
            return try exporter.export(frame.buffer)
        } catch {
            throw CaptureError(
                .system, operation: error.request, subject: device?.path, errno: error.number,
                message: "The camera's driver does not share its buffers; use the frame's pixels.")
        }
    }

    private func knownDevice(_ operation: String) throws(CaptureError) -> CameraDevice {
        if let device { return device }
        throw CaptureError(
            .invalidState, operation: operation, subject: configuration.device,
            message: "The camera is not known yet; call initCapture first.")
    }

    /// Has `handler` called with what happens to the camera: on the capture thread, so it must return soon and must not
    /// start, stop or release the capture.
    public func setEventHandler(_ handler: (@Sendable (CameraEvent) -> Void)?) {
        status.contents.withLock { $0.eventHandler = handler }
    }
}
