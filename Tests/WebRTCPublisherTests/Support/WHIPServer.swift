import CaptureCore
import TestTools

@testable import WebRTCPublisher

/// A WHIP endpoint on loopback that answers as a test says; it records what has come.
final class WHIPServer: Sendable {
    typealias Answer = @Sendable (QuirkServer.Request, Connection) -> Void
    typealias BodyAnswer = @Sendable (QuirkServer.Request, Connection, String) -> Void

    let server: QuirkServer
    private let received: Locked<[String]>

    /// - Parameter answer: called for each request, once its body has been read.
    convenience init(_ answer: @escaping Answer) { self.init { request, connection, _ in answer(request, connection) } }

    /// - Parameter answer: called with each request and its body.
    init(_ answer: @escaping BodyAnswer) {
        let received = Locked<[String]>([])
        self.received = received
        server = QuirkServer { request, connection in
            let body = String(decoding: connection.readBody(of: request), as: UTF8.self)
            received.withLock { $0.append(body) }
            answer(request, connection, body)
        }
    }

    var url: String { "http://127.0.0.1:\(server.port)/whip/room" }
    var bodies: [String] { received.withLock { $0 } }
    /// As in `POST /whip/room`, in order.
    var requests: [String] { server.requests.map { "\($0.method) \($0.path)" } }
    func stop() { server.stop() }

    static let sdp = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"

    /// Answers as it should: 201 to POST, 200 to DELETE.
    static func accept(_ headers: [String], body: String = sdp) -> Answer {
        { request, connection in
            if request.method == "POST" {
                connection.respond("201 Created", ["Content-Type: application/sdp"] + headers, body: body)
            } else {
                connection.respond("200 OK")
            }
        }
    }

    func client(token: String? = nil, timeout: Duration = .seconds(60)) throws -> WHIPClient {
        var server = try SignallingServer(url, token: token)
        server.timeout = timeout
        return WHIPClient(server)
    }
}

extension WHIPClient {
    /// The session that was accepted, or an error of the test.
    func publishedSession() throws -> Session {
        switch try publish(offer: offer()) {
        case .accepted(let session): return session
        case .busy: throw SignallingError(.busy, operation: "test", message: "The endpoint was busy.")
        }
    }

    /// The error that an offer ends with; nil when it is accepted.
    func refusal() -> SignallingError? {
        do throws(SignallingError) {
            _ = try publish(offer: offer())
            return nil
        } catch {
            return error
        }
    }
}
