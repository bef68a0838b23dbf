public import VideoCapturing

/// How an ``MJPEGServer`` serves: where, what to whom, and within which limits.
public struct MJPEGServerConfiguration: Sendable, Hashable {
    /// Where to listen: a host name or an IP address, or `unix:` and a path for a socket in the file system. The
    /// default is for programs on the same machine only; `0.0.0.0` or `::` is for everyone who can reach it.
    public var address = "127.0.0.1"
    /// The TCP port; 0, the default, for any that is free.
    public var port = 0
    /// A name that tells servers apart, in `/state` and in the name of the cookie.
    public var instanceID = ""

    /// The quality of what is encoded here, 1 to 100. JPEG pictures of a camera are passed on as they are.
    public var quality = 80
    /// Whether a frame's own JPEG is passed on untouched where there is one.
    public var passesThrough = true
    /// The most frames in a row that are left out since they show the same as the frame before; 0, the default, for
    /// none. Some players hold the last picture of a series back, so keep this below a second's worth.
    public var dropSameFrames = 0
    /// After how long without a new frame the last one is sent again, so that viewers know that all is well; nil for
    /// never.
    public var repeatInterval: Duration? = .seconds(1)
    /// The highest rate that viewers get; nil, the default, for the capture's own. It is asked of the capture.
    public var maximumFrameRate: FrameRate?
    /// The rate that is asked of the capture while nobody watches; nil to let it run at its own.
    public var idleFrameRate: FrameRate? = FrameRate(1, per: 1)
    /// How long after the last viewer has gone the capture is slowed down.
    public var idleDelay: Duration = .seconds(5)
    /// How long `/snapshot` waits for a first frame.
    public var snapshotTimeout: Duration = .seconds(3)

    /// Who may watch; nil, the default, for anyone who can connect.
    public var authentication: MJPEGServerAuthentication?
    /// The certificate, when the server is to speak HTTPS; nil, the default, for HTTP.
    public var tls: MJPEGServerTLS?
    /// The origin whose scripts may read the answers (`Access-Control-Allow-Origin`); nil, the default, for no other
    /// than the server's own.
    public var allowedOrigin: String?
    /// Further names by which the server may be asked for, without a port, as a proxy on this machine passes them on. They
    /// matter only where programs on the same machine alone can connect, without a password: there a request for another
    /// name than `localhost`, a loopback address or ``address`` is answered with 403, since it may come from a web page
    /// that has had its own name lead to this machine (DNS rebinding).
    public var allowedHosts: [String] = []
    /// Which web pages may show the picture (`Cross-Origin-Resource-Policy`); nil, the default, for those of the server
    /// alone where it listens on loopback without a password, and for all otherwise, or where there is an
    /// ``allowedOrigin``.
    public var resourcePolicy: MJPEGServerResourcePolicy?
    /// Limits that protect the server and the capture.
    public var limits = MJPEGServerLimits()

    /// The threads that talk to viewers; 1 to 64. The default is two, or one where there is one processor.
    public var threadCount = MJPEGServerConfiguration.defaultThreadCount
    /// The bytes that the kernel may hold for one viewer (`SO_SNDBUF`, of which the kernel takes twice as many). Less
    /// means less delay for slow viewers, more means fewer system calls; 0 for the kernel's own rule, which grows to
    /// megabytes.
    public var sendBufferSize = 131_072

    /// The defaults: HTTP for this machine only, on any free port.
    public init() {}
}

/// Which web pages may show what a server answers, beyond reading it by script, which
/// ``MJPEGServerConfiguration/allowedOrigin`` is about.
public enum MJPEGServerResourcePolicy: String, Sendable, Hashable, CaseIterable {
    /// Pages of the server itself.
    case sameOrigin = "same-origin"
    /// Pages of the same site: of the same host, whatever the port, or of the same registered domain.
    case sameSite = "same-site"
    /// All pages.
    case crossOrigin = "cross-origin"
}

/// Who may watch, and how he proves who he is.
public struct MJPEGServerAuthentication: Sendable, Hashable {
    /// A way to prove that one knows the password.
    public enum Scheme: String, Sendable, Hashable, CaseIterable {
        /// The password itself travels (RFC 7617): safe with TLS only, and known to every client.
        case basic
        /// A hash of the password and of a number that expires travels (RFC 7616); offered with SHA-256 and MD5.
        case digest
    }

    /// The user's name; without a colon.
    public var user: String
    /// The password; not empty.
    public var password: String
    /// What is offered. The default is both, the safer one first.
    public var schemes: Set<Scheme>
    /// What clients tell the user that the password is for.
    public var realm: String

    public init(
        user: String, password: String, schemes: Set<Scheme> = Set(Scheme.allCases), realm: String = "Live picture"
    ) {
        self.user = user
        self.password = password
        self.schemes = schemes
        self.realm = realm
    }
}

/// The files that a server needs to speak HTTPS. Only programs built with the package's trait `TLS` can; it is off by
/// default, since BoringSSL takes minutes to build.
public struct MJPEGServerTLS: Sendable, Hashable {
    /// The path of the certificate, in PEM, with those that vouch for it after it.
    public var certificateChain: String
    /// The path of its private key, in PEM and without a pass phrase.
    public var privateKey: String

    public init(certificateChain: String, privateKey: String) {
        self.certificateChain = certificateChain
        self.privateKey = privateKey
    }
}

/// What one client, or all of them, may take of a server.
public struct MJPEGServerLimits: Sendable, Hashable {
    /// The maximum number of connections at a time; a further one is answered with 503. It is lowered, with a warning,
    /// where the process may not open that many files (`ulimit -n`).
    public var connections = 1024
    /// The maximum number of connections at a time from one address, or from the first 64 bits of an IPv6 address; nil for
    /// no such limit. Programs on the same machine, and so proxies there, are exempt.
    public var connectionsPerAddress: Int? = 128
    /// The maximum number of bytes that wait in memory for slow clients, a frame counted once however many wait for it.
    /// Beyond it those that have waited for the longest time are disconnected. The newest frame comes on top.
    /// With TLS each viewer has a copy of its own, of what the kernel has not taken.
    public var waitingBytes = 64 << 20
    /// The number of wrong passwords that an address may give before it has to wait: one second, then twice as long with
    /// each, up to 32; meanwhile its passwords are answered with 429. Nil for no such limit: behind a proxy all viewers
    /// have its address, so the proxy must see to it.
    public var loginAttempts: Int? = 5
    /// The most bytes of a request's head; a longer one is answered with 431.
    public var headBytes = 16_384
    /// How long a client may take to send its first request, TLS handshake included.
    public var requestTimeout: Duration = .seconds(10)
    /// How long a connection may rest between two requests.
    public var idleTimeout: Duration = .seconds(15)
    /// How long a viewer may take to accept one frame before it counts as gone.
    public var sendTimeout: Duration = .seconds(30)

    /// The defaults.
    public init() {}
}
