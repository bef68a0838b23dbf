public import VideoCapturing

/// A capture of a PipeWire node: a camera that several programs share, another program's pictures, a screen cast.
///
/// ```swift
/// let capture = PipeWireCapturer(PipeWireCapturer.Configuration(node: "obs-virtual-camera"))
/// capture.videoCaptureConsumer = encoder
/// try capture.initCapture()
/// try capture.startCapture()
/// ```
///
/// **Frames** come when the node sends them, at most at the configured rate. Their timestamps are those of the node where
/// these are of the monotonic clock. NV12 lies in the node's own shared memory, without a copy, as long as enough buffers
/// are left to the node; RGB is converted, only the parts that have changed where the node states them. The size may change
/// at any frame.
///
/// **Changes.** When the node or the PipeWire server goes away, the state is `interrupted` until a node of the same name is
/// back. A node that is paused makes it `interrupted(.stalled)` after a second.
///
/// **Errors** of `initCapture`: `unavailable` without a server or a session manager, `deviceNotFound` for a node that does
/// not exist, `formatUnsupported`, `permissionDenied`.
///
/// PipeWire: <https://docs.pipewire.org/>.
public final class PipeWireCapturer: ForwardingVideoCapture {
    public let forwardedCapture: SourceCapturer

    /// The configuration of the capture.
    public let configuration: PipeWireCapturer.Configuration
    private let counts = Locked(PipeWireCapturer.Statistics())
    private let events = Locked<(@Sendable (PipeWireCapturer.Event) -> Void)?>(nil)

    /// Creates a capture without connecting; `initCapture` connects.
    ///
    /// - Parameters:
    ///   - configuration: the node, the preferred size, the rate and the format.
    ///   - clock: the clock of the timestamps.
    public init(
        _ configuration: PipeWireCapturer.Configuration = PipeWireCapturer.Configuration(),
        clock: any CaptureClock = MonotonicClock()
    ) {
        self.configuration = configuration
        forwardedCapture = SourceCapturer(
            PipeWireSource(configuration, counts: counts, events: events), name: "pipewire", clock: clock)
    }

    /// Statistics of the node, in addition to `VideoCapture.statistics`.
    public var pipeWireStatistics: PipeWireCapturer.Statistics { counts.withLock { $0 } }

    /// Sets the handler that is called with the events of the node.
    ///
    /// It is called on the capture thread: it must return soon and must not start, stop or release the capture.
    public func setEventHandler(_ handler: (@Sendable (PipeWireCapturer.Event) -> Void)?) {
        events.withLock { $0 = handler }
    }
}

extension PipeWireCapturer {
    /// The configuration of a ``PipeWireCapturer``.
    public struct Configuration: Sendable, Hashable {
        /// The number or the name of the node, or a part of its title; nil for the first camera.
        public var node: String?
        /// The server: the path of its socket, or its name in `XDG_RUNTIME_DIR`; nil for that of the user's session.
        public var server: String?
        /// The preferred size, for nodes that offer several.
        public var size: PixelSize
        /// The maximum rate, and the preferred one for nodes that offer several.
        public var frameRate: FrameRate
        /// The format of the frames, NV12, I420 or ARGB, unless all consumers take the node's.
        public var pixelFormat: PixelFormat
        /// Whether to wait for a node or a server that has gone, and to continue when it is back; otherwise the capture
        /// stops with `deviceLost`.
        public var reconnects: Bool

        /// Creates a configuration; see the properties.
        public init(
            node: String? = nil, server: String? = nil, size: PixelSize = .hd1280x720, frameRate: FrameRate = 30,
            pixelFormat: PixelFormat = .nv12, reconnects: Bool = true
        ) {
            self.node = node
            self.server = server
            self.size = size
            self.frameRate = frameRate
            self.pixelFormat = pixelFormat
            self.reconnects = reconnects
        }

        /// Throws `formatUnsupported` or `invalidConfiguration` for a value that is out of range.
        func validate() throws(CaptureError) {
            try VideoFormat(pixelFormat, width: size.width, height: size.height).validate()
            guard [.nv12, .i420, .argb].contains(pixelFormat) else {
                throw CaptureError(
                    .formatUnsupported, operation: "check the settings of the node", subject: "\(pixelFormat)",
                    message: "A node is captured as NV12, I420 or ARGB; convert the frames with FrameProcessing.")
            }
        }
    }

    /// Statistics of a node, in addition to `VideoCapture.statistics`.
    public struct Statistics: Sendable, Hashable {
        /// Frames that lie in the node's memory, without a copy.
        public var framesLent: UInt64 = 0
        /// Frames that were copied or converted.
        public var framesConverted: UInt64 = 0
        /// How often a node was found again.
        public var reconnects: UInt64 = 0

        /// Statistics with all counters zero.
        public init() {}
    }

    /// What a capture of a node reports while it runs. Cases may be added.
    public enum Event: Sendable, Hashable {
        /// The node has gone; the capture waits for one of this name.
        case nodeLost(String)
        /// The PipeWire server has gone; the capture waits for it.
        case serverLost
        /// Frames come again.
        case returned
        /// The desktop asks the user which screen to share (``WaylandScreenCapturer``).
        case waitingForChoice
        /// The user's consent cannot be kept in a file, so the desktop asks again next time; with the reason.
        case consentNotKept(String)
    }
}

extension PipeWireCapturer.Event: CustomStringConvertible {
    /// A sentence for the user.
    public var description: String {
        switch self {
        case .nodeLost(let name): "\(name) has gone; waiting for it."
        case .serverLost: "The PipeWire server has gone; waiting for it."
        case .returned: "The frames come again."
        case .waitingForChoice: "Choose what to share in the dialog of the desktop."
        case .consentNotKept(let reason): "The desktop will ask again next time: \(reason)."
        }
    }
}
