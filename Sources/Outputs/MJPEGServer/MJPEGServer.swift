import ServerTransport
public import VideoCapturing

/// Shows a capture live in any browser: MJPEG over HTTP, with the addresses and parameters of uStreamer and
/// mjpg-streamer, so that their clients work unchanged.
///
/// ```swift
/// let server = MJPEGServer(configuration: MJPEGServer.Configuration())
/// try server.attach(to: publisher)
/// print(try server.start().url)
/// ```
/// Each frame is encoded as JPEG once for all viewers, or passed on where it is JPEG already, and only while there are
/// viewers. Each viewer has one frame in flight and then gets the newest, so a slow one delays no other.
///
/// Safe to use from any thread.
public final class MJPEGServer: InlineConsumer, FeedbackConsumer {
    /// The configuration that it was made with.
    public let configuration: MJPEGServer.Configuration

    let broadcaster: Broadcaster
    private let connections: Connections
    private let listener = Locked<Listener?>(nil)
    let warningList: WarningList
    /// Whether it serves; held during start and stop, so that they do not overlap.
    private let serves = Locked(false)

    /// Makes a server that does not serve yet.
    ///
    /// - Parameters:
    ///   - configuration: where and how to serve; checked by ``start()``.
    ///   - viewing: shows the capture to browsers in another way too, at `/whep`; nil for JPEG alone. One that needs packets
    ///     shows what a `MediaPublisher` gives it, to which the server is added.
    ///   - onWarning: called with a sentence for the user, on any thread; see ``warnings``.
    public init(
        configuration: MJPEGServer.Configuration = MJPEGServer.Configuration(), viewing: (any LiveViewing)? = nil,
        onWarning: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.configuration = configuration
        let list = WarningList(onWarning)
        warningList = list
        connections = Connections(
            limit: configuration.limits.connections, limitPerPeer: configuration.limits.connectionsPerAddress)
        broadcaster = Broadcaster(configuration, viewing: viewing) { list.add($0) }
    }

    deinit { stop() }

    // MARK: Life

    /// Starts to serve. Blocks until the port is open. After ``stop()`` it may be called again.
    ///
    /// - Returns: the address at which it listens, with the port that was chosen.
    /// - Throws: `addressInUse`, `addressNotFound`, `permissionDenied`, `certificate`, `invalidConfiguration`, `system`;
    ///   `invalidState` while it serves.
    @discardableResult
    public func start() throws(MJPEGServerError) -> MJPEGServer.Address {
        try configuration.validate()
        let (address, warning) = try serves.withLock {
            (serves) throws(MJPEGServerError) -> (MJPEGServer.Address, String?) in
            guard !serves else {
                throw MJPEGServerError(
                    .invalidState, operation: "start the server", message: "It serves already; stop it first.")
            }
            let new = try Listener(configuration, broadcaster: broadcaster, connections: connections)
            do throws(CaptureError) {
                try broadcaster.start(new.service.hubs)
            } catch {
                new.close()
                throw MJPEGServerError(
                    .system, operation: error.operation, errno: error.systemError, message: error.message)
            }
            listener.withLock { $0 = new }
            serves = true
            return (new.address, new.warning)
        }
        for warning in warnings(at: address) + [warning].compactMap({ $0 }) { warningList.add(warning) }
        return address
    }

    /// Closes all connections and the port. When it returns, all threads that serve have ended; that takes milliseconds,
    /// whatever viewers do. Does nothing while it does not serve.
    public func stop() {
        serves.withLock { serves in
            serves = false
            guard let old = listener.withLock({ $0.take() }) else { return }
            broadcaster.stop()
            old.close()
        }
    }

    /// The address at which it listens; nil while it does not serve.
    public var address: MJPEGServer.Address? { listener.withLock { $0?.address } }

    /// Warnings for the user, in sentences: that anyone may watch, or that frames can't be shown. The last 32.
    public var warnings: [String] { warningList.all }

    private func warnings(at address: MJPEGServer.Address) -> [String] {
        guard address.port != nil, !NetworkAddresses.isLoopback(address.host) else { return [] }
        guard let authentication = configuration.authentication else {
            return [
                "\(address.url) is open to everyone who can reach this machine, without a password. Set one (--serve-login; in a "
                    + "program Configuration.authentication), or listen at 127.0.0.1."
            ]
        }
        if configuration.tls == nil, authentication.schemes.contains(.basic) {
            return [
                "\(address.url) takes the password unencrypted, so everyone who can read the network's traffic can read it. "
                    + "Use HTTPS, or offer Digest alone."
            ]
        }
        return []
    }

    // MARK: The capture

    /// Takes a frame: keeps it, and while there are viewers, encodes it as JPEG and sends it to them. Call it from a queue's
    /// thread, as a publisher does.
    public func consumeFrame(_ frame: VideoFrame) { broadcaster.consume(frame) }

    /// Takes a frame that is passed on as it is, and any frame while there are no viewers.
    ///
    /// - Returns: false for a frame that must be encoded, which ``consumeFrame(_:)`` does.
    public func consumeInline(_ frame: VideoFrame) -> Bool { broadcaster.consumeInline(frame) }

    /// Shows viewers why there is no picture, until the next frame comes. Call it with every change of the capture's state.
    public func sourceStateChanged(to state: CaptureState) { broadcaster.sourceStateChanged(to: state) }

    /// Sets where the server reports its wants, on its own thread: without viewers it wants
    /// ``MJPEGServer/Configuration/idleFrameRate``. A publisher calls it.
    public func connectFeedback(_ feedback: CaptureFeedback?) { broadcaster.connectFeedback(feedback) }

    /// Adds the server to a publisher, behind a queue of one frame.
    ///
    /// - Returns: the subscription, by which to remove it.
    /// - Throws: the errors of `VideoPublisher.add`.
    @discardableResult
    public func attach(
        to publisher: VideoPublisher, name: String = "mjpeg"
    ) throws(CaptureError) -> PublisherSubscription {
        try publisher.add(self, name: name, queue: .init(capacity: 1, policy: .dropOldest))
    }

    // MARK: Statistics

    /// The statistics since the server was made.
    public var statistics: MJPEGServer.Statistics {
        let hubs = listener.withLock { $0?.service.hubs } ?? []
        return ServerReport(broadcaster, connections: connections, hubs: hubs).statistics
    }
}

extension MJPEGServer {
    /// The address at which a server listens.
    public struct Address: Sendable, Hashable {
        /// The IP address, or the path of the socket.
        public var host: String
        /// The TCP port; nil for a socket in the file system.
        public var port: Int?
        /// Whether it speaks HTTPS.
        public var isSecure: Bool

        /// The address of the page, for a browser; of a socket in the file system, its path after `unix:`.
        public var url: String {
            guard let port else { return "unix:\(host)" }
            return url(host, port)
        }

        /// The addresses of the page for other machines, where it listens at all addresses of this one; ``url`` otherwise.
        var reachableURLs: [String] {
            guard let port, NetworkAddresses.isUnspecified(host) else { return [url] }
            return NetworkAddresses.ofThisMachine(besides: host).map { url($0, port) }
        }

        private func url(_ host: String, _ port: Int) -> String {
            let isIPv6 = host.utf8.contains(UInt8(ascii: ":"))
            return "\(isSecure ? "https" : "http")://\(isIPv6 ? "[\(host)]" : host):\(port)/"
        }
    }
}

/// The last warnings for the user, each reported once. Safe to use from any thread.
final class WarningList: Sendable {
    /// The maximum number that are kept.
    private static let capacity = 32

    private struct State {
        var warnings: [String] = []
        var handler: @Sendable (String) -> Void
    }

    private let state: Locked<State>

    init(_ handler: @escaping @Sendable (String) -> Void) { state = Locked(State(handler: handler)) }

    var all: [String] { state.withLock { $0.warnings } }

    func setHandler(_ handler: @escaping @Sendable (String) -> Void) { state.withLock { $0.handler = handler } }

    func add(_ warning: String) {
        let handler = state.withLock { state in
            if state.warnings.count >= WarningList.capacity { state.warnings.removeFirst() }
            state.warnings.append(warning)
            return state.handler
        }
        handler(warning)
    }
}
