import NIOCore
import NIOHTTP1
import ServerTransport
import VideoCapturing

/// The parts of a server that its connections share. Safe to use from any thread.
final class Service: Sendable {
    let configuration: MJPEGServer.Configuration
    let broadcaster: Broadcaster
    let connections: Connections
    let hubs: [LoopHub]
    private let authenticator: Authenticator?
    /// Nil without a limit of wrong passwords.
    private let throttle: Locked<LoginThrottle>?
    private let pageBytes: ByteBuffer
    /// The threads that look for recordings, or cut them.
    let recordingThreads = Locked(0)

    init(
        _ configuration: MJPEGServer.Configuration, broadcaster: Broadcaster, connections: Connections, hubs: [LoopHub]
    ) {
        self.configuration = configuration
        self.broadcaster = broadcaster
        self.connections = connections
        self.hubs = hubs
        authenticator = configuration.authentication.map { Authenticator($0) }
        throttle = configuration.limits.loginAttempts.map { Locked(LoginThrottle(freeAttempts: $0)) }
        pageBytes = ByteBuffer(string: ViewerPage.html)
    }

    var page: Reply { page(Reply(.page, pageBytes), ViewerPage.contentSecurityPolicy) }

    var recordingsPage: Reply {
        page(Reply(.recordings(.page), ByteBuffer(string: RecordingsPage.html)), RecordingsPage.contentSecurityPolicy)
    }

    private func page(_ reply: Reply, _ policy: String) -> Reply {
        var reply = reply
        reply.headers = [
            ("Content-Security-Policy", policy), ("X-Frame-Options", "SAMEORIGIN"),
            ("Referrer-Policy", "no-referrer"),
        ]
        return reply
    }

    /// The lines that tell browsers which other pages may embed a response, and which may read it by script; the latter as
    /// uStreamer writes them.
    ///
    /// - Parameters:
    ///   - head: the head of the request.
    ///   - isExposed: whether only these lines and the check of the host protect the picture from other pages.
    func crossOriginLines(for head: HTTPRequestHead, isExposed: Bool) -> [(name: String, value: String)] {
        let openPolicy =
            isExposed && configuration.allowedOrigin == nil
            ? .sameOrigin : MJPEGServer.Configuration.ResourcePolicy.crossOrigin
        var lines = [("Cross-Origin-Resource-Policy", (configuration.resourcePolicy ?? openPolicy).rawValue)]
        guard let origin = configuration.allowedOrigin else { return lines }
        lines.append(("Access-Control-Allow-Origin", origin))
        // Browsers refuse the two together.
        if origin != "*" { lines.append(("Access-Control-Allow-Credentials", "true")) }
        if let names = head.headers.first(name: "access-control-request-headers"), isPlain(names) {
            lines.append(("Access-Control-Allow-Headers", names))
        }
        var query = Query("")
        let route = Route(head.uri, query: &query)
        if head.headers.contains(name: "access-control-request-method") {
            lines.append(("Access-Control-Allow-Methods", methods(of: route)))
        }
        // Without it a player cannot end the session that it has begun.
        if case .session? = route { lines.append(("Access-Control-Expose-Headers", "Location")) }
        return lines
    }

    /// The methods that a route takes.
    private func methods(of route: Route?) -> String {
        if case .record? = route { return "POST, OPTIONS" }
        guard case .session(let identifier)? = route, broadcaster.viewing != nil else { return "GET, HEAD, OPTIONS" }
        return identifier == nil ? "POST, OPTIONS" : "DELETE, OPTIONS"
    }

    /// The response to a question for the methods of a route.
    func optionsReply(_ route: Route?) -> Reply {
        var reply = Reply(200, "")
        reply.body.clear()
        reply.headers = [("Allow", methods(of: route))]
        if case .session(nil)? = route, broadcaster.viewing != nil {
            reply.headers.append(("Accept-Post", Route.session(nil).contentType))
        }
        return reply
    }

    /// The response to a client without the right password; nil for one with it, or where none is needed.
    func authorizationRefusal(_ head: HTTPRequestHead, from peer: Peer) -> Reply? {
        guard let authenticator else { return nil }
        let now = broadcaster.clock.now
        let authorization = head.headers["authorization"]
        if !authorization.isEmpty, let delay = throttle?.withLock({ $0.delay(for: peer, at: now) }),
            // A client that has given the password continues, though another at the same address guesses.
            !authenticator.isProven(authorization)
        {
            var reply = Reply(429, "Too many wrong passwords came from your address; try again later.")
            reply.headers = [("Retry-After", "\(delay.components.seconds + 1)")]
            return reply
        }
        let verdict = authenticator.check(authorization, method: head.method.rawValue, target: head.uri, at: now)
        guard verdict != .granted else { return nil }
        if verdict == .refused, !authorization.isEmpty {
            throttle?.withLock { $0.recordFailure(of: peer, at: now) }
        }
        var reply = Reply(401, "This server asks for a name and a password.")
        reply.headers = authenticator.challenges(isStale: verdict == .stale, at: now).map { ("WWW-Authenticate", $0) }
        return reply
    }

    /// The response of `/record`, which starts a clip.
    func recordReply(_ head: HTTPRequestHead) -> Reply {
        guard head.method == .POST else {
            var reply = Reply(405, "A clip begins with a POST.")
            reply.headers = [("Allow", "POST, OPTIONS")]
            return reply
        }
        // Forms of other pages may send it, with the password that the browser knows.
        if let origin = head.headers.first(name: "origin"), !isOwn(origin, head), origin != configuration.allowedOrigin
        {
            return Reply(403, "Other web pages start no clips; ask for it from the page of this server.")
        }
        guard broadcaster.recording.withLock({ $0 })?.fire(.http) ?? false else {
            return Reply(409, "Requests start no clips here (--record-on http of the tool).")
        }
        return Reply(202, "A clip is recorded.")
    }

    /// Whether an origin is that of this server, by the name that the request uses.
    private func isOwn(_ origin: String, _ head: HTTPRequestHead) -> Bool {
        guard let host = head.headers.first(name: "host"), let end = origin.firstRange(of: "://")?.upperBound else {
            return false
        }
        return origin[end...].lowercased() == host.lowercased()
    }

    /// The first bytes of a stream, as uStreamer writes them: HTTP/1.0, so that the stream ends where the connection does.
    func streamHead(_ record: ViewerRecord, crossOrigin: [(name: String, value: String)]) -> ByteBuffer {
        var head = ByteBuffer()
        head.writeStaticString("HTTP/1.0 200 OK\r\nConnection: close\r\n")
        for (name, value) in crossOrigin { head.writeString("\(name): \(value)\r\n") }
        head.writeStaticString(Reply.freshness)
        let suffix = configuration.instanceID.isEmpty ? "" : "_" + configuration.instanceID
        let id = String(record.id, radix: 16)
        head.writeString(
            "Set-Cookie: stream_client\(suffix)=\(record.parameters.key ?? "0")/\(id); path=/; max-age=30\r\n")
        head.writeString("Content-Type: \(Route.stream.contentType)\r\n\r\n--boundarydonotcross\r\n")
        if record.parameters.advanceHeaders { PartHead.writeAdvance(wallClock: WallClock.now, to: &head) }
        return head
    }

    /// The response of `/snapshot`.
    ///
    /// - Parameter part: the newest frame or a placeholder; nil after the timeout.
    func snapshotReply(_ part: FramePart?) -> Reply {
        let part = part ?? broadcaster.state.withLock { $0.isLive ? nil : $0.currentPart }
        guard let part else { return Reply(503, "There is no picture yet; try again later.") }
        let information = part.information
        if information.isOnline { connections.recordSnapshot() }
        var reply = Reply(.snapshot, part.jpeg, status: information.isOnline ? 200 : 503)
        reply.headers = [
            ("X-Timestamp", secondsText(information.wallClock)),
            ("X-UStreamer-Online", "\(information.isOnline)"),
            ("X-UStreamer-Width", "\(information.width)"),
            ("X-UStreamer-Height", "\(information.height)"),
            ("X-UStreamer-Grab-Begin-Timestamp", secondsText(information.timestamp.nanoseconds)),
            ("X-UStreamer-Grab-End-Timestamp", secondsText(information.timestamp.nanoseconds)),
            ("X-UStreamer-Encode-Begin-Timestamp", secondsText(information.encodeBegin.nanoseconds)),
            ("X-UStreamer-Encode-End-Timestamp", secondsText(information.encodeEnd.nanoseconds)),
            ("X-UStreamer-Send-Timestamp", secondsText(broadcaster.clock.now.nanoseconds)),
        ]
        return reply
    }

    private func secondsText(_ nanoseconds: Int64) -> String {
        var buffer = ByteBuffer()
        buffer.writeSeconds(nanoseconds: nanoseconds)
        return String(buffer: buffer)
    }

    /// Whether a client's text may be part of a response's head.
    private func isPlain(_ text: String) -> Bool {
        text.utf8.count <= 1024 && text.utf8.allSatisfy { isUnreserved($0) || $0 == 0x20 || $0 == UInt8(ascii: ",") }
    }
}

extension Service {
    func stateReport() -> ByteBuffer {
        ServerReport(broadcaster, connections: connections, hubs: hubs).json(configuration)
    }

    func metricsReport() -> ByteBuffer { ServerReport(broadcaster, connections: connections, hubs: hubs).metrics }
}
