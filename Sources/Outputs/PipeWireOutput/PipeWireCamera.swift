public import VideoCapturing

/// A camera for other programs: a PipeWire node that shows the frames it is given, to browsers, meetings and GStreamer, without
/// a kernel module and without root.
///
/// ```swift
/// let camera = PipeWireCamera(name: "My camera")
/// try camera.open()
/// try publisher.add(camera)
/// ```
/// The node appears with the first frame, and keeps its size: frames of other sizes are fitted into it. It has frames in
/// NV12; others are converted. Any number of programs may read it; while none does, nothing is copied, and the capture is
/// asked for five frames per second only. When no frames come (an interruption, a still screen), the last one is repeated five
/// times per second, because programs take a camera that is silent for broken. When the PipeWire server ends, the node
/// appears again with the next server.
///
/// Safe to use from any thread.
public final class PipeWireCamera: FeedbackConsumer {
    /// The configuration of the camera.
    public let configuration: PipeWireCamera.Configuration
    private let mailbox: CameraMailbox

    /// A camera that is not offered yet; see ``open()``.
    public init(_ configuration: PipeWireCamera.Configuration = PipeWireCamera.Configuration()) {
        self.configuration = configuration
        mailbox = CameraMailbox()
    }

    deinit { close() }

    /// Connects to the PipeWire server. Waits at most 5 s.
    ///
    /// - Throws: `unavailable` without a server, `permissionDenied`, `invalidState` when it is open already.
    public func open() throws(CaptureError) {
        try mailbox.begin()
        let (configuration, mailbox) = (configuration, mailbox)
        do {
            try CaptureThread(name: "pipewire camera") {
                CameraLoop(configuration, mailbox).run()
                mailbox.didEnd()
            }
        } catch {
            mailbox.didEnd()
            throw error
        }
        try mailbox.awaitConnection()
    }

    /// Takes the camera away from the programs that read it. Also called when the camera is released.
    public func close() { mailbox.end() }

    /// Shows a frame, as soon as a program reads the camera. It only replaces the one before, and never waits.
    public func consumeFrame(_ frame: VideoFrame) { mailbox.put(frame) }

    public func connectFeedback(_ feedback: CaptureFeedback?) { mailbox.setFeedback(feedback) }

    /// Sets the handler that gets problems which lose no data, as sentences for the user. It is called on the camera's
    /// thread and must return soon.
    public func setWarningHandler(_ handler: (@Sendable (String) -> Void)?) { mailbox.setWarningHandler(handler) }

    /// What the camera has done so far.
    public var statistics: PipeWireCamera.Statistics { mailbox.statistics }
}

extension PipeWireCamera {
    /// The configuration of a ``PipeWireCamera``.
    public struct Configuration: Sendable, Hashable {
        /// The name that people see in lists of cameras.
        public var name: String
        /// The rate that the camera states; the frames come as they are given.
        public var frameRate: FrameRate
        /// The server: the path of its socket, or its name in `XDG_RUNTIME_DIR`; nil for that of the user's session.
        public var server: String?

        /// Creates a configuration; see the properties.
        public init(name: String = "Capturer camera", frameRate: FrameRate = 30, server: String? = nil) {
            self.name = name
            self.frameRate = frameRate
            self.server = server
        }

        /// The name for programs: letters, digits and dashes.
        var nodeName: String {
            let plain = name.lowercased().unicodeScalars.map { scalar in
                ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar) || scalar == "-" || scalar == "_"
                    || scalar == "." ? Character(scalar) : "-"
            }
            return plain.isEmpty ? "capturer-camera" : String(plain)
        }
    }

    /// What a ``PipeWireCamera`` has done.
    public struct Statistics: Sendable, Hashable {
        /// Whether a program reads the camera now.
        public var isRead = false
        /// Frames that were sent, repeated ones included.
        public var framesSent: UInt64 = 0
        /// Frames that were sent again because no new one came.
        public var framesRepeated: UInt64 = 0
        /// Frames that were not sent because the readers had not given a buffer back.
        public var framesDropped: UInt64 = 0
        /// How often the server was lost.
        public var connectionsLost: UInt64 = 0

        /// Statistics with all counters zero.
        public init() {}
    }
}
