import HTTPTransport
import VideoCapturing

/// A capture of a network camera: Motion JPEG over HTTP, or single images that are polled.
///
/// ```swift
/// let capture = MJPEGCapturer(url: "http://user:password@camera.local/video")
/// capture.videoCaptureConsumer = encoder
/// try capture.play()
/// ```
/// **Frames** are delivered when their last byte has arrived. They are decoded to NV12 or I420, and also carry the
/// camera's JPEG (`VideoFrame.compressed`); where all consumers accept JPEG (`CaptureWants.acceptsCompressed`) nothing is
/// decoded. Their timestamps are the times of arrival. They are delivered in order as long as they are fresh; when the
/// consumer is so slow that the next frame is older than two intervals and newer ones have arrived, the oldest are
/// dropped. Memory is bounded in both cases.
///
/// **Errors.** `initCapture` connects and waits for the first frame, and throws `invalidConfiguration` for an invalid
/// address, `deviceNotFound` when no server answers or the path does not exist, `permissionDenied` for a wrong password or
/// an untrusted certificate, `formatUnsupported` for a response that is not MJPEG, `stalled`, `deviceBusy`. After a later
/// loss of the connection the state is `interrupted`, and the capture reconnects automatically: see ``MJPEGCapturer/Event`` for the
/// events meanwhile.
///
/// **Passwords** are set in the address, in ``MJPEGCapturer/Configuration/credential``, or returned by
/// ``authenticationHandler`` on demand. They are sent only to the host of the address, and never appear in names, errors
/// and events; nor do the values of query parameters that are named like passwords.
public final class MJPEGCapturer: ForwardingVideoCapture {
    public let forwardedCapture: SourceCapturer

    /// The configuration of the stream.
    public let configuration: MJPEGCapturer.Configuration
    private let status = MJPEGStatus()

    /// Creates a capture without connecting; `initCapture` and ``play()`` connect.
    ///
    /// - Parameters:
    ///   - url: the address of the stream, `http` or `https`, with user name and password where they are needed
    ///     (percent-encoded).
    ///   - configuration: the configuration of the stream.
    ///   - clock: the clock of timestamps and of the delays before reconnecting.
    public init(
        url: String, configuration: MJPEGCapturer.Configuration = MJPEGCapturer.Configuration(),
        clock: any CaptureClock = MonotonicClock()
    ) {
        self.configuration = configuration
        let timeout = Duration.seconds(10) + configuration.connectTimeout + configuration.stallTimeout * 3
        // The user may be prompted for a password while the stream is opened.
        forwardedCapture = SourceCapturer(
            MJPEGSource(url: url, configuration: configuration, status: status), name: "mjpeg", clock: clock,
            timeout: timeout, openTimeout: .seconds(366 * 86_400))
    }

    /// Starts to deliver frames: initializes the capture if necessary, and starts it.
    ///
    /// - Throws: errors of `initCapture` and `startCapture`.
    public func play() throws(CaptureError) {
        try initCapture()
        try startCapture()
    }

    /// As `stopCapture`: after it has returned, no frame is delivered.
    ///
    /// - Throws: errors of `stopCapture`.
    public func stop() throws(CaptureError) { try stopCapture() }

    /// Statistics of the stream, in addition to `VideoCapture.statistics`.
    public var streamStatistics: MJPEGCapturer.Statistics { status.contents.withLock { $0.statistics } }

    // The handlers are called on the capture thread, so they must not initialize, start or release the capture.

    /// Called before each connection is made.
    public var didStartLoading: (@Sendable () -> Void)? {
        get { status.contents.withLock { $0.didStartLoading } }
        set { status.contents.withLock { $0.didStartLoading = newValue } }
    }

    /// Called at the first frame of each connection.
    public var didFinishLoading: (@Sendable () -> Void)? {
        get { status.contents.withLock { $0.didFinishLoading } }
        set { status.contents.withLock { $0.didFinishLoading = newValue } }
    }

    /// Called when the server demands a user name and a password and none are known, or those known are rejected; returns
    /// them, or nil to give up. It may block while the capture is being initialized. Accepted credentials are reused
    /// without calling it again.
    public var authenticationHandler: (@Sendable (MJPEGCapturer.Credential.Challenge) -> MJPEGCapturer.Credential?)? {
        get { status.contents.withLock { $0.authenticationHandler } }
        set { status.contents.withLock { $0.authenticationHandler = newValue } }
    }

    /// Sets the handler that is called with the events of the stream: on the capture thread, so it must return soon and
    /// must not start, stop or release the capture.
    ///
    /// - Parameter handler: the handler; nil for none.
    public func setEventHandler(_ handler: (@Sendable (MJPEGCapturer.Event) -> Void)?) {
        status.contents.withLock { $0.eventHandler = handler }
    }
}

extension MJPEGCapturer {
    /// A user name and a password.
    public typealias Credential = HTTPCredential
}

extension MJPEGCapturer {
    /// Statistics of a stream since the capture was initialized, in addition to `CaptureStatistics`.
    public struct Statistics: Sendable, Hashable {
        /// Complete frames received.
        public var framesReceived: UInt64 = 0
        /// Bytes of bodies received, including those between the frames.
        public var bytesReceived: UInt64 = 0
        /// Frames decoded.
        public var framesDecoded: UInt64 = 0
        /// Frames skipped because they were truncated, damaged or not JPEG.
        public var framesDamaged: UInt64 = 0
        /// Frames skipped because they exceeded the maximum number of bytes.
        public var framesOversized: UInt64 = 0
        /// Frames dropped in favor of newer ones.
        public var framesSkipped: UInt64 = 0
        /// Frames dropped before decoding to limit the rate to that which consumers want.
        public var framesDecimated: UInt64 = 0
        /// Connections that delivered a frame.
        public var connections: UInt64 = 0
        /// Connections that delivered a frame after a loss.
        public var reconnects: UInt64 = 0
        /// Requests for single images, where the address is not a stream.
        public var polls: UInt64 = 0
        /// The reason of the last interruption, in a sentence; nil when there was none.
        public var lastInterruption: String?
        /// The `X-Timestamp` of the last frame: since 1970, by the server's clock; nil where the server sends none.
        public var serverTime: Duration?

        /// Statistics with all counters zero.
        public init() {}
    }
}

/// The statistics and handlers that the capture thread shares with all others.
final class MJPEGStatus: Sendable {
    struct Contents {
        var statistics = MJPEGCapturer.Statistics()
        var eventHandler: (@Sendable (MJPEGCapturer.Event) -> Void)?
        var didStartLoading: (@Sendable () -> Void)?
        var didFinishLoading: (@Sendable () -> Void)?
        var authenticationHandler: (@Sendable (MJPEGCapturer.Credential.Challenge) -> MJPEGCapturer.Credential?)?
    }

    let contents = Locked(Contents())

    func count(_ change: (inout MJPEGCapturer.Statistics) -> Void) {
        contents.withLock { change(&$0.statistics) }
    }

    // Handlers are called without the lock.

    func report(_ event: MJPEGCapturer.Event) { contents.withLock { $0.eventHandler }?(event) }

    func reportStart() { contents.withLock { $0.didStartLoading }?() }

    func reportFinish() { contents.withLock { $0.didFinishLoading }?() }

    func requestCredential(_ challenge: MJPEGCapturer.Credential.Challenge) -> MJPEGCapturer.Credential? {
        contents.withLock { $0.authenticationHandler }?(challenge)
    }
}
