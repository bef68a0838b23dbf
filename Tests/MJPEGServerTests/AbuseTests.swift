import MJPEGServer
import Testing
import VideoCapturing

/// Clients that mean harm, and web pages that use a viewer's browser to reach the server.
@Suite struct AbuseTests {
    // MARK: Requests

    @Test func manyHeaderLinesAreTooLongAHead() throws {
        let test = try TestServer()
        let client = try Client(test.port)
        let lines = (0..<1000).map { "X\($0): 1\r\n" }.joined()
        client.send("GET /state HTTP/1.1\r\nHost: localhost\r\n\(lines)\r\n")
        #expect(try client.readHead().status == 431)
    }

    @Test(arguments: ["GET /\r\n", "GET /stream\n", "\r\nGET /\r\n", "G", "E\r\n"])
    func aRequestWithoutAVersionIsAnswered(_ request: String) throws {
        let test = try TestServer { $0.limits.requestTimeout = .seconds(request == "G" ? 0 : 60) }
        let client = try Client(test.port)
        // In pieces, as a person at a terminal sends it.
        for letter in request.unicodeScalars { client.send(String(letter)) }
        let text = try client.readToEnd(within: .seconds(10))
        #expect(text.hasPrefix(request == "G" ? "HTTP/1.1 408 " : "HTTP/1.1 400 "))
    }

    // MARK: Other web pages

    private func status(_ test: TestServer, host: String, _ target: String = "/snapshot") throws -> Int {
        let client = try Client(test.port)
        client.send("GET \(target) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
        return try client.readHead().status
    }

    /// DNS rebinding: a page's own name leads to 127.0.0.1, so its scripts may read what the server answers.
    @Test(arguments: [
        "evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "", "192.168.1.5",
        "[::2]", "localhost:80:80",
    ]) func anotherNameIsRefusedOnLoopback(_ host: String) throws {
        let test = try TestServer()
        try test.show(1)
        for target in ["/", "/stream", "/snapshot", "/state", "/metrics"] {
            #expect(try status(test, host: host, target) == 403, "\(target)")
        }
        #expect(test.statistics.viewers.isEmpty)
        // A password does the same.
        let closed = try TestServer { $0.authentication = .init(user: "a", password: "b") }
        #expect(try status(closed, host: host) == 401)
    }

    @Test(arguments: [
        "localhost", "LocalHost.", "localhost:8080", "127.0.0.1", "127.1.2.3:1", "[::1]", "[::1]:8080", "[0::1]",
    ]) func ownNamesAreTaken(_ host: String) throws {
        let test = try TestServer()
        try test.show(1)
        #expect(try status(test, host: host) == 200)
    }

    @Test func embeddingIsForbiddenWhereNothingElseProtectsThePicture() throws {
        func policy(_ target: String, _ change: (inout MJPEGServer.Configuration) -> Void = { _ in }) throws -> String?
        {
            let test = try TestServer(change)
            try test.show(1)
            let client = try Client(test.port)
            client.get(target, "Authorization: Basic YTpi\r\n")
            return try client.readHead().header("cross-origin-resource-policy")
        }
        for target in ["/", "/stream", "/snapshot", "/state", "/metrics"] {
            #expect(try policy(target) == "same-origin", "\(target)")
            #expect(try policy(target) { $0.address = "0.0.0.0" } == "cross-origin", "\(target)")
        }
        #expect(try policy("/snapshot") { $0.authentication = .init(user: "a", password: "b") } == "cross-origin")
        #expect(try policy("/snapshot") { $0.allowedOrigin = "https://kvm.example" } == "cross-origin")
    }

    // MARK: Passwords

    @Test func guessesHaveToWait() throws {
        let test = try TestServer { $0.authentication = .init(user: "a", password: "b") }
        func answer(_ credentials: String) throws -> Answer {
            try Client.fetch("/state", port: test.port, "Authorization: Basic \(credentials)\r\n")
        }
        // A few may be mistyped.
        for _ in 0..<5 { #expect(try answer("YTpj").status == 401) }
        #expect(try answer("YTpi").status == 200)
        let wrong = try (0..<5).map { _ in try answer("YTpj") }
        #expect(wrong.map(\.status) == [401, 429, 429, 429, 429])
        #expect(wrong[1].header("retry-after").flatMap { Int($0) } != nil)
        // Otherwise it would be known that it is right.
        #expect(try answer("YTpi").status == 429)
        #expect(try Client.fetch("/state", port: test.port).status == 401)
    }

    @Test func anAnswerToAChallengeIsGoodOnce() throws {
        let test = try TestServer { $0.authentication = .init(user: "a", password: "b") }
        let folder = try ToolFolder()
        let run = try folder.run(
            "curl", ["-sSv", "--digest", "-u", "a:b", "-o", "state", "http://127.0.0.1:\(test.port)/state"])
        #expect(run.status == 0)
        let sent = try #require(run.errors.split(whereSeparator: \.isNewline).last { $0.contains("> Authorization:") })
        let again = try Client.fetch("/state", port: test.port, "\(sent.dropFirst(2))\r\n")
        #expect(again.status == 401)
        #expect(again.headers["www-authenticate"]?.first?.hasSuffix("stale=true") == true)
    }

    #if TLS
        // MARK: Connections

        @Test func anUnfinishedHandshakeEndsInTime() throws {
            let folder = try ToolFolder()
            let made = try folder.run(
                "openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                    "key.pem",
                    "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost",
                ])
            try #require(made.status == 0, "\(made.errors)")
            let test = try TestServer {
                $0.tls = .init(certificateChain: folder.path("cert.pem"), privateKey: folder.path("key.pem"))
                $0.limits.requestTimeout = .milliseconds(300)
                $0.limits.connections = 2
            }
            let silent = try Client(test.port)
            let slow = try Client(test.port)
            // A record that is never complete.
            slow.send([0x16, 3, 1, 2, 0, 1])
            // Beyond the limit there is an answer, for which it is not waited any longer.
            let refused = try Client(test.port)
            for client in [silent, slow, refused] {
                #expect(try client.readToEnd(within: .seconds(20)).isEmpty)
            }
            #expect(eventually { test.statistics.connections == 0 })
        }
    #endif
}
