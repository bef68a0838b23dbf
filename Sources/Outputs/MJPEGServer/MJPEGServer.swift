public import VideoCapturing

/// Shows a capture live in any browser: MJPEG over HTTP, with the addresses and parameters of uStreamer and
/// mjpg-streamer, so that their clients work unchanged.
///
/// ```swift
/// let server = MJPEGServer(configuration: MJPEGServerConfiguration())
/// try server.attach(to: publisher)
/// print(try server.start().url)
/// ```
/// Each frame is made a JPEG picture once for all viewers, or passed on where it is one already, and only while somebody
/// watches. Each viewer has one frame on its way and then gets the newest, so a slow one delays nobody.
///
/// Safe to use from any thread. Not called back by viewers: all that they can do is watch.
public final class MJPEGServer: ImmediateConsumer, FeedbackConsumer {
    /// What it was made with.
    public let configuration: MJPEGServerConfiguration

    private let broadcaster: Broadcaster
    private let connections: Connections
    private let listener = Locked<Listener?>(nil)
    private let warningList: WarningList
    /// Held during start and stop, so that they come one after the other.
    private let life = Locked(())

    /// - Parameters:
    ///   - configuration: where and how to serve; checked by ``start()``.
    ///   - onWarning: called with a sentence for a person, on any thread; see ``warnings``.
    public init(
        configuration: MJPEGServerConfiguration = MJPEGServerConfiguration(),
        onWarning: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.configuration = configuration
        let list = WarningList(onWarning)
        warningList = list
        connections = Connections(
            limit: configuration.limits.connections, limitPerPeer: configuration.limits.connectionsPerAddress)
        broadcaster = Broadcaster(configuration) { list.add($0) }
    }

    deinit { stop() }

    // MARK: Life

    /// Begins to serve. Blocks until the port is open. After ``stop()`` it may be called again.
    ///
    /// - Returns: where it listens, with the port that was chosen.
    /// - Throws: `addressInUse`, `addressNotFound`, `permissionDenied`, `certificate`, `invalidConfiguration`, `system`;
    ///   `invalidState` while it serves.
    @discardableResult
    public func start() throws(MJPEGServerError) -> MJPEGServerAddress {
        try configuration.validate()
        let (address, warning) = try life.withLock { (_) throws(MJPEGServerError) -> (MJPEGServerAddress, String?) in
            guard listener.withLock({ $0 == nil }) else {
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
            return (new.address, new.warning)
        }
        for warning in warnings(at: address) + [warning].compactMap({ $0 }) { warningList.add(warning) }
        return address
    }

    /// Ends all connections and closes the port. When it returns, all threads of the server have ended; that takes
    /// milliseconds, whatever viewers do. Harmless when it does not serve.
    public func stop() {
        life.withLock { _ in
            guard let old = listener.withLock({ $0.take() }) else { return }
            broadcaster.stop()
            old.close()
        }
    }

    /// Where it listens; nil while it does not.
    public var address: MJPEGServerAddress? { listener.withLock { $0?.address } }

    /// What its user should know, in sentences: that anyone may watch, or that frames can't be shown. The last 32.
    public var warnings: [String] { warningList.all }

    private func warnings(at address: MJPEGServerAddress) -> [String] {
        guard address.port != nil, !isLoopback(address.host) else { return [] }
        guard let authentication = configuration.authentication else {
            return [
                "\(address.url) is open to everyone who can reach this machine, and he sees the picture without a password. "
                    + "Set one, or listen at 127.0.0.1."
            ]
        }
        if configuration.tls == nil, authentication.schemes.contains(.basic) {
            return [
                "\(address.url) takes the password unencrypted, so whoever can read along knows it. Use HTTPS, or offer "
                    + "Digest alone."
            ]
        }
        return []
    }

    // MARK: The capture

    /// Takes a frame: keeps it, and when somebody watches, makes it a JPEG picture and hands it to the viewers. Call it
    /// from a queue's thread, as a publisher does.
    public func consumeFrame(_ frame: VideoFrame) { broadcaster.consume(frame) }

    /// Takes a frame that is passed on as it is, and any frame while nobody watches; refuses what must be encoded.
    public func consumeImmediately(_ frame: VideoFrame) -> Bool { broadcaster.consumeImmediately(frame) }

    /// Tells viewers why there is no picture, until the next frame comes. Call it with every change of the capture's
    /// state.
    public func sourceStateChanged(to state: CaptureState) { broadcaster.sourceStateChanged(to: state) }

    /// Takes what the server reports its wants to, on its own thread: without viewers they are for
    /// ``MJPEGServerConfiguration/idleFrameRate``. A publisher calls it.
    public func connectFeedback(_ feedback: CaptureFeedback?) { broadcaster.connectFeedback(feedback) }

    /// Adds the server to a publisher, behind a queue of one frame.
    ///
    /// - Throws: what `VideoPublisher.add` throws.
    @discardableResult
    public func attach(
        to publisher: VideoPublisher, name: String = "mjpeg"
    ) throws(CaptureError) -> PublisherSubscription {
        try publisher.add(self, name: name, queue: .init(capacity: 1, policy: .newestWins))
    }

    // MARK: Statistics

    /// What was counted.
    public var statistics: MJPEGServerStatistics {
        let hubs = listener.withLock { $0?.service.hubs } ?? []
        return ServerReport(broadcaster, connections: connections, hubs: hubs).statistics
    }
}

/// Whether only programs on the same machine can connect to an IP address.
private func isLoopback(_ host: String) -> Bool {
    host.hasPrefix("127.") || host == "::1" || host.hasPrefix("::ffff:127.")
}
