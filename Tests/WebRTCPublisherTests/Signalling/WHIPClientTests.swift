import CaptureCore
import HTTPTransport
import TestTools
import Testing

@testable import WebRTCPublisher

/// A session with an endpoint that keeps to the protocol, or nearly.
@Suite struct WHIPClientTests {
    @Test func `A session from offer to end`() throws {
        let server = WHIPServer(
            WHIPServer.accept([
                "Location: /resource/1", "ETag: \"tag\"",
                "Link: <stun:stun.example:3478>; rel=\"ice-server\", <turn:turn.example?transport=tcp>; "
                    + "rel=ice-server; username=\"u\"; credential=\"p\"",
            ]))
        defer { server.stop() }
        let client = try server.client(token: "the-token")
        let session = try client.publishedSession()
        #expect(session.answer == WHIPServer.sdp)
        #expect(session.hasResource && session.notice == nil)
        #expect(session.iceServers.map(\.host) == ["stun.example", "turn.example"])
        #expect(session.iceServers.last?.password == "p")
        #expect(client.close() == nil)
        #expect(client.close() == nil)
        #expect(server.requests == ["POST /whip/room", "DELETE /resource/1"])
        #expect(server.bodies.first == offer())
        let post = server.server.requests[0]
        #expect(post.header("Content-Type") == "application/sdp")
        #expect(server.server.requests.allSatisfy { $0.header("Authorization") == "Bearer the-token" })
        #expect(server.server.requests[1].header("If-Match") == nil)
    }

    @Test(arguments: [
        ("/r", "/r"), ("r?x=1", "/there/r?x=1"), ("../r", "/r"), ("//127.0.0.1:PORT/r", "/r"),
        ("http://127.0.0.1:PORT/a/r", "/a/r"),
    ])
    func `Locations are relative to where redirects led`(location: String, path: String) throws {
        let server = WHIPServer { request, connection in
            guard request.method == "POST" else { return connection.respond("200 OK") }
            guard request.path != "/whip/room" else {
                return connection.respond("307 Temporary Redirect", ["Location: /there/endpoint"])
            }
            let port = request.header("Host")?.split(separator: ":").last ?? ""
            connection.respond(
                "201 Created",
                ["Content-Type: application/sdp", "Location: \(location.replacing("PORT", with: port))"],
                body: WHIPServer.sdp)
        }
        defer { server.stop() }
        let client = try server.client()
        #expect(try client.publishedSession().hasResource)
        client.close()
        #expect(server.requests.last == "DELETE \(path)")
    }

    @Test(arguments: [[], ["Location: "], ["Location: ftp://h/x"], ["Location: http://192.0.2.1/r"]])
    func `Without a usable Location there is nothing to delete`(headers: [String]) throws {
        let server = WHIPServer(WHIPServer.accept(headers))
        defer { server.stop() }
        let client = try server.client()
        let session = try client.publishedSession()
        #expect(!session.hasResource)
        // The user learns why the session stays at the server.
        #expect(session.notice?.contains("cannot be ended or restarted there") == true, "\(session.notice ?? "")")
        #expect(client.close() == nil)
        #expect(server.requests == ["POST /whip/room"])
        if case .restarted = client.restart(ICEFragment(ufrag: "abcd", password: icePassword)) {
            Issue.record("restarted a session without a resource")
        }
    }

    @Test(arguments: [
        ("201 Created", "text/plain"), ("201 Created", ""), ("200 OK", "application/sdp"),
        ("202 Accepted", "application/sdp"),
        ("201 Created", "application/sdp; charset=utf-8"),
    ])
    func `A description is an answer, whatever it is called`(status: String, type: String) throws {
        let server = WHIPServer { request, connection in
            guard request.method == "POST" else { return connection.respond("200 OK") }
            connection.respond(
                status, ["Location: /r"] + (type.isEmpty ? [] : ["Content-Type: \(type)"]), body: WHIPServer.sdp)
        }
        defer { server.stop() }
        let client = try server.client()
        #expect(try client.publishedSession().answer == WHIPServer.sdp)
        client.close()
        #expect(server.requests == ["POST /whip/room", "DELETE /r"])
    }

    @Test(arguments: ["200 OK", "202 Accepted", "204 No Content"])
    func `A session without an answer is ended`(status: String) throws {
        let server = WHIPServer { request, connection in
            connection.respond(request.method == "POST" ? status : "200 OK", ["Location: /r"])
        }
        defer { server.stop() }
        let error = try #require(try server.client().refusal())
        #expect(error.code == .notFound && error.message.contains(String(status.prefix(3))), "\(error)")
        #expect(server.requests == ["POST /whip/room", "DELETE /r"])
    }

    @Test func `The token goes to no other host, whatever the endpoint names`() throws {
        let other = WHIPServer { _, connection in connection.respond("401 Unauthorized") }
        let port = other.server.port
        let server = WHIPServer(WHIPServer.accept(["Location: http://localhost:\(port)/r"]))
        defer { for each in [other, server] { each.stop() } }
        let client = try server.client(token: "the-token")
        #expect(try client.publishedSession().hasResource)
        let failure = try #require(client.close())
        #expect(
            failure.message.contains("http://localhost:\(port)") && !"\(failure)".contains("the-token"), "\(failure)")
        #expect(other.requests == ["DELETE /r"])
        #expect(other.server.requests.allSatisfy { $0.header("Authorization") == nil })
    }

    @Test(arguments: ["", "Retry-After: 3", "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT"])
    func `A busy endpoint may be asked again`(header: String) throws {
        let server = WHIPServer { request, connection in
            if request.index == 0 {
                connection.respond("503 Service Unavailable", header.isEmpty ? [] : [header])
            } else {
                WHIPServer.accept(["Location: /r"])(request, connection)
            }
        }
        defer { server.stop() }
        let client = try server.client()
        guard case .busy(let delay) = try client.publish(offer: offer()) else {
            Issue.record("not busy")
            return
        }
        #expect(delay == (header.hasSuffix("3") ? .seconds(3) : nil))
        #expect(try client.publishedSession().hasResource)
        client.close()
        #expect(server.requests.count == 3)
    }

    // MARK: ICE

    @Test func `An ICE restart brings credentials`() throws {
        let answer =
            "a=ice-lite\r\na=ice-ufrag:wxyz\r\na=ice-pwd:\(icePassword)\r\na=candidate:1 1 UDP 1 127.0.0.1 9 typ host\r\n"
        let server = WHIPServer { request, connection in
            if request.method == "PATCH" {
                connection.respond(
                    "200 OK", ["Content-Type: application/trickle-ice-sdpfrag", "ETag: \"two\""], body: answer)
            } else {
                WHIPServer.accept(["Location: /r", "ETag: \"one\""])(request, connection)
            }
        }
        defer { server.stop() }
        let client = try server.client(token: "t")
        _ = try client.publishedSession()
        var fragment = ICEFragment(ufrag: "abcd", password: icePassword)
        fragment.mediaLine = "m=video 9 UDP/TLS/RTP/SAVPF 96"
        fragment.candidates = ["candidate:1 1 UDP 1 127.0.0.1 9 typ host"]
        guard case .restarted(let theirs) = client.restart(fragment) else {
            Issue.record("refused")
            return
        }
        #expect(theirs.ufrag == "wxyz")
        #expect(theirs.candidates == ["candidate:1 1 UDP 1 127.0.0.1 9 typ host"])
        #expect(client.trickle(fragment))
        client.close()
        let patches = server.server.requests.filter { $0.method == "PATCH" }
        #expect(patches.map { $0.header("If-Match") } == ["\"*\"", "\"two\""])
        #expect(patches.allSatisfy { $0.header("Content-Type") == "application/trickle-ice-sdpfrag" })
        #expect(patches.allSatisfy { $0.header("Authorization") == "Bearer t" })
        #expect(
            server.bodies[1]
                == "a=ice-ufrag:abcd\r\na=ice-pwd:\(icePassword)\r\na=group:BUNDLE 0\r\n"
                + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:0\r\na=candidate:1 1 UDP 1 127.0.0.1 9 typ host\r\n"
                + "a=end-of-candidates\r\n")
    }

    @Test(arguments: [
        "405 Method Not Allowed", "412 Precondition Failed", "500 Oh", "501 No", "204 No Content", "200 OK",
    ])
    func `A refused restart harms nothing`(status: String) throws {
        let server = WHIPServer { request, connection in
            if request.method == "PATCH" {
                connection.respond(status, body: status.hasPrefix("204") ? "" : "garbage")
            } else {
                WHIPServer.accept(["Location: /r"])(request, connection)
            }
        }
        defer { server.stop() }
        let client = try server.client()
        _ = try client.publishedSession()
        for _ in 0..<2 {
            if case .restarted = client.restart(ICEFragment(ufrag: "abcd", password: icePassword)) {
                Issue.record("restarted by \(status)")
            }
        }
        #expect(client.close() == nil)
        // A server that knows no PATCH is asked once.
        let isUnknown = status.hasPrefix("405") || status.hasPrefix("501")
        #expect(server.requests.count(where: { $0.hasPrefix("PATCH") }) == (isUnknown ? 1 : 2))
        #expect(server.requests.last == "DELETE /r")
    }

    @Test(arguments: [
        "", "a=ice-ufrag:abcd\r\n", "a=ice-ufrag:a\r\na=ice-pwd:\(icePassword)\r\n",
        "a=ice-ufrag:abcd\r\na=ice-pwd:short\r\n", "a=ice-ufrag:ab cd\r\na=ice-pwd:\(icePassword)\r\n",
    ])
    func `Fragments without credentials are none`(text: String) {
        #expect(ICEFragment(parsing: text) == nil)
    }

    @Test func `A fragment's candidates have a limit`() throws {
        let lines = (0..<100).map { "a=candidate:\($0) 1 UDP 1 127.0.0.1 9 typ host\n" }.joined()
        let text = "a=ice-ufrag:abcd\na=ice-pwd:\(icePassword)\n" + lines
        #expect(try #require(ICEFragment(parsing: text)).candidates.count == 32)
    }

    // MARK: End

    @Test func `A session that is closed while it is answered is ended`() throws {
        let client = Locked<WHIPClient?>(nil)
        let isClosing = ManualResetEvent()
        let server = WHIPServer { request, connection in
            if request.method == "POST" { isClosing.wait() }
            WHIPServer.accept(["Location: /late"])(request, connection)
        }
        defer { server.stop() }
        let made = try server.client()
        client.withLock { $0 = made }
        let outcome = EventRecord<SignallingError?>()
        startThread { outcome.add(made.refusal()) }
        #expect(eventually { server.requests.count == 1 })
        startThread {
            made.close(grace: .seconds(60))
            outcome.add(nil)
        }
        // Whichever is first, the session is not left there.
        isClosing.raise()
        #expect(outcome.first { $0 == nil } != nil)
        #expect(eventually { outcome.all.count == 2 })
        #expect(server.requests == ["POST /whip/room", "DELETE /late"])
    }

    @Test func `A server that does not answer is given up at the end of the grace`() throws {
        let server = WHIPServer { _, connection in connection.awaitEnd() }
        defer { server.stop() }
        let client = try server.client(timeout: .seconds(600))
        let outcome = EventRecord<SignallingError?>()
        startThread { outcome.add(client.refusal()) }
        #expect(eventually { server.requests.count == 1 })
        client.close(grace: .milliseconds(50))
        #expect(outcome.first { $0?.code == .cancelled } != nil)
    }

    @Test(arguments: ["500 Oh", "404 Not Found", "hang", "reset"])
    func `The end is sent once, whatever comes`(status: String) throws {
        let server = WHIPServer { request, connection in
            guard request.method == "DELETE" else { return WHIPServer.accept(["Location: /r"])(request, connection) }
            switch status {
            case "hang": connection.awaitEnd()
            case "reset": connection.reset()
            default: connection.respond(status)
            }
        }
        defer { server.stop() }
        let client = try server.client(timeout: .seconds(1))
        _ = try client.publishedSession()
        // A failed connection cancels what is in flight, not the end.
        client.cancel()
        let error = client.close()
        #expect((error == nil) == status.hasPrefix("404"))
        #expect(client.close() == nil)
        #expect(server.requests == ["POST /whip/room", "DELETE /r"])
    }

    @Test func `Many threads end it once`() throws {
        let server = WHIPServer(WHIPServer.accept(["Location: /r"]))
        defer { server.stop() }
        let client = try server.client()
        _ = try client.publishedSession()
        let ended = EventRecord<Int>()
        for index in 0..<8 {
            startThread {
                client.close()
                ended.add(index)
            }
        }
        #expect(eventually { ended.all.count == 8 })
        #expect(server.requests.count(where: { $0.hasPrefix("DELETE") }) == 1)
    }
}
