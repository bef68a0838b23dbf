import VideoCapturing

/// What is asked of a camera.
public struct CameraConfiguration: Sendable, Hashable {
    /// Which camera: a path (`/dev/video0`), the name of a link in `/dev/v4l/by-id` or `by-path`, a
    /// ``CameraDevice/id``, a number, or a part of the camera's name; nil for the first that can be used.
    public var device: String?
    /// The size in pixels in which frames are to be delivered; nil for the camera's own at the desired rate.
    /// What is larger is scaled down and cut, what is smaller is delivered as it is.
    public var preset: PixelSize?
    /// The frames a second that are wanted. More are never delivered.
    public var desiredFrameRate: FrameRate
    /// What gives way where the camera has no mode with both the size and the rate.
    public var policy: CameraModeRequest.Policy
    /// The only format of the camera's that may be used; nil for the best.
    public var captureFormat: FourCC?
    /// Controls to set before frames come: names and values as ``CameraCapturer/setControl(_:to:)`` takes them.
    public var controls: [ControlSetting]
    /// Whether to keep the camera from halving its rate in low light (`exposure_dynamic_framerate` is set to 0 and
    /// given back at release).
    public var keepsFrameRate: Bool
    /// Whether to wait for a camera that was unplugged or failed, and to go on with it; otherwise the capture stops
    /// with `deviceLost`, or with the error.
    public var reconnects: Bool
    /// How many buffers to ask the driver for, 2 to 32.
    public var bufferCount: Int

    public init(
        device: String? = nil, preset: PixelSize? = nil, desiredFrameRate: FrameRate = 30,
        policy: CameraModeRequest.Policy = .frameRateFirst, captureFormat: FourCC? = nil,
        controls: [ControlSetting] = [], keepsFrameRate: Bool = false, reconnects: Bool = true, bufferCount: Int = 6
    ) {
        self.device = device
        self.preset = preset
        self.desiredFrameRate = desiredFrameRate
        self.policy = policy
        self.captureFormat = captureFormat
        self.controls = controls
        self.keepsFrameRate = keepsFrameRate
        self.reconnects = reconnects
        self.bufferCount = min(max(bufferCount, 2), 32)
    }

    /// A control and the value that it is to have, both as text: `brightness` and `128`.
    public struct ControlSetting: Sendable, Hashable {
        public var name: String
        public var value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }
}

extension CameraConfiguration {
    /// Throws `invalidConfiguration` for a size that no picture has.
    func validate() throws(CaptureError) {
        guard let preset else { return }
        try VideoFormat.nv12(width: preset.width, height: preset.height).validate()
    }

    /// What a mode is to be chosen for.
    ///
    /// - Parameter native: the camera's present format, whose size serves where none is asked for.
    func modeRequest(native: StreamFormat?) -> CameraModeRequest {
        let own = native.map { PixelSize(width: $0.width, height: $0.height) }
        return CameraModeRequest(
            size: preset ?? own ?? .vga640x480, rate: desiredFrameRate, policy: policy,
            requiredFourCC: captureFormat)
    }
}
