public import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension MJPEGServer {
    /// The configuration of an ``MJPEGServer``: its address, its frames, its viewers, and its limits.
    public struct Configuration: Sendable, Hashable {
        /// Where to listen: a host name or an IP address, or `unix:` and a path for a socket in the file system. The default is
        /// for programs on the same machine only; `0.0.0.0` or `::` is for every machine that can reach this one.
        public var address = "127.0.0.1"
        /// The TCP port; 0, the default, for any that is free.
        public var port = 0
        /// A name that tells servers apart, in `/state` and in the name of the cookie.
        public var instanceID = ""
        /// What the page calls the picture, such as a camera and its machine; empty, the default, for nothing.
        public var title = ""

        /// The quality of frames that the server encodes, 1 to 100. JPEG frames of a camera are passed on as they are.
        public var quality = 80
        /// Whether a frame's own JPEG is passed on untouched where there is one.
        public var passesThrough = true
        /// The maximum number of consecutive frames that are left out since they show the same as the previous one; 0, the
        /// default, for none. Some players show a picture only when the next one arrives, so keep this below one second's worth.
        public var dropSameFrames = 0
        /// The time without a new frame after which the last one is sent again, so that viewers see that the connection works;
        /// nil for never.
        public var repeatInterval: Duration? = .seconds(1)
        /// The maximum frame rate that is requested from the capture; nil, the default, for the capture's own.
        public var maximumFrameRate: FrameRate?
        /// The frame rate that is requested from the capture while there are no viewers; nil for ``maximumFrameRate``.
        public var idleFrameRate: FrameRate? = FrameRate(1, per: 1)
        /// The time after the last viewer has disconnected until ``idleFrameRate`` is requested.
        public var idleDelay: Duration = .seconds(5)
        /// The time that `/snapshot` waits for a first frame.
        public var snapshotTimeout: Duration = .seconds(3)
        /// The time that the answer to the offer of a ``LiveViewing``'s viewer may take.
        package var sessionTimeout: Duration = .seconds(30)

        /// The name and password that viewers need; nil, the default, for none.
        public var authentication: MJPEGServer.Configuration.Authentication?
        /// The certificate for HTTPS; nil, the default, for HTTP.
        public var tls: MJPEGServer.Configuration.TLS?
        /// The origin whose scripts may read the responses (`Access-Control-Allow-Origin`); nil, the default, for the server's
        /// own alone.
        public var allowedOrigin: String?
        /// Additional host names that requests may have, without a port, as a proxy on this machine passes them on. They matter
        /// only where programs on the same machine alone can connect, without a password: there a request for another name than
        /// `localhost`, a loopback address or ``address`` is answered with 403, since it may come from a web page whose own name
        /// resolves to this machine (DNS rebinding).
        public var allowedHosts: [String] = []
        /// The web pages that may show the picture (`Cross-Origin-Resource-Policy`); nil, the default, for those of the server
        /// alone where it listens on loopback without a password, and for all otherwise, or where there is an
        /// ``allowedOrigin``.
        public var resourcePolicy: MJPEGServer.Configuration.ResourcePolicy?
        /// Limits that protect the server and the capture.
        public var limits = MJPEGServer.Configuration.Limits()

        /// The number of threads that serve viewers, 1 to 64. The default is two, or one on a machine with one processor.
        public var threadCount = MJPEGServer.Configuration.defaultThreadCount
        /// The number of bytes that the kernel may hold for one viewer (`SO_SNDBUF`, which the kernel doubles). Less means less
        /// delay for slow viewers, more means fewer system calls; 0 for the kernel's automatic size, which grows to megabytes.
        public var sendBufferSize = 131_072

        /// The defaults: HTTP for this machine only, on any free port.
        public init() {}
    }
}

extension MJPEGServer.Configuration {
    /// The web pages that may embed a server's responses. Reading them by script is another matter: see
    /// ``MJPEGServer/Configuration/allowedOrigin``.
    public enum ResourcePolicy: String, Sendable, Hashable, CaseIterable {
        /// Pages of the server itself.
        case sameOrigin = "same-origin"
        /// Pages of the same site: of the same host, whatever the port, or of the same registered domain.
        case sameSite = "same-site"
        /// All pages.
        case crossOrigin = "cross-origin"
    }
}

extension MJPEGServer.Configuration {
    /// The name and password that viewers need, and the schemes by which they may give them.
    public struct Authentication: Sendable, Hashable {
        /// A scheme of HTTP authentication.
        public enum Scheme: String, Sendable, Hashable, CaseIterable {
            /// The password itself is sent (RFC 7617): safe with TLS only, and supported by every client.
            case basic
            /// A hash of the password and of a nonce that expires is sent (RFC 7616); offered with SHA-256 and MD5.
            case digest
        }

        /// The user's name; without a colon.
        public var user: String
        /// The password; not empty.
        public var password: String
        /// The schemes that are offered. The default is both, the safer one first.
        public var schemes: Set<Scheme>
        /// The text that clients show to say what the password is for.
        public var realm: String

        /// Makes it from a name and a password; `realm` and `schemes` have defaults.
        public init(
            user: String, password: String, schemes: Set<Scheme> = Set(Scheme.allCases), realm: String = "Live picture"
        ) {
            self.user = user
            self.password = password
            self.schemes = schemes
            self.realm = realm
        }
    }
}

extension MJPEGServer.Configuration {
    /// The files that a server needs to speak HTTPS. Only programs built with the package's trait `TLS` can; it is off by
    /// default, since BoringSSL takes minutes to build.
    public struct TLS: Sendable, Hashable {
        /// The path of the certificate in PEM, followed by its intermediate certificates.
        public var certificateChain: String
        /// The path of its private key in PEM, without a pass phrase.
        public var privateKey: String

        /// Makes it from two paths; ``MJPEGServer/start()`` reads the files.
        public init(certificateChain: String, privateKey: String) {
            self.certificateChain = certificateChain
            self.privateKey = privateKey
        }
    }
}

extension MJPEGServer.Configuration {
    /// Limits for one client, or for all of them, of a server.
    public struct Limits: Sendable, Hashable {
        /// The maximum number of simultaneous connections; any more are answered with 503. It is lowered, with a warning, where
        /// the process may not open that many files (`ulimit -n`).
        public var connections = 1024
        /// The maximum number of simultaneous connections from one address, or from one IPv6 prefix of 64 bits; nil for no such
        /// limit. Programs on the same machine, and so proxies there, are exempt.
        public var connectionsPerAddress: Int? = 128
        /// The maximum number of bytes that wait in memory for slow clients, a frame counted once however many wait for it.
        /// Beyond it those that have waited the longest are disconnected. The newest frame may exceed it. With TLS each viewer
        /// has its own copy of the bytes that the kernel has not taken.
        public var waitingBytes = 64 << 20
        /// The number of wrong passwords that an address may give before it has to wait: one second, then twice as long with
        /// each, up to 32; meanwhile its passwords are answered with 429. Nil for no such limit: behind a proxy all viewers have
        /// the proxy's address, so the proxy must handle it.
        public var loginAttempts: Int? = 5
        /// The maximum number of bytes of a request's head; a longer one is answered with 431.
        public var headBytes = 16_384
        /// The time that a client may take to send its first request, TLS handshake included.
        public var requestTimeout: Duration = .seconds(10)
        /// The time that a connection may be idle between two requests.
        public var idleTimeout: Duration = .seconds(15)
        /// The time that a viewer may take to accept one frame before it is disconnected.
        public var sendTimeout: Duration = .seconds(30)

        /// The defaults.
        public init() {}
    }
}

extension MJPEGServer.Configuration {
    /// Two, or one on a machine with one processor. Each loop that has viewers is woken for each frame, which costs as much
    /// as sending it to five of them, so more loops serve a few viewers at a higher cost; with two, a TLS handshake or a
    /// large response delays only one half of the viewers.
    static var defaultThreadCount: Int { min(2, Machine.processorCount) }

    /// The path after `unix:`; nil for TCP.
    var socketPath: String? {
        address.hasPrefix("unix:") ? String(address.dropFirst("unix:".count)) : nil
    }

    /// - Throws: `invalidConfiguration` for a setting that is out of range or does not fit the others.
    func validate() throws(MJPEGServerError) {
        func refuse(_ subject: String, _ message: String) -> MJPEGServerError {
            MJPEGServerError(.invalidConfiguration, operation: "check the settings", subject: subject, message: message)
        }
        guard (0...65535).contains(port) else {
            throw refuse("port \(port)", "A port is 0 (any that is free) to 65535.")
        }
        guard (1...100).contains(quality) else { throw refuse("quality \(quality)", "The quality is 1 to 100.") }
        guard (1...64).contains(threadCount) else {
            throw refuse("thread count \(threadCount)", "The number of threads is 1 to 64.")
        }
        guard dropSameFrames >= 0, sendBufferSize >= 0, limits.connections >= 1, limits.headBytes >= 256,
            limits.connectionsPerAddress ?? 1 >= 1, limits.waitingBytes >= 0, limits.loginAttempts ?? 0 >= 0
        else {
            throw refuse(
                "limits",
                "Numbers of frames, bytes and attempts aren't negative, at least one connection and 256 bytes of a "
                    + "request's head must be allowed.")
        }
        if let authentication {
            guard !authentication.user.utf8.contains(UInt8(ascii: ":")), !authentication.schemes.isEmpty else {
                throw refuse(
                    "user \(authentication.user)",
                    "A user's name has no colon, and at least one scheme is to be offered.")
            }
            guard !authentication.password.isEmpty else {
                throw refuse(
                    "user \(authentication.user)",
                    "The password is empty, which anyone can guess. Set one, or leave authentication out.")
            }
        }
        for (name, text) in [
            ("allowed origin", allowedOrigin ?? ""), ("realm", authentication?.realm ?? ""),
            ("instance ID", instanceID),
        ] where !text.utf8.allSatisfy({ 0x20..<0x7F ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            throw refuse(name, "It becomes part of a header, so it consists of printable ASCII without quotes.")
        }
        guard instanceID.utf8.allSatisfy({ isUnreserved($0) }) else {
            throw refuse("instance ID", "It becomes part of a cookie's name: letters, digits, '-', '_', '.' and '~'.")
        }
        if let socketPath {
            guard (1...107).contains(socketPath.utf8.count) else {
                throw refuse(address, "The path of a socket has 1 to 107 bytes; choose a shorter one.")
            }
        }
    }
}
