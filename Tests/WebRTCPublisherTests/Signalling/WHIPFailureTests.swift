import CaptureCore
import HTTPTransport
import TestTools
import Testing

@testable import WebRTCPublisher

/// Endpoints that refuse, and what is none.
@Suite struct WHIPFailureTests {
    private static let token = "the-secret-token"

    @Test(arguments: [
        ("401 Unauthorized", SignallingErrorCode.unauthorized, "refuses the token"),
        ("403 Forbidden", .unauthorized, "rights"),
        ("404 Not Found", .notFound, "path"), ("405 Method Not Allowed", .notFound, "not a WHIP endpoint"),
        ("200 OK", .notFound, "not a WHIP endpoint"), ("409 Conflict", .busy, "another publisher"),
        ("400 Bad Request", .offerRefused, "codecs"), ("415 Unsupported", .offerRefused, "codecs"),
        ("422 Unprocessable Content", .offerRefused, "codecs"), ("500 Internal Server Error", .serverFailed, "later"),
        ("502 Bad Gateway", .serverFailed, "later"), ("304 Not Modified", .invalidConfiguration, "address"),
        ("418 Teapot", .invalidAnswer, "address"),
    ])
    func `Refusals say what to do`(status: String, code: SignallingErrorCode, hint: String) throws {
        let server = WHIPServer { _, connection in
            connection.respond(status, ["Content-Type: text/plain"], body: "room 7 says no\n")
        }
        defer { server.stop() }
        let error = try #require(try server.client(token: Self.token).refusal())
        #expect(error.code == code)
        #expect(error.message.contains(hint), "\(error)")
        #expect(error.message.contains(status.prefix(3)))
        #expect(error.subject == server.url)
        #expect(!error.description.contains(Self.token))
        if [.busy, .offerRefused, .serverFailed].contains(code) { #expect(error.message.contains("room 7 says no")) }
        #expect(server.requests == ["POST /whip/room"])
    }

    @Test func `A missing token is asked for`() throws {
        let server = WHIPServer { _, connection in connection.respond("401 Unauthorized") }
        defer { server.stop() }
        let error = try #require(try server.client().refusal())
        #expect(error.code == .unauthorized)
        #expect(error.message.contains("asks for a token"))
        #expect(server.server.requests.first?.header("Authorization") == nil)
    }

    @Test func `A server's words are not repeated with secrets in them`() throws {
        for body in ["token \(Self.token) is bad", offer(), "Bearer x"] {
            let server = WHIPServer { _, connection in
                connection.respond("422 No", ["Content-Type: text/plain"], body: body)
            }
            defer { server.stop() }
            let text = try #require(try server.client(token: Self.token).refusal()).description
            #expect(!text.contains(Self.token) && !text.contains(icePassword) && !text.contains("Bearer"), "\(text)")
        }
    }

    @Test(arguments: [
        ("text/html", "<html>"), ("application/sdp", ""), ("application/sdp", "garbage"),
        ("application/sdp", "v=0\r\n\u{FFFD}" + String(repeating: "a", count: 1 << 20)),
    ])
    func `An answer that is none ends the session`(type: String, body: String) throws {
        let server = WHIPServer { request, connection in
            guard request.method == "POST" else { return connection.respond("200 OK") }
            let headers = ["Location: /r"] + (type.isEmpty ? [] : ["Content-Type: \(type)"])
            connection.respond("201 Created", headers, body: body)
        }
        defer { server.stop() }
        let error = try #require(try server.client().refusal())
        #expect(error.code == .invalidAnswer)
        // Where the answer was within the limits, the session that was made is not left there.
        #expect(server.requests.contains("DELETE /r") == (body.utf8.count < 65536))
    }

    @Test func `Rings, silence and closed ports`() throws {
        let ring = WHIPServer { request, connection in
            connection.respond("307 Temporary Redirect", ["Location: /ring\(request.index)"])
        }
        defer { ring.stop() }
        #expect(try ring.client().refusal()?.code == .invalidConfiguration)
        #expect(ring.requests.count == 6)

        let silent = WHIPServer { _, connection in connection.awaitEnd() }
        defer { silent.stop() }
        #expect(try silent.client(timeout: .milliseconds(200)).refusal()?.code == .unreachable)

        let port = try TestListener.freePort()
        let client = WHIPClient(try SignallingServer("http://127.0.0.1:\(port)/whip"))
        let error = try #require(client.refusal())
        #expect(error.code == .unreachable)
        #expect(error.code.mayRecover)
        #expect(client.close() == nil)
    }

    @Test func `A redirect to a host that asks for the token`() throws {
        let other = WHIPServer { _, connection in connection.respond("401 Unauthorized") }
        let port = other.server.port
        let server = WHIPServer { _, connection in
            connection.respond("307 Temporary Redirect", ["Location: http://localhost:\(port)/whip"])
        }
        defer { for each in [other, server] { each.stop() } }
        let error = try #require(try server.client(token: Self.token).refusal())
        #expect(error.code == .unauthorized)
        #expect(error.message.contains("http://localhost:\(port)"))
        #expect(other.server.requests.first?.header("Authorization") == nil)
    }

    @Test func `A host that was not given the token does not get it with the end`() throws {
        let other = WHIPServer(WHIPServer.accept(["Location: /r"]))
        let port = other.server.port
        let server = WHIPServer { _, connection in
            connection.respond("307 Temporary Redirect", ["Location: http://localhost:\(port)/whip"])
        }
        defer { for each in [other, server] { each.stop() } }
        let client = try server.client(token: Self.token)
        _ = try client.publishedSession()
        client.close()
        #expect(other.requests == ["POST /whip", "DELETE /r"])
        #expect(other.server.requests.allSatisfy { $0.header("Authorization") == nil })
    }

    // MARK: Settings

    @Test(
        arguments: [
            ("http://192.0.2.1/whip", nil, SignallingErrorCode.untrusted),
            ("ftp://127.0.0.1/whip", nil, .invalidConfiguration),
            ("whip", nil, .invalidConfiguration), ("https://u:p@127.0.0.1/whip", nil, .invalidConfiguration),
            ("https://127.0.0.1/whip", "two words", .invalidConfiguration),
            ("https://127.0.0.1/whip", "", .invalidConfiguration),
            ("https://127.0.0.1/whip", "line\r\nX-Header: 1", .invalidConfiguration),
        ] as [(String, String?, SignallingErrorCode)])
    func `Settings that cannot be are refused`(url: String, token: String?, code: SignallingErrorCode) {
        do throws(SignallingError) {
            _ = try SignallingServer(url, token: token)
            Issue.record("accepted")
        } catch {
            #expect(error.code == code)
            #expect(!error.description.contains("u:p") && !error.description.contains("two words"))
        }
    }

    @Test func `A token with its word is explained`() {
        let error = #expect(throws: SignallingError.self) {
            try SignallingServer("https://127.0.0.1/whip", token: "Bearer abc")
        }
        #expect(error?.message.contains("the word Bearer, which is put before it automatically") == true)
        #expect(error.map { "\($0)".contains("abc") } == false)
    }

    @Test func `Plain http is allowed to other machines only where it is asked for`() throws {
        #expect(try SignallingServer("http://192.0.2.1/whip", allowsPlainHTTP: true).allowsPlainHTTP)
        #expect(try !SignallingServer("http://[::1]:8080/whip").allowsPlainHTTP)
    }

    // MARK: TLS

    /// A server that waits for requests by TLS, with a certificate of its own.
    private static let script = """
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
        from ssl import PROTOCOL_TLS_SERVER, SSLContext
        from sys import argv
        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *arguments): pass
            def do_POST(self):
                self.rfile.read(int(self.headers['Content-Length']))
                if self.path == '/open':
                    self.send_response(307)
                    self.send_header('Location', argv[2])
                    self.send_header('Content-Length', '0')
                    return self.end_headers()
                self.send_response(201)
                self.send_header('Content-Type', 'application/sdp')
                self.send_header('Location', argv[2] if self.path == '/down' else '/r')
                self.send_header('Content-Length', '5')
                self.end_headers()
                self.wfile.write(b'v=0\\r\\n')
            def do_DELETE(self):
                print('DELETE', self.path, flush=True)
                self.send_response(200)
                self.send_header('Content-Length', '0')
                self.end_headers()
        class Server(ThreadingHTTPServer):
            def handle_error(self, *arguments): pass
            def finish_request(self, request, address):
                request.settimeout(60)
                super().finish_request(context.wrap_socket(request, server_side=True), address)
        context = SSLContext(PROTOCOL_TLS_SERVER)
        context.load_cert_chain(argv[1] + '/certificate.pem', argv[1] + '/key.pem')
        server = Server(('127.0.0.1', 0), Handler)
        print(server.server_address[1], flush=True)
        server.serve_forever()
        """

    @Test func `Certificates are verified`() throws {
        let folder = TemporaryFolder()
        try run(
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", folder.file("key.pem"),
            "-out",
            folder.file("certificate.pem"))
        let open = WHIPServer(WHIPServer.accept([]))
        defer { open.stop() }
        let peer = try #require(Peer("python3", ["-u", "-c", Self.script, folder.path, open.url]))
        defer { peer.stop() }
        let port = try #require(peer.line(.seconds(60)).flatMap { Int($0) })
        func client(_ path: String, _ trust: HTTPServerTrust, host: String = "localhost") throws -> WHIPClient {
            var server = try SignallingServer("https://\(host):\(port)/\(path)", token: Self.token)
            server.trust = trust
            server.timeout = .seconds(60)
            return WHIPClient(server)
        }
        let untrusted = try #require(try client("whip", .verified).refusal())
        #expect(untrusted.code == .untrusted)
        #expect(untrusted.message.contains("authority"), "\(untrusted)")
        let ours = HTTPServerTrust.authorities(path: folder.file("certificate.pem"))
        #expect(try client("whip", ours, host: "127.0.0.1").refusal()?.code == .untrusted)
        // From https no redirect and no Location leads to http.
        #expect(try client("open", ours).refusal()?.code == .invalidConfiguration)
        #expect(try !client("down", ours).publishedSession().hasResource)
        #expect(open.requests.isEmpty)
        let session = try client("whip", ours)
        #expect(try session.publishedSession().hasResource)
        #expect(session.close() == nil)
        #expect(peer.line(.seconds(60)) == "DELETE /r")
    }
}
