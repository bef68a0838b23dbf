import CaptureCore
import HTTPTransport
import WebRTCTransport

/// A server that a publisher describes itself to: how it is reached, and attempts to publish there.
protocol PublishingServer: Sendable {
    /// The address, for errors and statistics: without secrets.
    var name: String { get }
    /// `whip` or `janus`.
    var kind: String { get }
    var host: String { get }
    var port: UInt16 { get }

    /// An attempt, which must be closed.
    ///
    /// - Parameter lost: called when the server has ended the session, or can no longer be reached; on any thread.
    func makeAttempt(lost: @escaping @Sendable (SignallingError) -> Void) -> any PublishingAttempt
}

/// One attempt to publish. Its methods block, and come from any thread.
protocol PublishingAttempt: AnyObject, Sendable {
    func publish(offer: String) throws(SignallingError) -> PublishingAnswer
    /// Whether the server may find another path to the same session.
    var canRestart: Bool { get }
    /// Asks for that.
    ///
    /// - Returns: what the peer has described; nil when the server refuses, or does not answer.
    func restart(_ fragment: ICEFragment) -> ICEFragment?
    /// Ends the session at the server, and a request that is in flight. May be repeated.
    ///
    /// - Returns: why the server has not ended it; nil where it has, or there was none.
    @discardableResult
    func close() -> SignallingError?
}

enum PublishingAnswer: Sendable {
    /// - notice: what the server has done wrong, in words for the user.
    case accepted(sdp: String, candidates: [String], servers: [ICEServer], notice: String?)
    /// It takes no publisher now, and asks for a delay.
    case busy(retryAfter: Duration?)
}

/// A WHIP endpoint.
struct WHIPServer: PublishingServer {
    let server: SignallingServer
    var name: String { maskingSecrets(inURL: server.address.requestURL) }
    var kind: String { "whip" }
    var host: String { server.address.hostAndPort.host }
    var port: UInt16 { server.address.hostAndPort.port }

    func makeAttempt(lost: @escaping @Sendable (SignallingError) -> Void) -> any PublishingAttempt {
        Attempt(WHIPClient(server))
    }

    private final class Attempt: PublishingAttempt {
        private let client: WHIPClient

        init(_ client: WHIPClient) { self.client = client }

        func publish(offer: String) throws(SignallingError) -> PublishingAnswer {
            switch try client.publish(offer: offer) {
            case .busy(let delay): .busy(retryAfter: delay)
            case .accepted(let session):
                .accepted(
                    sdp: session.answer, candidates: [], servers: session.iceServers, notice: session.notice)
            }
        }

        var canRestart: Bool { client.canRestart }

        func restart(_ fragment: ICEFragment) -> ICEFragment? {
            guard case .restarted(let answer) = client.restart(fragment) else { return nil }
            return answer
        }

        func close() -> SignallingError? { client.close() }
    }
}

/// A room of Janus.
struct JanusServer: PublishingServer {
    let server: SignallingServer
    let room: JanusRoom
    let apiSecret: String?
    var name: String { "\(maskingSecrets(inURL: server.address.requestURL)) room \(printable(room.name, limit: 40))" }
    var kind: String { "janus" }
    var host: String { server.address.hostAndPort.host }
    var port: UInt16 { server.address.hostAndPort.port }

    func makeAttempt(lost: @escaping @Sendable (SignallingError) -> Void) -> any PublishingAttempt {
        let subject = name
        return Attempt(
            JanusClient(server, room: room, apiSecret: apiSecret) { event in
                func end(_ message: String) {
                    lost(SignallingError(.ended, operation: "publish to Janus", subject: subject, message: message))
                }
                switch event {
                case .lost(let error): lost(error)
                case .hangup(let reason): end("Janus has closed the connection (\(reason)).")
                case .unpublished: end("Janus has unpublished the stream.")
                case .kicked: end("The publisher was kicked from the room.")
                case .roomDestroyed: end("The room was destroyed.")
                case .connected, .media, .slowLink, .candidate: break
                }
            })
    }

    private final class Attempt: PublishingAttempt {
        private let client: JanusClient

        init(_ client: JanusClient) { self.client = client }

        func publish(offer: String) throws(SignallingError) -> PublishingAnswer {
            let answer = try client.publish(offer: offer)
            return .accepted(sdp: answer.sdp, candidates: answer.candidates, servers: [], notice: nil)
        }

        // Janus has lost the publisher by then, too.
        var canRestart: Bool { false }
        func restart(_ fragment: ICEFragment) -> ICEFragment? { nil }

        // Janus ends a session without requests after a minute.
        func close() -> SignallingError? {
            client.close()
            return nil
        }
    }
}

extension CaptureError {
    /// An error of another part, as one of the capture's, for its states and events.
    init<Other>(_ error: MediaError<Other>) {
        let code: CaptureError.Code =
            switch error.category {
            case .usage: .invalidConfiguration
            case .notFound: .deviceNotFound
            case .busy: .deviceBusy
            case .noPermission: .permissionDenied
            case .unsupported: .formatUnsupported
            case .invalidData: .corruptData
            case .disconnected: .deviceLost
            case .unavailable: .unavailable
            case .noSpace, .system: .system
            case .interrupted, .internal: .invalidState
            }
        self.init(
            code, operation: error.operation, subject: error.subject, errno: error.systemError,
            libraryCode: error.libraryCode, message: error.message)
    }
}

extension ICEServer {
    /// As the transport takes it; nil for TURN over TLS, which libnice has not.
    var forTransport: PeerConnection.Server? {
        let kind: PeerConnection.Server.Kind
        switch (isRelay, transport) {
        case (_, .tls): return nil
        case (false, _): kind = .stun
        case (true, .udp): kind = .turnUDP
        case (true, .tcp): kind = .turnTCP
        }
        return PeerConnection.Server(kind, host: host, port: port, user: username, password: password)
    }
}
