import HTTPTransport
public import VideoCapturing

/// Publishes to a WHIP endpoint (RFC 9725); see ``WebRTCOutput``.
public final class WHIPOutput: WebRTCOutput, @unchecked Sendable {
    /// An output that is not connected yet.
    ///
    /// - Parameters:
    ///   - url: the endpoint, `https://host/path`; http for this machine, or where the configuration allows it.
    ///   - token: sent as `Authorization: Bearer`, to this server only; nil for none.
    ///   - configuration: how to publish.
    /// - Throws: `invalidConfiguration` for an address, a token or a server of ICE that is wrong, `permissionDenied` for http
    ///   to another machine.
    public init(
        _ url: String, token: String? = nil, configuration: WebRTCOutput.Configuration = WebRTCOutput.Configuration()
    ) throws(CaptureError) {
        try super.init(WHIPServer(server: SignallingServer(url, token, configuration)), configuration)
    }
}

/// Publishes to a room of Janus's VideoRoom plugin, by Janus's HTTP API; see ``WebRTCOutput``.
public final class JanusOutput: WebRTCOutput, @unchecked Sendable {
    /// The room, and how it is entered.
    public struct Room: Sendable, Hashable {
        /// A number, or a text where Janus is configured with `string_ids`.
        public var name: String
        /// Nil for a room without one.
        public var pin: String?
        /// The name that other participants see; nil for none.
        public var displayName: String?

        /// A room; see the properties.
        public init(_ name: String, pin: String? = nil, displayName: String? = nil) {
            self.name = name
            self.pin = pin
            self.displayName = displayName
        }
    }

    /// An output that is not connected yet.
    ///
    /// - Parameters:
    ///   - url: Janus's HTTP API, `http://host:8088/janus`. http to other machines is allowed where the configuration says so.
    ///   - room: the room to publish in.
    ///   - token: sent as `Authorization: Bearer`, for a proxy in front of Janus; nil for none.
    ///   - configuration: how to publish.
    /// - Throws: as ``WHIPOutput``.
    public init(
        _ url: String, room: Room, token: String? = nil,
        configuration: WebRTCOutput.Configuration = WebRTCOutput.Configuration()
    ) throws(CaptureError) {
        var entered = JanusRoom(room.name)
        entered.pin = room.pin
        entered.display = room.displayName
        try super.init(
            JanusServer(server: SignallingServer(url, token, configuration), room: entered, apiSecret: nil),
            configuration)
    }
}

extension SignallingServer {
    fileprivate init(_ url: String, _ token: String?, _ configuration: WebRTCOutput.Configuration) throws(CaptureError)
    {
        do {
            try self.init(url, token: token, allowsPlainHTTP: configuration.allowsPlainHTTP)
        } catch {
            throw CaptureError(error)
        }
        if let path = configuration.certificateAuthorities { trust = .authorities(path: path) }
    }
}

extension HTTPAddress {
    /// Apart from each other, without brackets.
    var hostAndPort: (host: String, port: UInt16) {
        let standard: UInt16 = isSecure ? 443 : 80
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            let port = host[host.index(after: end)...].dropFirst()
            return (String(host[..<end].dropFirst()), UInt16(port) ?? standard)
        }
        guard let colon = host.lastIndex(of: ":") else { return (host, standard) }
        return (String(host[..<colon]), UInt16(host[host.index(after: colon)...]) ?? standard)
    }
}

extension ICEServer {
    /// A server as people write it, with user and password before the host of TURN.
    init(option: String) throws(CaptureError) {
        var (uri, user, password) = (option, "", "")
        if let colon = option.firstIndex(of: ":"), let at = option.lastIndex(of: "@"), colon < at {
            let login = option[option.index(after: colon)..<at].split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            user = String(login.first ?? "")
            password = login.count > 1 ? String(login[1]) : ""
            uri = String(option[...colon]) + option[option.index(after: at)...]
        }
        guard let server = ICEServer(uri: uri, username: user, password: password), !server.isRelay || !user.isEmpty
        else {
            throw CaptureError(
                .invalidConfiguration, operation: "read the ICE server", subject: uri,
                message: "Write stun:HOST:PORT or turn:USER:PASSWORD@HOST:PORT, for TCP with ?transport=tcp behind it.")
        }
        self = server
        guard forTransport != nil else {
            throw CaptureError(
                .formatUnsupported, operation: "read the ICE server", subject: uri,
                message:
                    "TURN over TLS is not supported; use the server's turn:HOST?transport=tcp, through which media "
                    + "goes encrypted too.")
        }
    }
}
