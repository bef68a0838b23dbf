import RTP
import ServerTransport
public import VideoCapturing

/// Serves encoded video, and sound where there is some, by RTSP (RFC 2326) to any number of players and recorders.
///
/// ```swift
/// let server = try RTSPServer(configuration: configuration)
/// print(try server.start().url)             // rtsp://127.0.0.1:8554/
/// encoding.add(server, name: "rtsp")
/// ```
/// **Carried** are H.264 (RFC 6184), H.265 (RFC 7798), VP8 (RFC 7741), VP9 (RFC 9628) and JPEG (RFC 2435), and AAC
/// (RFC 3640), Opus (RFC 7587) and G.711 (RFC 3551), on the connection itself or as datagrams, as the client asks. Each frame
/// is cut into packets once for all clients. JPEG images must be baseline with 4:2:0 or 4:2:2, the usual Huffman tables, and
/// at most 2040 pixels in width and height; others are left out, with a warning.
///
/// **Beginning.** A client begins with a key frame at once: with the packets since the last one where it was just now,
/// otherwise with one that the encoder is asked for. A description is answered once the first packet is known.
///
/// **Encryption.** With a certificate it speaks RTSP over TLS (`rtsps://`), and packets go on the connection alone: datagrams
/// would not be encrypted.
///
/// **Slow clients.** Each client on TCP has a queue, limited in time and bytes. One that takes too little loses whole groups
/// of pictures, and one that takes nothing is disconnected; no other client and no encoder waits for it.
///
/// **Threads.** One thread serves all clients. Safe to use from any thread.
public final class RTSPServer: FeedbackSink {
    /// How it serves.
    public let configuration: RTSPServer.Configuration

    private struct State {
        var listener: RTSPListener?
        var hasFinished = false
        var tracks: Set<TrackID> = []
        var feedback: PacketFeedback?
        /// Where it listens, or has listened.
        var address: RTSPServer.Address?
        var onvifPort: Int?
    }

    private let state = Locked(State())
    /// Held while it starts or stops, so that these do not overlap.
    private let life = Locked(false)
    private let counters = Locked(RTSPServer.Statistics())
    private let connections: Connections
    private let warningHandler: Locked<@Sendable (String) -> Void>
    private let cname = RTPSender.Configuration.randomName()

    /// Makes a server that does not serve yet.
    ///
    /// - Parameters:
    ///   - configuration: where and how to serve.
    ///   - onWarning: called with a sentence for the user, on any thread.
    /// - Throws: `invalidConfiguration` for a setting that is out of range.
    public init(
        configuration: RTSPServer.Configuration = RTSPServer.Configuration(),
        onWarning: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(CaptureError) {
        try configuration.validate()
        self.configuration = configuration
        warningHandler = Locked(onWarning)
        connections = Connections(
            limit: configuration.limits.connections, limitPerPeer: configuration.limits.connectionsPerAddress)
    }

    deinit { stop() }

    // MARK: Life

    /// Starts to serve. Blocks until the port is open. Without it ``begin(_:)`` does.
    ///
    /// - Returns: the address at which it listens, with the port that was chosen.
    /// - Throws: `deviceBusy` for a port in use, `deviceNotFound` for an address that is not one of this machine,
    ///   `permissionDenied`, `system`; `invalidState` while it serves, and once it has finished.
    @discardableResult
    public func start() throws(CaptureError) -> RTSPServer.Address {
        let (address, warnings) = try life.withLock { (serves) throws(CaptureError) -> (RTSPServer.Address, [String]) in
            guard !serves, !state.withLock({ $0.hasFinished }) else {
                throw CaptureError(
                    .invalidState, operation: "start the RTSP server", subject: configuration.address,
                    message: "It serves already, or has finished; make another one.")
            }
            let listener = try RTSPListener(
                configuration, statistics: counters, connections: connections,
                warn: { [warningHandler] sentence in
                    warningHandler.withLock { $0 }(sentence)
                })
            serves = true
            let feedback = state.withLock { state in
                state.onvifPort = listener.onvif?.port
                state.listener = listener
                state.address = listener.address
                return state.feedback
            }
            connectFeedback(feedback)
            return (listener.address, openWarnings(at: listener.address) + [listener.warning].compactMap(\.self))
        }
        for warning in warnings { warn(warning) }
        return address
    }

    /// Says to all clients that the streams end, and closes all connections and ports. Does nothing while it does not serve.
    public func stop() {
        life.withLock { serves in
            serves = false
            let listener = state.withLock { state in
                state.hasFinished = true
                state.feedback = nil
                return state.listener.take()
            }
            listener?.close()
        }
    }

    /// The port of the ONVIF device; nil without one, and while it does not serve.
    public var onvifPort: Int? { state.withLock { $0.listener }?.onvif?.port }

    /// The address at which it listens; nil while it does not serve.
    public var address: RTSPServer.Address? { state.withLock { $0.listener }?.address }

    /// The address at which it listens, or has listened; that of the configuration before.
    var lastAddress: RTSPServer.Address {
        state.withLock { $0.address }
            ?? Address(
                host: configuration.address, port: configuration.port, path: configuration.path ?? "",
                isSecure: configuration.tls != nil)
    }

    /// The port of the ONVIF device, also after the end; nil without one.
    var lastONVIFPort: Int? { state.withLock { $0.onvifPort } }

    func setWarningHandler(_ handler: @escaping @Sendable (String) -> Void) { warningHandler.withLock { $0 = handler } }

    private func warn(_ sentence: String) { warningHandler.withLock { $0 }(sentence) }

    private func openWarnings(at address: RTSPServer.Address) -> [String] {
        guard !NetworkAddresses.isLoopback(address.host) else { return [] }
        guard let authentication = configuration.authentication else {
            return [
                "\(address.url) is open to everyone who can reach this machine, without a password. Set one (--serve-login; in a "
                    + "program Configuration.authentication), or listen at 127.0.0.1."
            ]
        }
        return authentication.schemes.contains(.basic) && !address.isSecure
            ? [
                "\(address.url) takes the password unencrypted, so everyone who can read the network's traffic can read it. "
                    + "Offer Digest alone."
            ] : []
    }

    // MARK: Packets

    /// Sets by what key frames are asked for; see `FeedbackSink`.
    public func connectFeedback(_ feedback: PacketFeedback?) {
        onLoop { state in
            state.feedback = feedback
            return { $0.connect(feedback) }
        }
    }

    /// Takes the tracks: one of video, one of sound, or both; starts to serve if need be.
    ///
    /// - Throws: `formatUnsupported` for a codec that is not carried, or two tracks of one kind; and as ``start()``.
    public func begin(_ tracks: [TrackDescription]) throws {
        let (media, channels) = try describe(tracks)
        if address == nil { try start() }
        onLoop { state in
            state.tracks = Set(tracks.map(\.id))
            return { $0.begin(media, channels, tracks) }
        }
    }

    /// Sends a packet to all clients. Never waits. An empty packet is ignored, and so is any once it has finished.
    ///
    /// - Throws: `formatUnsupported` for a track that was not begun.
    public func write(_ packet: MediaPacket) throws {
        let isKnown = onLoop { state in
            guard state.hasFinished || state.tracks.contains(packet.track) else { return nil }
            return { $0.take(packet) }
        }
        guard isKnown else {
            throw CaptureError(
                .formatUnsupported, operation: "write a packet", subject: configuration.address,
                message: "A packet belongs to track \(packet.track.rawValue), with which the stream was not begun.")
        }
    }

    /// Ends the streams for all clients, and closes; see ``stop()``.
    public func finish() { stop() }

    /// Hands work to the thread that serves, if it runs. False where `body` returns nil.
    @discardableResult
    private func onLoop(_ body: (inout State) -> (@Sendable (MediaHub) -> Void)?) -> Bool {
        // The lock is held meanwhile, so that the loop is not shut down.
        state.withLock { state in
            guard let work = body(&state) else { return false }
            guard let hub = state.listener?.hub else { return true }
            hub.loop.execute { work(hub) }
            return true
        }
    }

    private func describe(_ tracks: [TrackDescription]) throws(CaptureError) -> (PlainSession, [MediaHub.Channel]) {
        func refusal(_ message: String) -> CaptureError {
            CaptureError(
                .formatUnsupported, operation: "begin the stream", subject: configuration.address, message: message)
        }
        if let problem = RTSPServer.problem(sending: tracks) { throw refusal(problem) }
        var channels: [MediaHub.Channel] = []
        let isIPv6 = configuration.address.contains(":")
        var media = PlainSession(host: isIPv6 ? "::" : "0.0.0.0", streams: [])
        media.title = configuration.title
        media.hasFeedback = false
        let clock = NTPClock()
        for track in tracks {
            guard let format = RTPFormat(track) else { continue }
            var sending = RTPSender.Configuration(
                format: format, payloadType: format.fixedPayloadType ?? UInt8(96 + channels.count))
            sending.cname = cname
            sending.maximumPacketSize = configuration.maximumPacketSize
            var stream = PlainSession.Stream(
                format: format, payloadType: sending.payloadType, port: 0, reportPort: 0, ssrc: sending.ssrc,
                cname: cname)
            stream.describe(track)
            media.streams.append(stream)
            channels.append(MediaHub.Channel(track: track.id, sender: RTPSender(sending, clock: clock)))
        }
        return (media, channels)
    }

    /// Why tracks cannot be sent, for the user; nil where they can.
    static func problem(sending tracks: [TrackDescription]) -> String? {
        for track in tracks {
            guard RTPFormat(track) != nil else {
                let names = (track.isAudio ? Configuration.knownAudioCodecs : Configuration.knownCodecs).map(\.rawValue)
                return
                    "RTSP carries \(track.isAudio ? "sound" : "pictures") as \(names.joined(separator: ", ")), and here is "
                    + "\(track.codec); encode it."
            }
            if track.codec == .jpeg, case .video(let video) = track.media,
                max(video.width, video.height) > RTPFormat.maximumImageSide
            {
                return
                    "RTSP carries JPEG of up to \(RTPFormat.maximumImageSide) pixels in width and height, and here are "
                    + "\(video.width)x\(video.height); choose a smaller size, or encode."
            }
        }
        guard tracks.count(where: \.isAudio) < 2, tracks.count(where: { !$0.isAudio }) < 2 else {
            return
                "One track of pictures and one of sound are sent, and here are \(tracks.count) tracks; choose some of them."
        }
        return tracks.isEmpty ? "There is no track to send." : nil
    }

    // MARK: Statistics

    /// The statistics since the server was made.
    public var statistics: RTSPServer.Statistics {
        var result = counters.withLock { $0 }
        let counts = connections.current
        result.connections = counts.open
        result.connectionsAccepted = counts.accepted
        result.connectionsRefused = counts.refused
        return result
    }
}
