import CaptureCore
import TestTools
import WebRTCTransport

@testable import WebRTCPublisher

/// A WHIP endpoint with a real receiver behind it: a connection of this process, over sockets and a relay, that counts the
/// frames of VP8 which arrive.
final class ReceivingEndpoint: Sendable {
    /// What a PATCH ends with.
    enum Restart: Sendable {
        /// The session goes on, over a relay that passes datagrams again.
        case succeeds
        /// The server agrees, and no datagram passes.
        case leadsNowhere
        case isRefused(String)
    }

    private struct State {
        var peer: PeerConnection?
        var relay: DatagramRelay?
        var frames = 0
        var reports = 0
        var hasEnded = false
        var isStopped = false
    }

    private let state: Locked<State>
    private let server: WHIPServer

    init(_ restart: Restart = .succeeds) {
        let state = Locked(State())
        self.state = state
        ReceivingEndpoint.sendReports(state)
        server = WHIPServer { request, connection, body in
            do {
                switch request.method {
                case "POST":
                    let answer = try ReceivingEndpoint.accept(body, state)
                    connection.respond(
                        "201 Created", ["Content-Type: application/sdp", "Location: /session", "ETag: \"1\""],
                        body: answer)
                case "PATCH":
                    if case .isRefused(let status) = restart { return connection.respond(status) }
                    let answer = try ReceivingEndpoint.restart(body, state)
                    if case .succeeds = restart { state.withLock { $0.relay }?.isCut = false }
                    connection.respond(
                        "200 OK", ["Content-Type: \(ICEFragment.contentType)", "ETag: \"2\""], body: answer)
                default: connection.respond("200 OK")
                }
            } catch {
                connection.respond("500 Internal Server Error")
            }
        }
    }

    var url: String { server.url }
    /// The methods of the requests, in their order.
    var methods: [String] { server.server.requests.map(\.method) }
    /// The values of `If-Match`.
    var matches: [String?] { server.server.requests.filter { $0.method == "PATCH" }.map { $0.header("If-Match") } }
    /// Frames of all sessions.
    var frames: Int { state.withLock { $0.frames } }
    /// Whether there was a session, and the publisher has ended the last one.
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    /// Lets no check of ICE pass; the receiver's reports do.
    func dropChecks() { state.withLock { $0.relay }?.dropsChecks = true }

    /// Reports that were sent, ten a second, as a receiver does.
    var reports: Int { state.withLock { $0.reports } }

    private static func sendReports(_ state: Locked<State>) {
        let report: [UInt8] = [0x80, 201, 0, 1, 9, 8, 7, 6]
        startThread {
            while !state.withLock({ $0.isStopped }) {
                if let peer = state.withLock({ $0.peer }), peer.state == .ready {
                    report.withUnsafeBytes { peer.sendReport($0) }
                    state.withLock { $0.reports += 1 }
                }
                MonotonicClock().wait(
                    until: MonotonicClock().now.advanced(by: .milliseconds(100)), or: ManualResetEvent())
            }
        }
    }

    /// Lets nothing pass of the present session.
    func cut() { state.withLock { $0.relay }?.isCut = true }

    func stop() {
        state.withLock { state in
            state.isStopped = true
            return state.peer
        }?.close()
        server.stop()
    }

    private static func accept(_ offer: String, _ state: Locked<State>) throws -> String {
        func value(_ name: String) -> String {
            offer.split(whereSeparator: \.isNewline).first { $0.hasPrefix(name) }.map {
                String($0.dropFirst(name.count))
            }
                ?? ""
        }
        let mine = Locked(false)
        var configuration = PeerConnection.Configuration(isControlling: false, localAddresses: ["127.0.0.1"])
        configuration.canRestart = true
        let peer = try PeerConnection(
            configuration,
            PeerConnection.Handlers(
                stateChanged: { new in
                    if case .closed = new, mine.withLock({ $0 }) { state.withLock { $0.hasEnded = true } }
                },
                mediaReceived: { bytes in
                    // The last packet of a frame, not of a retransmission.
                    if bytes[1] == 0x80 | 96 { state.withLock { $0.frames += 1 } }
                }))
        mine.withLock { $0 = true }
        peer.gather()
        let own = try peer.waitUntilGathered(for: .seconds(60))
        let port = own.candidates.first?.split(separator: " ").dropFirst(5).first.flatMap { Int($0) } ?? 0
        let relay = try DatagramRelay(to: port)
        let old = state.withLock { state in
            defer { (state.peer, state.relay, state.hasEnded) = (peer, relay, false) }
            return state.peer
        }
        old?.close()
        let fingerprint = value("a=fingerprint:").split(separator: " ")
        // Without candidates: it learns of the relay by its checks.
        peer.connect(
            to: PeerConnection.Parameters(
                user: value("a=ice-ufrag:"), password: value("a=ice-pwd:"), candidates: [],
                fingerprints: [Fingerprint(algorithm: String(fingerprint[0]), value: String(fingerprint[1]))!]),
            isServer: false)
        return [
            "v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0", "a=group:BUNDLE 0",
            "m=video 9 UDP/TLS/RTP/SAVPF 96 97", "c=IN IP4 127.0.0.1", "a=recvonly", "a=mid:0", "a=rtcp-mux",
            "a=ice-ufrag:\(own.user)", "a=ice-pwd:\(own.password)", "a=setup:active",
            "a=fingerprint:\(own.fingerprints[0].algorithm.rawValue) \(own.fingerprints[0].value)",
            "a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli", "a=rtpmap:97 rtx/90000",
            "a=fmtp:97 apt=96", "a=candidate:1 1 udp 2015363327 127.0.0.1 \(relay.port) typ host",
            "a=end-of-candidates",
        ].map { $0 + "\r\n" }.joined()
    }

    private static func restart(_ body: String, _ state: Locked<State>) throws -> String {
        let made = Locked<PeerConnection.Parameters??>(nil)
        guard let fragment = ICEFragment(parsing: body), let peer = state.withLock({ $0.peer }) else {
            throw CaptureError(.corruptData, operation: "test", message: "This is no fragment.")
        }
        peer.restart { parameters in
            made.withLock { $0 = .some(parameters) }
            made.wakeAll()
        }
        let found = made.wait(until: MonotonicClock().now.advanced(by: .seconds(60))) { $0 }
        guard case .some(.some(let own)) = found else {
            throw CaptureError(.invalidState, operation: "test", message: "The receiver is closed.")
        }
        peer.connect(
            to: PeerConnection.Parameters(
                user: fragment.ufrag, password: fragment.password, candidates: [], fingerprints: []), isServer: false)
        // As simple-whip-server answers: without candidates.
        var answer = ICEFragment(ufrag: own.user, password: own.password)
        answer.isComplete = false
        return answer.text
    }
}
