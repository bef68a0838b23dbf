import RTP

/// What the server and one client say to each other on a connection (RFC 2326, appendix A): a value that takes requests and
/// returns actions, without a socket and a clock.
///
/// A session belongs to its connection, and ends with it.
struct RTSPConversation {
    /// The state of the session.
    enum Phase: Sendable, Hashable {
        /// There is no session.
        case initial
        /// Tracks are set up, and nothing is sent.
        case ready
        case playing
    }

    /// What the connection does next, in this order.
    enum Action: Sendable, Hashable {
        case respond(RTSPResponse)
        /// The tracks are not known yet: the request is handed in again once they are, or answered by
        /// ``RTSPConversation/noMediaResponse`` after a while.
        case awaitMedia
        /// The packets of these tracks are sent from now on. The request is answered by
        /// ``RTSPConversation/playResponse(_:)`` once the first packet is known.
        case play([Int: TrackTransport])
        case pause
        /// The session has ended.
        case endSession
        /// A wrong password was given.
        case recordWrongPassword
        /// The user should read this sentence.
        case warn(String)
    }

    /// What all connections of a server have in common.
    struct Settings: Sendable {
        /// The path at which the stream is; nil for any.
        var path: String?
        var transports: Set<RTSPServer.Configuration.Transport>
        /// The ports from which datagrams come; nil for none.
        var datagramPorts: (packets: Int, reports: Int)?
        /// The group that clients may ask for; nil for none.
        var multicast: RTSPServer.Configuration.Multicast?
        /// The time in seconds after which clients believe that a session ends without a sign of life.
        var sessionTimeout: Int
    }

    /// The methods that are served.
    static let methods = [
        "OPTIONS", "DESCRIBE", "SETUP", "PLAY", "PAUSE", "GET_PARAMETER", "SET_PARAMETER", "TEARDOWN",
    ]
    /// The response where no track has become known in time.
    static let noMediaResponse = RTSPResponse(503, [("Retry-After", "2")])

    private(set) var phase = Phase.initial
    private(set) var session: String?
    private(set) var transports: [Int: TrackTransport] = [:]
    /// The URLs by which the tracks were set up, which `RTP-Info` repeats.
    private var controls: [Int: String] = [:]
    private let settings: Settings
    private let authenticator: RTSPAuthenticator?
    private var hasDescribed = false

    /// - Parameters:
    ///   - settings: those of the server.
    ///   - authenticator: new for each connection; nil where no password is needed.
    init(_ settings: Settings, authenticator: RTSPAuthenticator?) {
        self.settings = settings
        self.authenticator = authenticator
    }

    /// Takes a request.
    ///
    /// - Parameters:
    ///   - request: what the client has sent.
    ///   - media: the tracks; nil as long as they are unknown.
    ///   - isThrottled: whether passwords of this client are not looked at now.
    mutating func handle(
        _ request: RTSPRequest, media: PlainSession?, isThrottled: Bool = false
    ) -> [Action] {
        guard RTSPConversation.methods.contains(request.method) else {
            return [.respond(RTSPResponse(501, [("Public", RTSPConversation.methods.joined(separator: ", "))]))]
        }
        if let needed = request["Require"] ?? request["Proxy-Require"] {
            let printable = needed.utf8.filter { 0x20...0x7E ~= $0 }.prefix(64)
            let name = String(decoding: printable, as: UTF8.self)
            return [.respond(RTSPResponse(551, [("Unsupported", name)]))]
        }
        guard request.method != "OPTIONS" else { return options() }
        if let refusal = refusal(request, isThrottled: isThrottled) { return refusal }
        let target = RTSPTarget(request.target)
        if request.target != "*", let path = settings.path, target.path != path { return [respond(404)] }
        if let named = request.session, named != session { return [respond(454)] }
        switch request.method {
        case "DESCRIBE": return describe(target, media)
        case "SETUP": return setUp(request, target, media)
        case "PLAY": return play()
        case "PAUSE": return pause()
        case "TEARDOWN": return tearDown()
        case "SET_PARAMETER": return [respond(request.bodySize == 0 ? 200 : 451)]
        default: return [respond(200)]
        }
    }

    // MARK: Methods

    private func options() -> [Action] {
        [respond(200, [("Public", RTSPConversation.methods.joined(separator: ", "))])]
    }

    private func refusal(_ request: RTSPRequest, isThrottled: Bool) -> [Action]? {
        guard let authenticator else { return nil }
        var actions: [Action] = []
        if let authorization = request["Authorization"] {
            if isThrottled { return [.respond(RTSPResponse(429))] }
            if authenticator.accepts(authorization, method: request.method) { return nil }
            actions.append(.recordWrongPassword)
        }
        actions.append(.respond(RTSPResponse(401, authenticator.challenges.map { ("WWW-Authenticate", $0) })))
        return actions
    }

    private mutating func describe(_ target: RTSPTarget, _ media: PlainSession?) -> [Action] {
        guard !target.origin.isEmpty else { return [respond(400)] }
        guard var media else { return [.awaitMedia] }
        hasDescribed = true
        for index in media.streams.indices { media.streams[index].control = target.control(of: index) }
        return [
            respond(200, [("Content-Base", target.base), ("Content-Type", "application/sdp")], body: media.text)
        ]
    }

    private mutating func setUp(_ request: RTSPRequest, _ target: RTSPTarget, _ media: PlainSession?) -> [Action] {
        guard phase != .playing else { return [respond(455)] }
        if target.track == nil, !hasDescribed {
            return [
                .warn(
                    "A client has asked for a stream without reading its description, as VLC of Debian does, which has no "
                        + "RTSP; use the VLC of Flatpak or Snap, or another player."), respond(455),
            ]
        }
        guard let media else { return [.awaitMedia] }
        guard let track = target.track ?? (media.streams.count == 1 ? 0 : nil) else { return [respond(459)] }
        guard media.streams.indices.contains(track) else { return [respond(404)] }
        let offers = TransportOffer.parse(request["Transport"] ?? "")
        guard let transport = offers.compactMap({ choose($0, for: track) }).first else { return [respond(461)] }
        transports[track] = transport
        controls[track] = target.origin.isEmpty ? nil : target.control(of: track)
        let id = session ?? hexIdentifier()
        session = id
        phase = .ready
        return [
            .respond(
                RTSPResponse(
                    200,
                    [
                        ("Transport", text(of: transport, ssrc: media.streams[track].ssrc)),
                        ("Session", "\(id);timeout=\(settings.sessionTimeout)"),
                    ]))
        ]
    }

    private mutating func play() -> [Action] {
        guard phase != .initial else { return [respond(455)] }
        guard phase == .ready else { return [.respond(playResponse())] }
        phase = .playing
        return [.play(transports)]
    }

    /// The answer to PLAY (RFC 2326, 12.33), before the first packet.
    ///
    /// - Parameter starts: where the tracks begin; without those that are not known.
    func playResponse(_ starts: [Int: TrackStart] = [:]) -> RTSPResponse {
        let places = controls.sorted { $0.key < $1.key }.map { track, url in
            "url=\(url)" + (starts[track].map { ";seq=\($0.sequenceNumber);rtptime=\($0.timestamp)" } ?? "")
        }
        let info = places.isEmpty ? [] : [("RTP-Info", places.joined(separator: ","))]
        return response(200, [("Range", "npt=now-")] + info)
    }

    private mutating func pause() -> [Action] {
        guard phase != .initial else { return [respond(455)] }
        let isPaused = phase == .playing
        phase = .ready
        return isPaused ? [.pause, respond(200)] : [respond(200)]
    }

    private mutating func tearDown() -> [Action] {
        guard phase != .initial else { return [respond(200)] }
        let response = respond(200)
        phase = .initial
        session = nil
        transports = [:]
        controls = [:]
        return [.endSession, response]
    }

    // MARK: Transports

    /// The transport that an offer leads to; nil for one that cannot be taken. All tracks of a session go the same way.
    private func choose(_ offer: TransportOffer, for track: Int) -> TrackTransport? {
        let others = transports.filter { $0.key != track }.values
        switch offer.kind {
        case .interleaved(let asked):
            guard settings.transports.contains(.tcp), others.allSatisfy(\.isInterleaved) else { return nil }
            var taken: Set<UInt8> = []
            for case .interleaved(let channels) in others { taken.formUnion([channels.packets, channels.reports]) }
            if let asked, taken.isDisjoint(with: [asked.packets, asked.reports]) { return .interleaved(asked) }
            for first in stride(from: UInt8(0), to: 254, by: 2) where taken.isDisjoint(with: [first, first + 1]) {
                return .interleaved(TrackTransport.Channels(packets: first, reports: first + 1))
            }
            return nil
        case .datagrams(let port, let reportPort):
            guard settings.transports.contains(.udp), settings.datagramPorts != nil,
                !others.contains(where: { $0.isInterleaved || $0.isMulticast })
            else { return nil }
            return .datagrams(port: port, reportPort: reportPort)
        case .multicast:
            guard let group = settings.multicast, others.allSatisfy(\.isMulticast) else { return nil }
            let port = UInt16(clamping: group.port + 2 * track)
            return .multicast(port: port, reportPort: port + 1)
        }
    }

    private func text(of transport: TrackTransport, ssrc: UInt32) -> String {
        let hex = String(ssrc, radix: 16, uppercase: true)
        let source = String(repeating: "0", count: 8 - hex.count) + hex
        switch transport {
        case .interleaved(let channels):
            return "RTP/AVP/TCP;unicast;interleaved=\(channels.packets)-\(channels.reports);ssrc=\(source)"
        case .datagrams(let port, let reportPort):
            let own = settings.datagramPorts.map { ";server_port=\($0.packets)-\($0.reports)" } ?? ""
            return "RTP/AVP;unicast;client_port=\(port)-\(reportPort)\(own);ssrc=\(source)"
        case .multicast(let port, let reportPort):
            let group = settings.multicast.map { ";destination=\($0.group);ttl=\($0.timeToLive)" } ?? ""
            return "RTP/AVP;multicast\(group);port=\(port)-\(reportPort);ssrc=\(source)"
        }
    }

    // MARK: Responses

    /// A response with the session, where there is one.
    private func respond(_ status: Int, _ headers: [(name: String, value: String)] = [], body: String = "") -> Action {
        .respond(response(status, headers, body: body))
    }

    private func response(
        _ status: Int, _ headers: [(name: String, value: String)], body: String = ""
    ) -> RTSPResponse {
        RTSPResponse(status, headers + (session.map { [("Session", $0)] } ?? []), body: body)
    }

    private func hexIdentifier() -> String { String(UInt64.random(in: 1 << 60 ... .max), radix: 16) }
}
