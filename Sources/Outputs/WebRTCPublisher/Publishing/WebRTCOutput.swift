public import MediaPublishing
public import VideoCapturing

/// Publishes live by WebRTC: to a WHIP endpoint (``WHIPOutput``) or a room of Janus (``JanusOutput``).
///
/// ```swift
/// let output = try WHIPOutput("https://sfu.example/whip/room", token: token)
/// try publisher.add(output)                       // a MediaPublisher; removed and added while it runs
/// for await state in output.states { print(state) }
/// ```
/// **Media.** VP8 or H.264, and Opus. The encoder is of this output alone: it follows what the way to the peer can take, and
/// makes key frames when the peer asks for them. What it makes faster than that is left out in whole groups of pictures.
/// Packets that are passed on keep their bitrate; without B-frames, which peers do not show.
///
/// **Connection.** It connects with the first picture, and again with growing delays when the connection is lost, each time as a
/// new session, which begins with a key frame. By default the peer learns one address of this machine: the one from
/// which its server is reached.
///
/// **Threads.** Safe to use from any thread. Writing never waits.
///
/// `@unchecked Sendable`: its stored properties are constants, or in a lock; subclasses add none.
public class WebRTCOutput: FeedbackSink, @unchecked Sendable {
    /// How a stream is published.
    public struct Configuration: Sendable, Hashable {
        /// Servers of STUN and TURN, as in `stun:host:3478` and `turn:USER:PASSWORD@host:3478?transport=tcp`. A WHIP endpoint may
        /// name more.
        public var iceServers: [String] = []
        /// Whether only relays are used, so that the peer learns no address of this machine.
        public var isRelayOnly = false
        /// Whether all addresses of this machine are offered, and not only the one from which the server is reached.
        public var offersAllAddresses = false
        /// Whether http may lead to other machines, for all on the network to read.
        public var allowsPlainHTTP = false
        /// A file of certificates in PEM whose servers are trusted, in place of those that the system trusts.
        public var certificateAuthorities: String?
        /// How long the first connection may take, further attempts included.
        public var connectTimeout: Duration = .seconds(30)
        /// How long it is tried to connect again after a loss; nil for indefinitely.
        public var reconnectTimeout: Duration?

        var servers: [ICEServer] = []

        /// The default configuration.
        public init() {}
    }

    /// What it does.
    public enum State: Sendable, Hashable {
        /// No picture has come yet.
        case idle
        /// It is being connected.
        case connecting
        /// The peer receives.
        case live
        /// The connection was lost, or could not be made; the next attempt follows after the delay.
        case reconnecting(after: Duration, CaptureError)
        /// No attempt follows: for a reason, or since it was closed.
        case ended(CaptureError?)
    }

    let loop: PublishingLoop
    private let context: Locked<OutputContext?>

    init(_ server: any PublishingServer, _ configuration: Configuration) throws(CaptureError) {
        var configuration = configuration
        configuration.servers = try configuration.iceServers.map { (url) throws(CaptureError) in
            try ICEServer(option: url)
        }
        let context = Locked<OutputContext?>(nil)
        self.context = context
        loop = PublishingLoop(
            server, configuration,
            report: { state in
                guard let context = context.withLock({ $0 }) else { return }
                switch state {
                case .reconnecting(_, let error): context.warn("\(error)")
                case .ended(let error?): context.fail(error)
                case .idle, .connecting, .live, .ended(nil): break
                }
            }, warn: { sentence in context.withLock { $0 }?.warn("\(server.name): \(sentence)") })
    }

    deinit { loop.end() }

    /// What it does at present.
    public var state: State { loop.state }

    /// The present state and all that follow; ends with ``State/ended(_:)``. Each call makes a new stream.
    public var states: AsyncStream<State> { loop.makeStates() }

    /// Statistics of the output.
    public var statistics: Statistics { loop.statistics }

    // MARK: Packets

    public func connectFeedback(_ feedback: PacketFeedback?) { loop.connectFeedback(feedback) }

    /// Takes the tracks, and begins to connect.
    ///
    /// - Throws: `formatUnsupported` for what WebRTC does not carry: other codecs than VP8, H.264 and Opus, or two tracks of one
    ///   medium.
    public func begin(_ tracks: [TrackDescription]) throws {
        let videos = tracks.filter { $0.codec == .vp8 || $0.codec == .h264 }
        let sounds = tracks.filter { $0.codec == .opus }
        guard !tracks.isEmpty, videos.count + sounds.count == tracks.count, videos.count <= 1, sounds.count <= 1 else {
            throw CaptureError(
                .formatUnsupported, operation: "publish", subject: name,
                message: "WebRTC is sent one track of VP8 or H.264 and one of Opus, and these are "
                    + "\(tracks.map(\.codec.rawValue).joined(separator: ", ")).")
        }
        try loop.begin(tracks, isPassedOn: context.withLock { $0?.passedTracks.isEmpty == false })
    }

    /// Queues a packet; packets without a connection are left out.
    public func write(_ packet: MediaPacket) throws { loop.write(packet) }

    /// Ends the session at the server and the peer, and waits for a few seconds at most.
    public func finish() { loop.end() }
}

extension WebRTCOutput: MediaOutput {
    /// The address of the server, without secrets.
    public var name: String { loop.server.name }

    /// `whip` or `janus`.
    public var kind: String { loop.server.kind }

    /// VP8 or H.264, of an encoder that follows the bandwidth of this output.
    public var feed: OutputContext.Feed { .packets(.webRTC) }

    /// Opus.
    public var audioFeed: OutputContext.AudioFeed? { .packets([.opus]) }

    /// Takes the context; it connects with the first picture.
    public func open(_ context: OutputContext) throws -> OutputContext.Destination {
        self.context.withLock { $0 = context }
        return .sink(self)
    }

    /// Ends the session; see ``finish()``.
    ///
    /// - Throws: why there was no connection when the end came, or which medium the peer has never taken.
    public func close(at end: MediaTime?) throws {
        finish()
        if let failure = loop.takeFailure() { throw failure }
    }

    public var limitsOwnWaits: Bool { true }

    public var outputStatistics: OutputStatistics {
        let report = statistics
        var result = OutputStatistics(bytes: Int64(clamping: report.bytesSent))
        switch report.state {
        case .live: result.status = nil
        case .idle, .connecting: result.status = "connecting"
        case .reconnecting: result.status = "reconnecting"
        case .ended: result.status = "ended"
        }
        result.summary =
            "Published \(report.framesSent) frames, \(scaled(Double(report.bytesSent), "B")), to \(name); "
            + "\(report.packetsResent) packets sent again, \(report.reconnects) reconnects."
        result.details = [
            ("url", .string(name)), ("state", .string(report.state.word)),
            ("bitrate", .count(report.bitrate)), ("targetBitrate", .count(report.targetBitrate)),
            ("roundTripTime", report.roundTripTime.map { .number($0.seconds) } ?? .null),
            ("loss", .number(report.loss)), ("framesSent", .count(report.framesSent)),
            ("framesDropped", .count(report.framesDropped)), ("packetsSent", .count(report.packetsSent)),
            ("packetsUnsent", .count(report.packetsUnsent)), ("packetsDropped", .count(report.packetsDropped)),
            ("packetsResent", .count(report.packetsResent)), ("nacks", .count(report.nacks)),
            ("keyFrameRequests", .count(report.keyFrameRequests)),
            ("keyFramesRequested", .count(report.keyFramesRequested)), ("reconnects", .count(report.reconnects)),
            ("path", report.path.map { .string($0) } ?? .null),
            ("refusals", .array(report.refusals.map { .string($0) })),
        ]
        return result
    }
}

extension OutputContext.Feed.PacketFeed {
    /// Packets as peers of WebRTC take them.
    package static var webRTC: Self {
        var feed = Self(codecs: [.vp8, .h264], purpose: .live, needsOwnEncoder: true, pixelAspectCodecs: [])
        feed.takesReorderedPictures = false
        return feed
    }
}

extension WebRTCOutput.State {
    /// The name of the state, for programs.
    fileprivate var word: String {
        switch self {
        case .idle: "idle"
        case .connecting: "connecting"
        case .live: "live"
        case .reconnecting: "reconnecting"
        case .ended: "ended"
        }
    }
}
