import CaptureCore
import HTTPTransport

/// A publisher in a room of Janus's VideoRoom plugin, by Janus's HTTP API: it joins with an offer, reports what happens, and
/// leaves.
///
/// For one session; it must be closed, since its thread waits for events until then. Methods block while Janus works, and
/// may be called from any thread. Nothing that they throw contains pins, secrets or tokens.
package final class JanusClient: Sendable {
    package struct Answer: Sendable {
        /// The SDP of the answer, not yet validated.
        package var sdp: String
        /// Candidates that came before the answer, without `a=`; where Janus trickles, the answer has none.
        package var candidates: [String]
    }

    private struct State {
        var isStarted = false
        var isClosed = false
        var session: Int64?
        var handle: Int64?
        /// Of the room, if this client has made it.
        var roomSecret: String?
        var joining: String?
        var outcome: Result<Answer, SignallingError>?
        var candidates: [String] = []
        var pollThread: CaptureThread?
        var pollThreadIdentifier: UInt?
    }

    private let server: SignallingServer
    private let room: JanusRoom
    private let apiSecret: String?
    private let onEvent: @Sendable (JanusEvent) -> Void
    private let state = Locked(State())
    /// Requests and events; apart from the farewell, which is sent after these were cancelled.
    private let client = HTTPClient(maximumBodyBytes: 256 * 1024)
    private let farewell = HTTPClient()

    /// Janus answers to a wait for events after 30 s at the latest.
    private static let pollTimeout = Duration.seconds(50)
    private static let maximumCandidates = 32
    /// What all requests of the end may take together.
    private static let farewellTimeout = Duration.seconds(3)

    /// - Parameters:
    ///   - server: Janus's HTTP API, as in `http://127.0.0.1:8088/janus`.
    ///   - apiSecret: of Janus's configuration; nil for none.
    ///   - onEvent: called on the client's thread; it may close the client.
    package init(
        _ server: SignallingServer, room: JanusRoom, apiSecret: String? = nil,
        onEvent: @escaping @Sendable (JanusEvent) -> Void
    ) {
        self.server = server
        self.room = room
        self.apiSecret = apiSecret
        self.onEvent = onEvent
    }

    // MARK: Joining

    /// Joins the room with an offer, and waits for the answer. Once.
    ///
    /// - Throws: `notFound`, `unauthorized`, `busy` for a full room, `offerRefused`, `untrusted`, `unreachable`,
    ///   `serverFailed`, `invalidAnswer`, `cancelled`. The client is closed then.
    package func publish(offer: String) throws(SignallingError) -> Answer {
        let mayStart = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted && !state.isClosed
        }
        guard mayStart else { throw error(.cancelled, "The client has joined or was closed; make another one.") }
        do {
            return try join(offer)
        } catch {
            close()
            throw error
        }
    }

    private func join(_ offer: String) throws(SignallingError) -> Answer {
        guard let session = try ask("", [("janus", .string("create"))]).identifier else { throw noIdentifier }
        state.withLock { $0.session = session }
        let attach: [(name: String, value: JSONValue)] = [
            ("janus", .string("attach")), ("plugin", .string("janus.plugin.videoroom")),
        ]
        guard let handle = try ask("/\(session)", attach).identifier else { throw noIdentifier }
        state.withLock { $0.handle = handle }
        if let creation = room.creation { try create(creation, "/\(session)/\(handle)") }

        let transaction = JanusClient.token()
        state.withLock { $0.joining = transaction }
        try startThread()
        let message: [(name: String, value: JSONValue)] = [
            ("janus", .string("message")), ("body", room.joinBody),
            ("jsep", .object([("type", .string("offer")), ("sdp", .string(offer))])),
        ]
        _ = try ask("/\(session)/\(handle)", message, transaction: transaction)
        let deadline = MonotonicClock().now.advanced(by: server.timeout)
        let outcome = state.wait(until: deadline) { state -> Result<Answer, SignallingError>? in
            state.isClosed ? .failure(cancelled) : state.outcome
        }
        guard let outcome else {
            throw error(.unreachable, "Janus has taken the offer, but does not answer it; look at its log.")
        }
        return try outcome.get()
    }

    private func create(_ creation: JanusRoom.Creation, _ path: String) throws(SignallingError) {
        let secret = creation.secret ?? JanusClient.token()
        let body = room.creationBody(creation, secret: secret)
        let reply = try send(path, [("janus", .string("message")), ("body", body)])
        if let failure = reply.failure {
            guard failure.code == JanusRoom.existsCode else { throw room.error(failure, subject: subject) }
            return
        }
        state.withLock { $0.roomSecret = secret }
    }

    // MARK: Events

    private func startThread() throws(SignallingError) {
        do {
            let thread = try CaptureThread(name: "janus events") { [self] in poll() }
            state.withLock { $0.pollThread = thread }
        } catch {
            throw SignallingError(
                .serverFailed, operation: error.operation, errno: error.systemError, message: error.message)
        }
    }

    private func poll() {
        let session = state.withLock { state in
            state.pollThreadIdentifier = CaptureThread.currentIdentifier
            return state.session
        }
        guard let session else { return }
        var retries = BackoffPolicy(initialDelay: .milliseconds(200), maximumDelay: .seconds(1), maximumAttempts: 4)
        while !client.isCancelled {
            do {
                for message in try events(session) { try handle(message) }
                retries.didConnect(at: MonotonicClock().now)
            } catch {
                guard !client.isCancelled else { return }
                let delay = error.code == .unreachable ? retries.nextDelay(at: MonotonicClock().now) : nil
                guard let delay else { return report(lost: error) }
                wait(delay)
            }
        }
    }

    /// Until the client is closed or the time has passed.
    private func wait(_ delay: Duration) {
        let deadline = MonotonicClock().now.advanced(by: delay)
        _ = state.wait(until: deadline) { $0.isClosed ? () : nil }
    }

    private func events(_ session: Int64) throws(SignallingError) -> [JanusMessage] {
        // Counts as activity: Janus ends sessions without any after a minute.
        var query = "maxev=10&rid=\(JanusClient.token())"
        if let apiSecret { query += "&apisecret=\(percentEncoded(apiSecret.utf8))" }
        var request = try self.request("GET", "/\(session)", query: query)
        request.timeout = JanusClient.pollTimeout
        do {
            return try messages(client, request)
        } catch {
            // So Janus answers for a session that it does not know, as after its restart.
            guard error.code == .notFound else { throw error }
            throw self.error(.ended, "Janus no longer has the session; publish again.")
        }
    }

    private func handle(_ message: JanusMessage) throws(SignallingError) {
        if message.kind == "timeout" || message.kind == "detached" {
            throw error(.ended, "Janus has ended the session; publish again.")
        }
        let isJoining = state.withLock { state in
            guard state.outcome == nil else { return false }
            if let candidate = message.candidate {
                if state.candidates.count < JanusClient.maximumCandidates { state.candidates.append(candidate) }
                return true
            }
            guard message.transaction == state.joining, message.kind == "event" || message.kind == "error" else {
                return false
            }
            if let failure = message.failure {
                state.outcome = .failure(room.error(failure, subject: subject))
            } else if let description = message.description, description.type == "answer" {
                state.outcome = .success(Answer(sdp: description.sdp, candidates: state.candidates))
            } else {
                state.outcome = .failure(
                    error(.invalidAnswer, "Janus has joined the room without an answer; check the room's codecs."))
            }
            return true
        }
        if isJoining {
            state.wakeAll()
        } else if let failure = message.failure, message.kind == "error" {
            throw room.error(failure, subject: subject)
        } else if let event = message.event {
            onEvent(event)
        }
    }

    private func report(lost error: SignallingError) {
        let wasJoining = state.withLock { state in
            guard state.outcome == nil else { return false }
            state.outcome = .failure(error)
            return true
        }
        state.wakeAll()
        if !wasJoining { onEvent(.lost(error)) }
    }

    // MARK: End

    /// Leaves the room, destroys it if this client has made it, and ends the session: once, however often it is called. No
    /// event follows, but for one that is being handled.
    package func close() {
        let last = state.withLock { state -> State? in
            guard !state.isClosed else { return nil }
            state.isClosed = true
            return state
        }
        state.wakeAll()
        client.cancel()
        guard let last else { return }
        leave(last)
        if last.pollThreadIdentifier != CaptureThread.currentIdentifier { last.pollThread?.join() }
    }

    private func leave(_ last: State) {
        guard let session = last.session else { return }
        let message = JSONValue.string("message")
        let deadline = MonotonicClock().now.advanced(by: JanusClient.farewellTimeout)
        do {
            if let handle = last.handle {
                let path = "/\(session)/\(handle)"
                let leaving: JSONValue = .object([("request", .string("leave"))])
                _ = try send(path, [("janus", message), ("body", leaving)], farewellUntil: deadline)
                if let secret = last.roomSecret {
                    _ = try send(
                        path, [("janus", message), ("body", room.destructionBody(secret: secret))],
                        farewellUntil: deadline)
                }
            }
            _ = try send("/\(session)", [("janus", .string("destroy"))], farewellUntil: deadline)
        } catch {
            // Janus is gone, and ends the session itself after a while without requests.
        }
    }
}

// MARK: - Requests

extension JanusClient {
    /// Sends a request, and throws the error that it was answered with.
    private func ask(
        _ path: String, _ members: [(name: String, value: JSONValue)], transaction: String = token()
    ) throws(SignallingError) -> JanusMessage {
        let reply = try send(path, members, transaction: transaction)
        if let failure = reply.failure { throw room.error(failure, subject: subject) }
        return reply
    }

    private func send(
        _ path: String, _ members: [(name: String, value: JSONValue)], transaction: String = token(),
        farewellUntil deadline: MediaTime? = nil
    ) throws(SignallingError) -> JanusMessage {
        var members = members + [("transaction", JSONValue.string(transaction))]
        if let apiSecret { members.append(("apisecret", .string(apiSecret))) }
        var request = try self.request("POST", path)
        request.headerLines = ["Content-Type: application/json"]
        request.body = Array(JSONValue.object(members).text.utf8)
        if let deadline {
            request.timeout = min(server.timeout, max(deadline - MonotonicClock().now, .milliseconds(100)))
        }
        guard let reply = try messages(deadline == nil ? client : farewell, request).first else { throw noMessage }
        return reply
    }

    private func request(_ method: String, _ path: String, query: String = "") throws(SignallingError) -> HTTPRequest {
        var url = String(server.address.requestURL.prefix { $0 != "?" })
        while url.hasSuffix("/") { url.removeLast() }
        do {
            return server.request(method, try HTTPAddress(url + path + (query.isEmpty ? "" : "?\(query)")))
        } catch {
            throw self.error(.invalidConfiguration, "The address of Janus cannot be read; check it.")
        }
    }

    private func messages(_ client: HTTPClient, _ request: HTTPRequest) throws(SignallingError) -> [JanusMessage] {
        let response: HTTPClient.Response
        do { response = try client.perform(request) } catch {
            throw SignallingError(error, operation: "publish to Janus", subject: subject)
        }
        let status = printable(response.statusText, limit: 80)
        switch response.status {
        case 200: break
        case 401, 403:
            throw error(.unauthorized, "Janus does not allow this (\(status)); check the token and its rules.")
        case 404:
            throw error(.notFound, "There is no Janus at this path (\(status)); its HTTP API is at /janus by default.")
        case 500..<600: throw error(.serverFailed, "Janus has failed (\(status)); try again later.")
        default: throw error(.invalidAnswer, "Janus answers with \(status); check that the address is its HTTP API.")
        }
        guard let messages = JanusMessage.messages(in: response.body) else { throw noMessage }
        return messages
    }

    private func error(_ code: SignallingErrorCode, _ message: String) -> SignallingError {
        SignallingError(code, operation: "publish to Janus", subject: subject, message: message)
    }

    private var subject: String { maskingSecrets(inURL: server.address.requestURL) }
    private var cancelled: SignallingError { error(.cancelled, "The client was closed.") }
    private var noMessage: SignallingError {
        error(.invalidAnswer, "The server does not speak Janus's HTTP API; check the address and the port.")
    }
    private var noIdentifier: SignallingError {
        error(.invalidAnswer, "Janus has made a session without a number; its version may be too old.")
    }

    /// A text that no other request has.
    private static func token() -> String { String(UInt64.random(in: .min ... .max), radix: 36) }
}
