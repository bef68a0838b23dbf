import VideoCapturing

/// Captures from a camera that only libcamera can run: those of the Raspberry Pi, and of laptops whose sensors deliver raw
/// data.
///
/// ```swift
/// let capture = LibcameraCapturer(preset: .hd1280x720, desiredFrameRate: 30)
/// capture.videoCaptureConsumer = encoder
/// try capture.initCapture()
/// try capture.startCapture()
/// ```
///
/// **Frames** are NV12. Where the camera delivers NV12 in the requested size they are in the camera's own memory, unless
/// consumers keep too many of them: then the camera needs its buffers, and frames are copied. All other formats are converted,
/// cropped and scaled in one pass. Timestamps are the start of the exposure, on the monotonic clock.
///
/// **Faults.** A camera that is unplugged, taken by another program or silent makes the state `interrupted`; the capture goes
/// on when the camera is back. `initCapture` throws `deviceNotFound`, `deviceBusy`, `permissionDenied`, `formatUnsupported`
/// and `invalidConfiguration`.
///
/// A program that was built where libcamera was missing has no such cameras: `initCapture` throws `deviceNotFound`.
public final class LibcameraCapturer: ForwardingVideoCapture {
    public let forwardedCapture: SourceCapturer

    /// The requested camera, format and behavior.
    public let configuration: LibcameraCapturer.Configuration
    let status = LibcameraStatus()

    /// A capture that has not opened its camera yet; `initCapture` does.
    ///
    /// - Parameters:
    ///   - device: the camera, as in ``Configuration/device``; nil for the first one.
    ///   - preset: the size of the frames in pixels.
    ///   - desiredFrameRate: the maximum number of frames per second.
    public convenience init(
        device: String? = nil, preset: PixelSize = .vga640x480, desiredFrameRate: FrameRate = 30
    ) {
        self.init(LibcameraCapturer.Configuration(device: device, preset: preset, desiredFrameRate: desiredFrameRate))
    }

    /// A capture that has not opened its camera yet; `initCapture` does.
    ///
    /// - Parameter configuration: the requested camera, format and behavior.
    public init(_ configuration: LibcameraCapturer.Configuration) {
        self.configuration = configuration
        forwardedCapture = SourceCapturer(LibcameraSource(configuration, status: status), name: "libcamera")
    }

    /// The camera that `initCapture` found; nil before.
    public var device: LibcameraDevice? { status.contents.withLock { $0.device } }

    /// The format that the camera delivers, as text: `NV12 1280x720`; nil before `initCapture`.
    public var mode: String? { status.contents.withLock { $0.mode } }

    /// Counts of how frames were delivered, since `initCapture`.
    public var libcameraStatistics: LibcameraCapturer.Statistics { status.contents.withLock { $0.statistics } }

    /// Sets the handler that is called with events as sentences for the user: unplugged, back, busy, restarting.
    ///
    /// It is called on the capture thread: it must return soon and must not start, stop or release the capture.
    public func setNoticeHandler(_ handler: (@Sendable (String) -> Void)?) {
        status.contents.withLock { $0.noticeHandler = handler }
    }

    /// Counts of how frames were delivered.
    public struct Statistics: Sendable, Hashable {
        /// Frames delivered in the camera's own memory.
        public var framesLent: UInt64 = 0
        /// Frames copied, because the camera needed its buffer back.
        public var framesCopied: UInt64 = 0
        /// Frames converted, cropped or scaled.
        public var framesConverted: UInt64 = 0
        /// Frames left out to keep to the desired rate.
        public var framesDecimated: UInt64 = 0
        /// Frames whose time is the time of their arrival, because the camera stated no plausible one.
        public var timestampsReplaced: UInt64 = 0
        /// Restarts of the stream, or openings of the camera, after a failure.
        public var restarts: UInt64 = 0

        /// All counts at zero.
        public init() {}
    }
}

extension LibcameraCapturer {
    /// The requested camera, its format, and the behavior of the capture.
    public struct Configuration: Sendable, Hashable {
        /// Which camera: a ``LibcameraDevice/id``, a part of it, or a part of the model's name, whatever its case; nil for the
        /// first one.
        public var device: String?
        /// The size in pixels of the delivered frames. Larger frames are cropped and scaled down; smaller ones, where the
        /// camera has none that are large enough, are delivered as they are.
        public var preset: PixelSize
        /// The desired number of frames per second. More are never delivered.
        public var desiredFrameRate: FrameRate
        /// Controls to set before the capture starts, by the name in libcamera (`AnalogueGain`) in any case, with values as
        /// text: numbers, and `true` or `false`.
        public var controls: [ControlSetting]
        /// Whether to wait for a camera that was unplugged or has failed, and to resume; otherwise the capture stops with
        /// `deviceLost`, or with the error.
        public var reconnects: Bool
        /// The number of buffers to request, 3 to 16; the camera may give more or fewer.
        public var bufferCount: Int

        /// Makes a configuration; each parameter sets the property of its name, and `bufferCount` is clamped to its range.
        public init(
            device: String? = nil, preset: PixelSize = .vga640x480, desiredFrameRate: FrameRate = 30,
            controls: [ControlSetting] = [], reconnects: Bool = true, bufferCount: Int = 6
        ) {
            self.device = device
            self.preset = preset
            self.desiredFrameRate = desiredFrameRate
            self.controls = controls
            self.reconnects = reconnects
            self.bufferCount = min(max(bufferCount, 3), 16)
        }

        /// A control and the value to set, both as text: `AnalogueGain` and `2.5`.
        public struct ControlSetting: Sendable, Hashable {
            /// The control's name.
            public var name: String
            /// The value.
            public var value: String

            /// Makes a setting from a control's name and a value.
            public init(name: String, value: String) {
                self.name = name
                self.value = value
            }
        }
    }
}

/// What the capture thread publishes, and any thread may read.
final class LibcameraStatus: Sendable {
    struct Contents {
        var device: LibcameraDevice?
        var mode: String?
        var statistics = LibcameraCapturer.Statistics()
        var noticeHandler: (@Sendable (String) -> Void)?
    }

    let contents = Locked(Contents())

    func count(_ change: (inout LibcameraCapturer.Statistics) -> Void) {
        contents.withLock { change(&$0.statistics) }
    }

    func report(_ notice: String) {
        contents.withLock { $0.noticeHandler }?(notice)
    }
}
