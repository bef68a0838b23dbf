import HTTPTransport
import VideoCapturing

extension MJPEGCapturer {
    /// The configuration of an ``MJPEGCapturer``.
    public struct Configuration: Sendable, Hashable {
        /// The pixel format of decoded frames: `nv12` or `i420`.
        public var pixelFormat: PixelFormat = .nv12
        /// The user name and password; nil for those in the address. Sent only when the server demands them, and not to other
        /// hosts after a redirect.
        public var credential: MJPEGCapturer.Credential?
        /// Which certificates are trusted.
        public var trust = HTTPServerTrust.verified
        /// The timeout of a connection attempt, including name resolution and TLS.
        public var connectTimeout: Duration = .seconds(10)
        /// How long a stream may be silent before the connection counts as lost.
        public var stallTimeout: Duration = .seconds(10)
        /// The delays between attempts to reconnect.
        public var reconnect = MJPEGCapturer.Configuration.ReconnectPolicy.standard
        /// The maximum number of bytes of one frame; larger ones are skipped and counted.
        public var maximumFrameBytes = 16 << 20
        /// The time between two requests, where the address is a single image and not a stream.
        public var pollInterval: Duration = .milliseconds(200)
        /// The maximum number of frames per second that are delivered; nil for all that come.
        public var maximumFrameRate: FrameRate?
        /// The `User-Agent` header of each request.
        public var userAgent = "swift-video-capturing"
        /// A proxy in curl's syntax, as in `http://proxy:3128`; empty for none; nil for that of the environment
        /// (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`), but never for this machine itself.
        public var proxy: String?

        /// Creates the default configuration.
        public init() {}

        /// Checks all values.
        ///
        /// - Throws: `invalidConfiguration` for a value that is out of range.
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
            if case .pinned(let pin) = trust, HTTPServerTrust.curlPin(pin) == nil {
                throw error("The pin is not a SHA-256; give 44 characters of base64 or 64 hexadecimal digits.")
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
}

extension MJPEGCapturer.Configuration {
    /// The delays between attempts to restore a lost connection. It restarts from the first step after a frame.
    public struct ReconnectPolicy: Sendable, Hashable {
        /// A number of attempts with the same delay.
        public struct Step: Sendable, Hashable {
            /// The delay before each attempt.
            public var delay: Duration
            /// The number of attempts; the last step is repeated indefinitely.
            public var attempts: Int

            /// Creates a step.
            public init(delay: Duration, attempts: Int) {
                self.delay = delay
                self.attempts = attempts
            }
        }

        /// The steps in order; empty for no attempt.
        public var steps: [Step]

        /// Creates a policy.
        ///
        /// - Parameter steps: the steps in order; empty for no attempt.
        public init(steps: [Step]) {
            self.steps = steps
        }

        /// After 1 s, 2 s, 4 s and so on, and then every 30 s.
        public static let standard = MJPEGCapturer.Configuration.ReconnectPolicy(
            steps: [1, 2, 4, 8, 16, 30].map { Step(delay: .seconds($0), attempts: 1) })

        /// No attempt: the capture stops when the connection is lost, with the end of the stream where the server has
        /// closed it regularly.
        public static let never = MJPEGCapturer.Configuration.ReconnectPolicy(steps: [])

        /// Attempts with a constant delay.
        public static func every(_ delay: Duration) -> MJPEGCapturer.Configuration.ReconnectPolicy {
            MJPEGCapturer.Configuration.ReconnectPolicy(steps: [Step(delay: delay, attempts: 1)])
        }

        /// The delay before attempt number `attempt`, which counts from 1; nil for no attempt.
        public func delay(beforeAttempt attempt: Int) -> Duration? {
            var left = attempt
            for step in steps {
                if left <= step.attempts { return step.delay }
                left -= step.attempts
            }
            return steps.last?.delay
        }
    }
}

extension MJPEGCapturer.Configuration {
    /// The certificates of an `https` server that are trusted.
    public typealias ServerTrust = HTTPServerTrust
}
