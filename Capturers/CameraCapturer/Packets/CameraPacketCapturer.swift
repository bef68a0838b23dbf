public import PacketCapturing
import V4L2Support
import VideoCapturing

/// Captures the packets of a V4L2 camera that encodes: H.264, H.265 or JPEG as the camera gives them. Nothing is decoded or
/// encoded.
///
/// ```swift
/// let camera = CameraPacketCapturer(.init(device: "C920", codec: .h264, size: .hd1280x720))
/// let publisher = MediaPublisher(packets: camera, settings: settings)
/// ```
///
/// **Packets** are one picture each. H.264 and H.265 are byte streams; the parameter sets come before each key frame, also of
/// a camera that sends them once. `initCapture` streams for a moment to learn them. Sizes are the camera's: packets are not
/// scaled. JPEG is thinned out to the desired rate, the other codecs are not. B-frames are switched off where the camera has
/// a control for them; the times of others are not in the order of decoding.
///
/// **Faults** are those of `CameraCapturer`, and handled by the same code: a camera that is unplugged, stalls
/// or fails makes the state `interrupted`, and the capture resumes when the same camera is back. Packets of H.264 and H.265
/// go on with a key frame then, and after each loss; the camera is asked for one if it can.
///
/// V4L2: <https://docs.kernel.org/userspace-api/media/v4l/v4l2.html>.
public final class CameraPacketCapturer: ForwardingPacketCapture {
    public let forwardedCapture: PacketSourceCapturer

    /// The requested device, codec and behavior.
    public let configuration: CameraPacketCapturer.Configuration
    private let status = CameraStatus()
    private let calls: any DeviceCalls

    /// Makes a capture that has not opened its camera yet; `initCapture` does.
    ///
    /// - Parameters:
    ///   - configuration: the requested device, codec and behavior.
    ///   - clock: the clock of the timestamps. It must be the driver's, which is the monotonic clock, except in tests.
    public convenience init(
        _ configuration: CameraPacketCapturer.Configuration = Configuration(),
        clock: any CaptureClock = MonotonicClock()
    ) {
        self.init(configuration, clock: clock, directory: CameraDirectory())
    }

    /// - Parameter firstKeyFrameLimit: how long the first key frame may take. Some cameras send one in ten seconds.
    init(
        _ configuration: CameraPacketCapturer.Configuration, clock: any CaptureClock, directory: CameraDirectory,
        firstKeyFrameLimit: Duration = .seconds(15)
    ) {
        self.configuration = configuration
        calls = directory.calls
        let camera = CameraSource(configuration.camera, status: status, directory: directory)
        forwardedCapture = PacketSourceCapturer(
            CameraPacketSource(camera, firstKeyFrameLimit: firstKeyFrameLimit), name: "camera", clock: clock,
            openTimeout: firstKeyFrameLimit + .seconds(25))
    }

    /// The camera that `initCapture` found, whether or not it could be configured; nil before.
    public var device: CameraDevice? { status.contents.withLock { $0.device } }

    /// The negotiated mode, and why it was chosen; nil before `initCapture`.
    public var decision: CameraMode.Decision? { status.contents.withLock { $0.decision } }

    /// Statistics of the camera, in addition to `PacketCapture.statistics`; a frame is a packet here.
    public var cameraStatistics: CameraCapturer.Statistics { status.contents.withLock { $0.statistics } }

    /// The camera's controls with their values; also available while it captures. The controls of an encoder are among them
    /// where the camera has some.
    ///
    /// - Throws: `invalidState` before `initCapture`, and the errors of ``CameraDevice/controls()``.
    public func controls() throws(CaptureError) -> [CameraControl] {
        try status.knownDevice("list the controls", configuration.device).controls(calls)
    }

    /// Sets a control by its name; see ``CameraCapturer/setControl(_:to:)``.
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

    /// Sets the handler that is called with the events of the camera.
    ///
    /// It is called on the capture thread: it must return soon and must not start, stop or release the capture.
    public func setEventHandler(_ handler: (@Sendable (CameraCapturer.Event) -> Void)?) {
        status.contents.withLock { $0.eventHandler = handler }
    }
}

extension CameraPacketCapturer {
    /// The requested camera, its codec, and the behavior of the capture.
    public struct Configuration: Sendable, Hashable {
        /// Which camera, as in ``CameraCapturer/Configuration/device``; nil for the first usable one.
        public var device: String?
        /// The codec: `h264`, `jpeg` or `hevc`; nil for the best that the camera has, H.264 and H.265 before JPEG of the same
        /// size and rate.
        public var codec: Codec?
        /// The desired size in pixels; nil for the camera's present one. The nearest that the camera has is taken.
        public var size: PixelSize?
        /// The desired number of packets per second.
        public var desiredFrameRate: FrameRate
        /// Whether the size or the rate has priority where the camera has no mode with both.
        public var policy: CameraMode.Request.Policy
        /// The bitrate of the camera's encoder in bits per second; nil for the camera's own. `initCapture` throws
        /// `invalidConfiguration` where the camera has no control for it.
        public var bitrate: Int?
        /// The time between key frames; nil for the camera's own. `initCapture` throws `invalidConfiguration` where the camera
        /// has no control for it.
        public var keyFrameInterval: Duration?
        /// Controls to set before the capture starts, as in ``CameraCapturer/Configuration/controls``.
        public var controls: [CameraCapturer.Configuration.ControlSetting]
        /// Whether to keep the camera from halving its rate in low light; see
        /// ``CameraCapturer/Configuration/keepsFrameRate``.
        public var keepsFrameRate: Bool
        /// Whether to wait for a camera that was unplugged or has failed, and to resume.
        public var reconnects: Bool
        /// The number of buffers to request from the driver, 2 to 32. A consumer may be as many packets late before the driver
        /// loses some.
        public var bufferCount: Int

        /// Makes a configuration; each parameter sets the property of its name, and `bufferCount` is clamped to its range.
        public init(
            device: String? = nil, codec: Codec? = nil, size: PixelSize? = nil, desiredFrameRate: FrameRate = 30,
            policy: CameraMode.Request.Policy = .frameRateFirst, bitrate: Int? = nil, keyFrameInterval: Duration? = nil,
            controls: [CameraCapturer.Configuration.ControlSetting] = [], keepsFrameRate: Bool = false,
            reconnects: Bool = true, bufferCount: Int = 8
        ) {
            self.device = device
            self.codec = codec
            self.size = size
            self.desiredFrameRate = desiredFrameRate
            self.policy = policy
            self.bitrate = bitrate
            self.keyFrameInterval = keyFrameInterval
            self.controls = controls
            self.keepsFrameRate = keepsFrameRate
            self.reconnects = reconnects
            self.bufferCount = min(max(bufferCount, 2), 32)
        }
    }
}

extension CameraPacketCapturer.Configuration {
    /// The configuration of the camera's loop.
    var camera: CameraCapturer.Configuration {
        var camera = CameraCapturer.Configuration(
            device: device, preset: size, desiredFrameRate: desiredFrameRate, policy: policy, controls: controls,
            keepsFrameRate: keepsFrameRate, reconnects: reconnects, bufferCount: bufferCount)
        camera.media = .packets(codec)
        camera.encoder = EncoderSettings(bitrate: bitrate, keyFrameInterval: keyFrameInterval)
        return camera
    }
}
