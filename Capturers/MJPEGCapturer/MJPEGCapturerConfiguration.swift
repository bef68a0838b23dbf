import VideoCapturing

/// How an ``MJPEGCapturer`` reads its stream.
public struct MJPEGCapturerConfiguration: Sendable, Hashable {
    /// How the samples of decoded pictures lie in memory: `nv12` or `i420`.
    public var pixelFormat: PixelFormat = .nv12
    /// The name and password; those in the address otherwise. Sent only when the server asks for them, and to no
    /// other host that it redirects to.
    public var credential: MJPEGCredential?
    /// Which certificates are trusted.
    public var trust = MJPEGServerTrust.verified
    /// How long a connection may take, the name's look-up and TLS included.
    public var connectTimeout: Duration = .seconds(10)
    /// How long a stream may be silent before it counts as lost.
    public var stallTimeout: Duration = .seconds(10)
    /// When a lost connection is tried again.
    public var reconnect = MJPEGReconnectPolicy.standard
    /// The most bytes of one picture; larger ones are left out and counted.
    public var maximumFrameBytes = 16 << 20
    /// The time between two requests, where the address gives one picture and no stream.
    public var pollInterval: Duration = .milliseconds(200)
    /// What is said of the client in each request.
    public var userAgent = "swift-video-capturing"
    /// A proxy as curl has it, as in `http://proxy:3128`; empty for none; nil for that of the environment
    /// (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`), but never for this machine itself.
    public var proxy: String?

    public init() {}

    /// Throws `invalidConfiguration` for what cannot be.
    public func validate() throws(CaptureError) {
        if ![.nv12, .i420].contains(pixelFormat) {
            throw error("Pictures are decoded to NV12 or I420; give one of these.")
        }
        if connectTimeout <= .zero || stallTimeout <= .zero || pollInterval <= .zero {
            throw error("Times must be longer than nothing.")
        }
        if !(1024...1 << 30).contains(maximumFrameBytes) {
            throw error("A picture may have 1 KB to 1 GB; give a limit between.")
        }
        if reconnect.steps.contains(where: { $0.delay < .zero || $0.attempts < 1 }) {
            throw error("Each step of the reconnect policy has one attempt or more, after no negative time.")
        }
        if case .pinned(let pin) = trust, MJPEGServerTrust.curlPin(pin) == nil {
            throw error("The pin is no SHA-256; give 44 characters of base64 or 64 hexadecimal digits.")
        }
        for text in [userAgent, proxy ?? "", credential?.user ?? "", credential?.password ?? ""] {
            if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
                throw error("User agent, proxy, name and password must have no control characters.")
            }
        }
        if credential?.user.utf8.contains(ASCII.colon) == true {
            throw error("A user name has no colon, since servers take what follows for the password.")
        }
    }

    private func error(_ message: String) -> CaptureError {
        CaptureError(.invalidConfiguration, operation: "configure the stream", message: message)
    }
}
