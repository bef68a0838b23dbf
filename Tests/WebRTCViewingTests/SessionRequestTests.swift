import CaptureCore
import HTTPTransport
import MJPEGServer
import MediaPublishing
import Testing
import VideoCapturing
import WebRTCViewing

/// The requests of viewers, as far as they need no media: that is for a browser, in `test_page_webrtc.py`.
@Suite struct SessionRequestTests {
    private func ask(
        _ method: String, _ path: String, at server: MJPEGServer, body: [UInt8]? = nil,
        type: String = "application/sdp",
        login: HTTPCredential? = nil, lines: [String] = []
    ) throws -> HTTPClient.Response {
        let address = try #require(server.address)
        var request = HTTPRequest(address: try HTTPAddress(address.url + path))
        request.method = method
        request.body = body
        request.headerLines = lines + (body == nil ? [] : ["Content-Type: \(type)"])
        request.credential = login
        request.timeout = .seconds(60)
        return try HTTPClient().perform(request)
    }

    private func server(
        _ change: (inout MJPEGServer.Configuration) -> Void = { _ in },
        viewing: WebRTCViewing? = WebRTCViewing()
    ) throws -> MJPEGServer {
        var configuration = MJPEGServer.Configuration()
        change(&configuration)
        let server = MJPEGServer(configuration: configuration, viewing: viewing)
        try server.start()
        return server
    }

    private let offer = Array("v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n".utf8)

    @Test func `Sessions have no changes, and only POST and DELETE`() throws {
        let server = try server()
        defer { server.stop() }
        for method in ["GET", "PATCH", "PUT", "DELETE"] {
            let response = try ask(method, "whep", at: server)
            #expect(response.status == 405)
            #expect(response.values("allow") == ["POST, OPTIONS"])
        }
        let patch = try ask("PATCH", "whep/abc", at: server)
        #expect(patch.status == 405)
        #expect(patch.values("allow") == ["DELETE, OPTIONS"])
        #expect(try ask("DELETE", "whep/abc", at: server).status == 404)
    }

    @Test func `OPTIONS says what a session takes, and to whom`() throws {
        let closed = try server()
        defer { closed.stop() }
        let plain = try ask("OPTIONS", "whep", at: closed)
        #expect(plain.values("allow") == ["POST, OPTIONS"] && plain.values("accept-post") == ["application/sdp"])
        #expect(
            plain.values("access-control-allow-origin").isEmpty && plain.values("access-control-allow-methods").isEmpty)
        #expect(try ask("OPTIONS", "whep/abc", at: closed).values("allow") == ["DELETE, OPTIONS"])
        #expect(try ask("OPTIONS", "state", at: closed).values("allow") == ["GET, HEAD, OPTIONS"])
        // A page of the origin that is allowed may begin sessions, and end them.
        let open = try server { $0.allowedOrigin = "https://player.example" }
        defer { open.stop() }
        let preflight = try ask(
            "OPTIONS", "whep", at: open,
            lines: [
                "Origin: https://player.example", "Access-Control-Request-Method: POST",
                "Access-Control-Request-Headers: content-type",
            ])
        #expect(preflight.values("access-control-allow-origin") == ["https://player.example"])
        #expect(preflight.values("access-control-allow-methods") == ["POST, OPTIONS"])
        #expect(preflight.values("access-control-allow-headers") == ["content-type"])
        let refused = try ask("POST", "whep", at: open, body: offer)
        #expect(refused.values("access-control-expose-headers") == ["Location"])
    }

    @Test func `Offers of another type or size are refused`() throws {
        let server = try server()
        defer { server.stop() }
        #expect(try ask("POST", "whep", at: server, body: offer, type: "text/plain").status == 415)
        #expect(try ask("POST", "whep", at: server, body: [UInt8](repeating: 0x61, count: 65_537)).status == 413)
        // No other address takes a body.
        #expect(try ask("POST", "stream", at: server, body: offer).status == 413)
        #expect(try ask("POST", "whep/abc", at: server, body: offer).status == 413)
    }

    @Test func `At a loopback address browsers are sent to MJPEG`() throws {
        let viewing = WebRTCViewing()
        let server = try server(viewing: viewing)
        defer { server.stop() }
        let response = try ask("POST", "whep", at: server, body: offer)
        #expect(response.status == 422)
        #expect(String(decoding: response.body, as: UTF8.self).contains("loopback"))
        #expect(viewing.viewerCount == 0)
    }

    @Test func `Without another way there are no sessions`() throws {
        let server = try server(viewing: nil)
        defer { server.stop() }
        #expect(try ask("POST", "whep", at: server, body: offer).status == 413)
        #expect(try ask("GET", "whep", at: server).status == 404)
    }

    @Test func `A login is needed`() throws {
        let server = try server { $0.authentication = .init(user: "user", password: "secret") }
        defer { server.stop() }
        #expect(try ask("POST", "whep", at: server, body: offer).status == 401)
        #expect(try ask("DELETE", "whep/abc", at: server).status == 401)
        let login = HTTPCredential(user: "user", password: "secret")
        #expect(try ask("DELETE", "whep/abc", at: server, login: login).status == 404)
        #expect(try ask("POST", "whep", at: server, body: offer, login: login).status == 422)
    }

    // MARK: Offers

    @Test(arguments: [
        "", "garbage", "v=0\r\n", "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\n",
    ])
    func `Offers that cannot be used leave nothing behind`(text: String) {
        let viewing = WebRTCViewing()
        _ = viewing.open(OutputContext(format: .i420(width: 320, height: 240)))
        defer { viewing.close(at: nil) }
        // An address for documentation: nothing is sent to it or from it.
        guard case .refused(let reason) = viewing.answer(text, localAddress: "192.0.2.77", client: nil) else {
            Issue.record("accepted")
            return
        }
        #expect(!reason.isEmpty)
        #expect(viewing.viewerCount == 0)
    }

    @Test func `A server that is stopped accepts none`() {
        let viewing = WebRTCViewing()
        guard case .busy = viewing.answer("v=0\r\n", localAddress: "192.0.2.77", client: nil) else {
            Issue.record("accepted")
            return
        }
    }
}
