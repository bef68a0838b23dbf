import VideoCapturing

/// A capture of a network camera: Motion JPEG over HTTP, or single pictures asked for one after the other.
///
/// ```swift
/// let capture = MJPEGCapturer(url: "http://user:password@camera.local/video")
/// capture.videoCaptureConsumer = encoder
/// try capture.play()
/// ```
/// **Frames** are delivered when their own last byte has come. They are decoded to NV12 or I420, and carry the camera's
/// JPEG beside (`VideoFrame.compressed`); where all consumers can take JPEG (`CaptureWants.acceptsCompressed`) nothing is
/// decoded. Their timestamps are the times of arrival. They are delivered in order as long as they are fresh; when the
/// consumer is so slow that the next one to deliver is older than two intervals, and newer ones are there, the newer ones
/// win. Memory is bounded either way.
///
/// **Faults.** `initCapture` connects and waits for the first picture, and throws what is wrong: `invalidConfiguration`
/// for an address that is none, `deviceNotFound` where nobody answers or there is no such path, `permissionDenied` for a
/// wrong password or a certificate that is not trusted, `formatUnsupported` for what is no MJPEG, `stalled`, `deviceBusy`.
/// Later losses make the state `interrupted`, and the capture goes on by itself when the camera is back: see
/// ``MJPEGEvent`` for what is told meanwhile.
///
/// **Passwords** are given in the address, in ``MJPEGCapturerConfiguration/credential``, or when they are asked for by
/// ``authenticationHandler``. They are sent to the host of the address only, and kept out of all names, errors and events;
/// so are the values of parameters in the address that are named like passwords.
public final class MJPEGCapturer: ForwardingVideoCapture {
    public let forwardedCapture: SourceCapturer

    /// How the stream is read.
    public let configuration: MJPEGCapturerConfiguration
    private let status = MJPEGStatus()

    /// Connects to nothing yet; `initCapture` and ``play()`` do.
    ///
    /// - Parameters:
    ///   - url: the address of the stream, `http` or `https`, with name and password where they are needed
    ///     (percent-encoded).
    ///   - configuration: how the stream is read.
    ///   - clock: where timestamps come from, and the waits before a new attempt.
    public init(
        url: String, configuration: MJPEGCapturerConfiguration = MJPEGCapturerConfiguration(),
        clock: any CaptureClock = MonotonicClock()
    ) {
        self.configuration = configuration
        let timeout = Duration.seconds(10) + configuration.connectTimeout + configuration.stallTimeout * 3
        // A person may be asked for a password while the stream is opened.
        forwardedCapture = SourceCapturer(
            MJPEGSource(url: url, configuration: configuration, status: status), name: "mjpeg", clock: clock,
            timeout: timeout, openTimeout: .seconds(366 * 86_400))
    }

    /// Begins to deliver frames: initializes the capture if need be, and starts it.
    public func play() throws(CaptureError) {
        try initCapture()
        try startCapture()
    }

    /// As `stopCapture`: when it has returned, nothing arrives any more.
    public func stop() throws(CaptureError) { try stopCapture() }

    /// What is counted of the stream, beside `VideoCapture.statistics`.
    public var streamStatistics: MJPEGStatistics { status.contents.withLock { $0.statistics } }

    // The handlers are called on the capture thread, so they must not initialize, start or release the capture.

    /// Called before each connection is made.
    public var didStartLoading: (@Sendable () -> Void)? {
        get { status.contents.withLock { $0.didStartLoading } }
        set { status.contents.withLock { $0.didStartLoading = newValue } }
    }

    /// Called at the first picture of each connection.
    public var didFinishLoading: (@Sendable () -> Void)? {
        get { status.contents.withLock { $0.didFinishLoading } }
        set { status.contents.withLock { $0.didFinishLoading = newValue } }
    }

    /// Called when the server asks for a name and a password and none are known, or those known are refused; gives them,
    /// or nil to give up. It may take its time while the capture is being initialized. What the server has accepted is
    /// used again without asking.
    public var authenticationHandler: (@Sendable (MJPEGAuthenticationChallenge) -> MJPEGCredential?)? {
        get { status.contents.withLock { $0.authenticationHandler } }
        set { status.contents.withLock { $0.authenticationHandler = newValue } }
    }

    /// Has `handler` called with what happens to the stream: on the capture thread, so it must return soon and must not
    /// start, stop or release the capture.
    public func setEventHandler(_ handler: (@Sendable (MJPEGEvent) -> Void)?) {
        status.contents.withLock { $0.eventHandler = handler }
    }
}
