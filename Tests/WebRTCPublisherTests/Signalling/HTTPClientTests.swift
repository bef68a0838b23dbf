import CaptureCore
import HTTPTransport
import TestTools
import Testing

/// Requests with a method and a body, at servers that behave in every way.
@Suite struct HTTPClientTests {
    private func request(_ method: String, _ url: String, body: String? = nil) throws -> HTTPRequest {
        var request = HTTPRequest(address: try HTTPAddress(url))
        request.method = method
        request.body = body.map { Array($0.utf8) }
        request.maximumRedirects = 5
        request.timeout = .seconds(30)
        return request
    }

    private func failure(_ request: HTTPRequest, _ client: HTTPClient = HTTPClient()) -> HTTPFailure? {
        do throws(HTTPFailure) {
            _ = try client.perform(request)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: ["POST", "PATCH", "DELETE"])
    func `Method, body, token and headers arrive`(method: String) throws {
        let bodies = Locked<[String]>([])
        let server = QuirkServer { request, connection in
            let body = connection.readBody(of: request)
            bodies.withLock { $0.append(String(decoding: body, as: UTF8.self)) }
            connection.respond(
                "200 OK", ["Link: <a>", "link: <b>", "ETag: \"x\"", "Retry-After: 7", "Content-Type: Text/Plain; a=b"],
                body: "fine")
        }
        defer { server.stop() }
        var request = try request(method, server.url, body: method == "DELETE" ? nil : "a body")
        request.bearerToken = "secret"
        request.headerLines = ["Content-Type: application/sdp"]
        let response = try HTTPClient().perform(request)
        #expect(response.status == 200)
        #expect(response.values("link") == ["<a>", "<b>"])
        #expect(response.values("etag") == ["\"x\""])
        #expect(response.retryAfter == .seconds(7))
        #expect(response.contentType == "text/plain")
        #expect(response.body == Array("fine".utf8))
        let received = try #require(server.requests.first)
        #expect(received.method == method)
        #expect(received.header("Authorization") == "Bearer secret")
        #expect(received.header("Content-Type") == "application/sdp")
        #expect(received.header("Expect") == nil)
        #expect(bodies.withLock { $0 } == [method == "DELETE" ? "" : "a body"])
    }

    @Test(arguments: [301, 302, 307, 308])
    func `A redirect keeps method, body and type`(status: Int) throws {
        let bodies = Locked<[String]>([])
        let server = QuirkServer { request, connection in
            let body = connection.readBody(of: request)
            bodies.withLock { $0.append(String(decoding: body, as: UTF8.self)) }
            if request.path == "/stream" {
                connection.respond("\(status) Moved", ["Location: /there/it"])
            } else {
                connection.respond("201 Created")
            }
        }
        defer { server.stop() }
        for method in ["POST", "PATCH"] {
            bodies.withLock { $0 = [] }
            var request = try request(method, server.url, body: "a body")
            request.headerLines = ["Content-Type: application/sdp"]
            let response = try HTTPClient().perform(request)
            #expect(response.status == 201)
            #expect(response.address.requestURL.hasSuffix("/there/it"))
            let last = try #require(server.requests.last)
            #expect(last.method == method)
            #expect(last.header("Content-Type") == "application/sdp")
            #expect(bodies.withLock { $0 } == ["a body", "a body"])
        }
    }

    @Test func `See other asks for a page`() throws {
        let server = QuirkServer { request, connection in
            _ = connection.readBody(of: request)
            request.path == "/stream"
                ? connection.respond("303 See Other", ["Location: /page"]) : connection.respond("200 OK")
        }
        defer { server.stop() }
        _ = try HTTPClient().perform(request("POST", server.url, body: "a body"))
        #expect(server.requests.map(\.method) == ["POST", "GET"])
    }

    @Test func `A ring of redirects ends after five`() throws {
        let server = QuirkServer { request, connection in
            _ = connection.readBody(of: request)
            connection.respond("307 Temporary Redirect", ["Location: /ring\(request.index)"])
        }
        defer { server.stop() }
        #expect(failure(try request("POST", server.url, body: "x"))?.kind == .badRedirect)
        #expect(server.requests.count == 6)
    }

    @Test func `Another server gets no token`() throws {
        let other = QuirkServer { request, connection in
            _ = connection.readBody(of: request)
            connection.respond("200 OK")
        }
        let port = other.port
        let server = QuirkServer { request, connection in
            _ = connection.readBody(of: request)
            connection.respond("307 Temporary Redirect", ["Location: http://localhost:\(port)/"])
        }
        defer { for each in [other, server] { each.stop() } }
        var request = try request("POST", server.url, body: "x")
        request.bearerToken = "secret"
        _ = try HTTPClient().perform(request)
        #expect(server.requests.first?.header("Authorization") == "Bearer secret")
        #expect(other.requests.count == 1)
        #expect(other.requests.first?.header("Authorization") == nil)
    }

    @Test func `Without TLS no other machine is asked`() throws {
        for elsewhere in ["http://192.0.2.1/", "http://127.0.0.1.example.invalid/", "http://[fd00::1]/"] {
            #expect(try !HTTPAddress(elsewhere).isLoopback)
            var request = try request("POST", elsewhere, body: "x")
            request.allowsPlainHTTP = false
            #expect(failure(request)?.kind == .plainRefused)
        }
        for here in ["http://127.0.0.1:1/", "http://[::1]/", "http://LocalHost:80/"] {
            #expect(try HTTPAddress(here).isLoopback)
        }
    }

    /// 0.0.0.0 leads to this machine too, but does not say so.
    @Test(arguments: [true, false])
    func `Redirects to another machine without TLS`(isAllowed: Bool) throws {
        let target = QuirkServer { request, connection in
            _ = connection.readBody(of: request)
            connection.respond("201 Created")
        }
        let port = target.port
        let server = QuirkServer { request, connection in
            _ = connection.readBody(of: request)
            connection.respond("307 Temporary Redirect", ["Location: http://0.0.0.0:\(port)/"])
        }
        defer { for each in [target, server] { each.stop() } }
        var request = try request("POST", server.url, body: "x")
        request.allowsPlainHTTP = isAllowed
        #expect(failure(request)?.kind == (isAllowed ? nil : .plainRefused))
        #expect(target.requests.count == (isAllowed ? 1 : 0))
    }

    @Test(arguments: [
        ("garbage", "\u{1}\u{2} not http\r\n\r\n"), ("an old answer", "<html>hello</html>"), ("nothing", ""),
        ("half a body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"),
        ("a bad length", "HTTP/1.1 200 OK\r\nContent-Length: -9\r\n\r\nab"),
    ])
    func `What is no response is an error`(name: String, text: String) throws {
        let server = QuirkServer { request, connection in
            _ = connection.readBody(of: request)
            connection.write(text)
        }
        defer { server.stop() }
        for method in ["POST", "GET"] {
            let body = method == "GET" ? nil : "x"
            let kind = failure(try request(method, server.url, body: body))?.kind
            #expect(kind == .badResponse || kind == .unreachable, "\(name)")
        }
    }

    @Test func `Large answers are refused while they come`() throws {
        let sent = Locked(0)
        let server = QuirkServer { request, connection in
            _ = connection.readBody(of: request)
            connection.write("HTTP/1.1 201 Created\r\nContent-Type: application/sdp\r\n\r\n")
            let block = [UInt8](repeating: 0x61, count: 1 << 16)
            // Without an end, unless the client hangs up.
            while connection.write(block) { sent.withLock { $0 += block.count } }
        }
        defer { server.stop() }
        #expect(failure(try request("POST", server.url, body: "x"))?.kind == .badResponse)
        let heads = QuirkServer { request, connection in
            _ = connection.readBody(of: request)
            connection.write("HTTP/1.1 201 Created\r\n")
            while connection.write("X-Filler: \(String(repeating: "y", count: 1000))\r\n") {}
        }
        defer { heads.stop() }
        #expect(failure(try request("POST", heads.url, body: "x"))?.kind == .badResponse)
    }

    @Test func `A silent server is given up`() throws {
        let server = QuirkServer { _, connection in connection.awaitEnd() }
        defer { server.stop() }
        var request = try request("POST", server.url, body: "x")
        request.timeout = .milliseconds(200)
        #expect(failure(request)?.kind == .timedOut)
        // The test's own end is the limit of a wait that would go on.
        #expect(eventually { openSockets(port: server.port) <= 1 + server.accepted })
    }

    @Test func `Another thread cancels`() throws {
        let client = HTTPClient()
        let server = QuirkServer { _, connection in
            client.cancel()
            connection.awaitEnd()
        }
        defer { server.stop() }
        var request = try request("POST", server.url, body: "x")
        request.timeout = nil
        #expect(failure(request, client)?.kind == .cancelled)
        #expect(failure(request, client)?.kind == .cancelled)
        #expect(server.requests.count == 1)
    }

    @Test func `Nothing listens`() throws {
        let port = try TestListener.freePort()
        let failure = try #require(failure(try request("DELETE", "http://127.0.0.1:\(port)/")))
        #expect(failure.kind == .unreachable)
        #expect(failure.systemError == 111)
    }

    @Test(arguments: [
        ("/r/1", "http://h:1/r/1"), ("r/1", "http://h:1/a/r/1"), ("//g/x", "http://g/x"), ("../x", "http://h:1/x"),
        ("https://g/y?z=1", "https://g/y?z=1"), ("?q", "http://h:1/a/b?q"),
    ])
    func `References are resolved`(reference: String, whole: String) throws {
        let base = try HTTPAddress("http://h:1/a/b?c=d")
        #expect(base.resolving(reference)?.requestURL == whole)
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://h/", "http://", "http://a b/"])
    func `Other references are refused`(reference: String) throws {
        #expect(try HTTPAddress("http://h:1/a/b").resolving(reference) == nil)
    }
}
