import VideoCapturing

extension CameraCapturer {
    /// The requested camera, its format, and the behavior of the capture.
    public struct Configuration: Sendable, Hashable {
        /// Which camera: a path (`/dev/video0`), the name of a link in `/dev/v4l/by-id` or `by-path`, a
        /// ``CameraDevice/id``, a number, or a part of the camera's name; nil for the first usable one.
        public var device: String?
        /// The size in pixels of the delivered frames; nil for the camera's own at the desired rate.
        /// Larger frames are scaled down and cropped, smaller ones are delivered as they are.
        public var preset: PixelSize?
        /// The desired number of frames per second. More are never delivered.
        public var desiredFrameRate: FrameRate
        /// Whether the size or the rate has priority where the camera has no mode with both.
        public var policy: CameraMode.Request.Policy
        /// The only format of the camera that may be used; nil for the best.
        public var captureFormat: FourCC?
        /// Controls to set before the capture starts: names and values as ``CameraCapturer/setControl(_:to:)`` takes them.
        public var controls: [ControlSetting]
        /// Whether to keep the camera from halving its rate in low light (`exposure_dynamic_framerate` is set to 0 and
        /// restored at release).
        public var keepsFrameRate: Bool
        /// Whether to wait for a camera that was unplugged or has failed, and to resume; otherwise the capture stops with
        /// `deviceLost`, or with the error.
        public var reconnects: Bool
        /// The number of buffers to request from the driver, 2 to 32.
        public var bufferCount: Int
        /// Whether frames of two fields, as of analog video, are deinterlaced: one field is kept, and the lines between are
        /// interpolated. Otherwise they are delivered as they are, with combs where something moves.
        public var deinterlaces: Bool
        /// Whether frames or packets are captured.
        var media = CameraMode.Request.Media.frames
        /// How the camera encodes packets.
        var encoder = EncoderSettings()

        /// Makes a configuration; each parameter sets the property of its name, and `bufferCount` is clamped to its range.
        public init(
            device: String? = nil, preset: PixelSize? = nil, desiredFrameRate: FrameRate = 30,
            policy: CameraMode.Request.Policy = .frameRateFirst, captureFormat: FourCC? = nil,
            controls: [ControlSetting] = [], keepsFrameRate: Bool = false, reconnects: Bool = true,
            bufferCount: Int = 6,
            deinterlaces: Bool = true
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
            self.deinterlaces = deinterlaces
        }

        /// A control and the value to set, both as text: `brightness` and `128`.
        public struct ControlSetting: Sendable, Hashable {
            /// The control's name, as ``CameraControl/name``.
            public var name: String
            /// The value, as ``CameraControl/parse(_:)`` reads it.
            public var value: String

            /// Makes a setting from a control's name and a value.
            public init(name: String, value: String) {
                self.name = name
                self.value = value
            }
        }
    }
}

extension CameraCapturer.Configuration {
    /// - Throws: `invalidConfiguration` for a size that no frame can have.
    func validate() throws(CaptureError) {
        guard let preset else { return }
        try VideoFormat.nv12(width: preset.width, height: preset.height).validate()
    }

    /// The request for the mode search.
    ///
    /// - Parameter native: the camera's present format, whose size is the default.
    func modeRequest(native: StreamFormat?) -> CameraMode.Request {
        let own = native.map { PixelSize(width: $0.width, height: $0.height) }
        return CameraMode.Request(
            size: preset ?? own ?? .vga640x480, rate: desiredFrameRate, policy: policy,
            requiredFourCC: captureFormat, media: media)
    }
}
