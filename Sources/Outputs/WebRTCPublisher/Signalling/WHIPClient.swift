import CaptureCore
import HTTPTransport

/// One session with a WHIP endpoint (RFC 9725): offer and answer, ICE restarts, and its end.
///
/// Its methods block while the server works, and may be called from any thread, but ``publish(offer:)`` from one at a time.
/// Nothing that they throw or describe contains the token, or a password of the session.
package final class WHIPClient: Sendable {
    /// An answer that was accepted.
    package struct Session: Sendable {
        /// The SDP of the answer, not yet validated.
        package var answer: String
        /// The STUN and TURN servers that the endpoint names.
        package var iceServers: [ICEServer]
        /// Without one the session can neither be restarted nor deleted; the endpoint breaks the protocol.
        package var hasResource: Bool
        /// What the endpoint has done wrong, in words for the user; nil for nothing.
        package var notice: String?
    }

    package enum Outcome: Sendable {
        case accepted(Session)
        /// The endpoint can take no publisher now (503, 429); the delay is the one that it asks for.
        case busy(retryAfter: Duration?)
    }

    package enum RestartOutcome: Sendable {
        /// The server's new credentials, with its candidates if they have changed.
        case restarted(ICEFragment)
        /// The session goes on as it is.
        case refused(SignallingError)
    }

    private struct State {
        var isPublishing = false
        var isClosed = false
        var resource: HTTPAddress?
        /// Whether the token may be sent to the resource.
        var isTokenAllowed = false
        var etag: String?
        var takesPatches = true
    }

    private let server: SignallingServer
    private let state = Locked(State())
    /// Apart, so that the end of a session is sent after requests were cancelled.
    private let client = HTTPClient()
    private let farewell = HTTPClient()
    private static let farewellTimeout = Duration.seconds(5)

    package init(_ server: SignallingServer) { self.server = server }

    // MARK: Publishing

    /// Sends the offer.
    ///
    /// - Parameter offer: with all candidates.
    /// - Throws: `unauthorized`, `notFound`, `busy` for a second publisher, `offerRefused`, `untrusted`, `unreachable`,
    ///   `serverFailed`, `invalidAnswer`, `cancelled`.
    package func publish(offer: String) throws(SignallingError) -> Outcome {
        let mayPublish = state.withLock { state in
            guard !state.isClosed, !state.isPublishing, state.resource == nil else { return false }
            state.isPublishing = true
            return true
        }
        guard mayPublish else {
            throw error(.cancelled, "The session has been published or closed; make another client.")
        }
        defer {
            state.withLock { $0.isPublishing = false }
            state.wakeAll()
        }
        var request = server.request("POST", server.address)
        request.headerLines = ["Content-Type: application/sdp", "Accept: application/sdp"]
        request.body = Array(offer.utf8)
        let response: HTTPClient.Response
        do { response = try client.perform(request) } catch { throw failure(error) }
        if response.status == 503 || response.status == 429 { return .busy(retryAfter: response.retryAfter) }
        guard response.isSuccess else { throw refusal(response) }

        let hasResource = adopt(response)
        // Some servers answer with another status or type; a description is an answer.
        guard response.body.starts(with: Array("v=0".utf8)),
            let answer = String(validating: response.body, as: UTF8.self)
        else {
            close()
            guard response.status == 201 else { throw refusal(response) }
            throw error(
                .invalidAnswer,
                "The server has accepted the offer, but its answer is not SDP; check that the address is that of a WHIP "
                    + "endpoint.")
        }
        guard !state.withLock({ $0.isClosed }) else {
            // Closed meanwhile: the session that has come too late must not stay.
            delete()
            throw error(.cancelled, "The session was closed while the server answered.")
        }
        return .accepted(
            Session(
                answer: answer, iceServers: ICEServer.servers(inLinks: response.values("link")),
                hasResource: hasResource, notice: hasResource ? nil : missingResource(response)))
    }

    private func missingResource(_ response: HTTPClient.Response) -> String {
        let location = response.values("location").last ?? ""
        let cause =
            location.isEmpty
            ? "no address of the session (Location)"
            : "an address of the session that cannot be used (Location: "
                + "\(printable(maskingSecrets(inURL: location), limit: 80)))"
        return "The server names \(cause), so the session cannot be ended or restarted there; it ends after a while "
            + "without media."
    }

    /// Remembers the resource; false when the response names none that may be used.
    private func adopt(_ response: HTTPClient.Response) -> Bool {
        guard let location = response.values("location").last, !location.isEmpty,
            let resource = response.address.resolving(location),
            resource.isSecure || !response.address.isSecure,
            resource.isSecure || resource.isLoopback || server.allowsPlainHTTP
        else { return false }
        state.withLock { state in
            state.resource = resource
            // Only the server that the token was given for.
            state.isTokenAllowed = resource.isSameServer(as: server.address)
            state.etag = response.values("etag").last
        }
        return true
    }

    /// Ends requests that are in flight, and those to come, but for the end of the session.
    package func cancel() { client.cancel() }

    // MARK: ICE

    /// Whether the endpoint may be asked for an ICE restart: it has named the session's resource, and has not said that it
    /// takes no changes.
    package var canRestart: Bool {
        state.withLock { !$0.isClosed && $0.resource != nil && $0.takesPatches }
    }

    /// Asks for an ICE restart. A refusal is no error of the session.
    package func restart(_ fragment: ICEFragment) -> RestartOutcome {
        do {
            let response = try patch(fragment, match: "\"*\"")
            guard response.status == 200, let text = String(validating: response.body, as: UTF8.self),
                let answer = ICEFragment(parsing: text)
            else {
                return .refused(
                    error(
                        .invalidAnswer,
                        "The server answers to the ICE restart with \(printable(response.statusText, limit: 80)) and no "
                            + "credentials; the session goes on."))
            }
            if let etag = response.values("etag").last { state.withLock { $0.etag = etag } }
            return .restarted(answer)
        } catch {
            return .refused(error)
        }
    }

    /// Sends further candidates. False if the server does not accept them; the session can still succeed.
    @discardableResult
    package func trickle(_ fragment: ICEFragment) -> Bool {
        (try? patch(fragment, match: state.withLock { $0.etag }).isSuccess) ?? false
    }

    private func patch(_ fragment: ICEFragment, match: String?) throws(SignallingError) -> HTTPClient.Response {
        let (state, isOpen) = self.state.withLock { ($0, !$0.isClosed && $0.takesPatches) }
        guard isOpen, let resource = state.resource else {
            throw error(.offerRefused, "The session cannot be changed; publish again where it does not recover.")
        }
        var request = server.request("PATCH", resource)
        if !state.isTokenAllowed { request.bearerToken = nil }
        request.headerLines = ["Content-Type: \(ICEFragment.contentType)"]
        if let match { request.headerLines.append("If-Match: \(match)") }
        request.body = Array(fragment.text.utf8)
        let response: HTTPClient.Response
        do { response = try client.perform(request) } catch { throw failure(error) }
        guard response.isSuccess else {
            if response.status == 405 || response.status == 501 { self.state.withLock { $0.takesPatches = false } }
            throw error(
                .offerRefused,
                "The server does not take changes of the session (\(printable(response.statusText, limit: 80))); it goes "
                    + "on.")
        }
        return response
    }

    // MARK: End

    /// Ends the session at the server: once, however often it is called, on every way out, after failures too.
    ///
    /// While the offer is being answered the session is ended as soon as the answer is there, on the thread that waits for
    /// it; `grace` is how long before that wait is given up.
    ///
    /// - Returns: why the server did not take it; nil when it did, or there is no session.
    @discardableResult
    package func close(grace: Duration = .seconds(2)) -> SignallingError? {
        let (isPublishing, wasClosed) = state.withLock { state in
            defer { state.isClosed = true }
            // A session that was adopted is deleted here, also by the thread that publishes.
            return (state.isPublishing && state.resource == nil, state.isClosed)
        }
        if isPublishing {
            guard !wasClosed else { return nil }
            let deadline = MonotonicClock().now.advanced(by: grace)
            let isOver = state.wait(until: deadline) { $0.isPublishing ? nil : true } ?? false
            if !isOver { client.cancel() }
            return nil
        }
        client.cancel()
        return delete()
    }

    @discardableResult
    private func delete() -> SignallingError? {
        let (taken, isTokenAllowed) = state.withLock { state in
            defer { state.resource = nil }
            return (state.resource, state.isTokenAllowed)
        }
        guard let resource = taken else { return nil }
        var request = server.request("DELETE", resource)
        if !isTokenAllowed { request.bearerToken = nil }
        request.timeout = min(server.timeout, WHIPClient.farewellTimeout)
        do {
            let response = try farewell.perform(request)
            // The session may have ended there already.
            guard response.isSuccess || response.status == 404 || response.status == 410 else {
                let isWithoutToken = response.status == 401 && !isTokenAllowed && server.token != nil
                return error(
                    .serverFailed,
                    "The server does not end the session (\(printable(response.statusText, limit: 80))"
                        + (isWithoutToken
                            ? "; the session is at \(resource.origin), and the token is sent to \(server.address.host) only"
                            : "") + "); it will after a while without media.")
            }
            return nil
        } catch {
            return failure(error)
        }
    }
}

// MARK: - Errors

extension WHIPClient {
    private func error(_ code: SignallingErrorCode, _ message: String) -> SignallingError {
        SignallingError(
            code, operation: "publish by WHIP", subject: maskingSecrets(inURL: server.address.requestURL),
            message: message)
    }

    private func failure(_ failure: HTTPFailure) -> SignallingError {
        SignallingError(
            failure, operation: "publish by WHIP", subject: maskingSecrets(inURL: server.address.requestURL))
    }

    /// The error for a response that accepts nothing.
    private func refusal(_ response: HTTPClient.Response) -> SignallingError {
        let status = printable(response.statusText, limit: 80)
        let reason = self.reason(response)
        let isElsewhere = !response.address.isSameServer(as: server.address)
        switch response.status {
        case 401 where isElsewhere && server.token != nil:
            return error(
                .unauthorized,
                "The server redirects to \(response.address.origin), which asks for a token; it is sent to "
                    + "\(server.address.host) only. Give the address there.")
        case 401:
            return error(
                .unauthorized,
                server.token == nil
                    ? "The server asks for a token (\(status)); give the one that it has issued for this room."
                    : "The server refuses the token (\(status))\(reason); check it, or have a new one issued.")
        case 403:
            return error(
                .unauthorized,
                "The server does not allow this publisher (\(status))\(reason); check the token's rights and the path.")
        case 404, 410:
            return error(
                .notFound,
                "There is no WHIP endpoint at this path (\(status))\(reason); look up the address in the server's "
                    + "configuration.")
        case 405, 200..<300:
            return error(
                .notFound,
                "This is not a WHIP endpoint: it answers an offer with \(status); look up the address in the server's "
                    + "configuration.")
        case 409:
            return error(
                .busy, "The room has another publisher (\(status))\(reason); end that one, or take another room.")
        case 400, 406, 413, 415, 422:
            return error(
                .offerRefused,
                "The server does not take the offer (\(status))\(reason); look up which codecs it supports, and choose one "
                    + "of them.")
        case 300..<400:
            return error(
                .invalidConfiguration,
                "The server redirects in a way that a publisher cannot follow (\(status)); check the address.")
        case 500..<600:
            return error(.serverFailed, "The server has failed (\(status))\(reason); try again later.")
        default:
            return error(
                .invalidAnswer,
                "The server answers to the offer with \(status)\(reason), which WHIP does not know; check the address.")
        }
    }

    /// The server's own words; none where they may repeat a secret of the request.
    private func reason(_ response: HTTPClient.Response) -> String {
        guard ["text/plain", "application/json", "application/problem+json"].contains(response.contentType) else {
            return ""
        }
        let text = String(decoding: response.body.prefix(1000), as: UTF8.self)
        let shown = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let secrets = ["ice-", "fingerprint", "Bearer", "v=0"] + (server.token.map { [$0] } ?? [])
        guard !shown.isEmpty, !secrets.contains(where: { text.contains($0) }) else { return "" }
        return ": \(printable(shown, limit: 160))"
    }
}
