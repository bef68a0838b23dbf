import CapturerTestKit
import MJPEGCapturer
import TestTools
import Testing
import VideoCapturing

@Suite struct AuthenticationTests {
    private let basic = "Basic realm=\"camera\""
    /// `user:pässword/1`, in base64 of its UTF-8.
    private let basicAnswer = "Basic dXNlcjpww6Rzc3dvcmQvMQ=="
    private let right = MJPEGCapturer.Credential(user: "user", password: "pässword/1")

    /// Demands a password in these ways; streams when one of the answers is right.
    private func server(_ challenges: [String], accepts: @escaping @Sendable (String?) -> Bool) -> QuirkServer {
        QuirkServer { request, connection in
            guard accepts(request.header("Authorization")) else {
                let lines = challenges.map { "WWW-Authenticate: \($0)\r\n" }.joined()
                connection.isKept = true
                connection.write(
                    "HTTP/1.1 401 Unauthorized\r\n\(lines)Content-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>")
                return
            }
            stream(to: connection)
        }
    }

    private func plays(
        _ server: QuirkServer, _ url: String? = nil, _ change: (inout MJPEGCapturer.Configuration) -> Void = { _ in }
    ) throws {
        defer { server.stop() }
        let consumer = RecordingConsumer(limit: 3)
        let capture = MJPEGCapturer(url: url ?? server.url, configuration: .test(change))
        capture.videoCaptureConsumer = consumer
        try capture.play()
        #expect(consumer.waitForFrames(3))
        capture.releaseCapture()
    }

    @Test func basicByTheAddress() throws {
        let server = server([basic]) { $0 == basicAnswer }
        try plays(server, "http://user:p%C3%A4ssword%2F1@127.0.0.1:\(server.port)/")
        // Never sent without being asked for.
        #expect(server.requests.first?.header("Authorization") == nil)
    }

    @Test func basicByTheConfiguration() throws {
        let server = server([basic]) { $0 == basicAnswer }
        try plays(server, "http://other:one@127.0.0.1:\(server.port)/") { $0.credential = right }
    }

    @Test(arguments: DigestCheck.Algorithm.allCases, [true, false])
    func digest(_ algorithm: DigestCheck.Algorithm, qop: Bool) throws {
        let check = DigestCheck(algorithm: algorithm, user: right.user, password: right.password)
        let server = server([check.challenge(qop: qop, namesAlgorithm: algorithm != .md5)]) { check.accepts($0) }
        try plays(server) { $0.credential = right }
    }

    /// The better way is taken, wherever it stands.
    @Test(arguments: [0, 1, 2])
    func severalChallenges(_ order: Int) throws {
        let check = DigestCheck(algorithm: .sha256, user: right.user, password: right.password)
        let digest = check.challenge(qop: true)
        let challenges = [[basic, digest], [digest, basic], [basic + ", " + digest]][order]
        try plays(server(challenges) { check.accepts($0) }) { $0.credential = right }
    }

    @Test func asksTheHandler() throws {
        let server = server([basic]) { $0 == basicAnswer }
        defer { server.stop() }
        let asked = Locked<[MJPEGCapturer.Credential.Challenge]>([])
        let capture = MJPEGCapturer(url: server.url, configuration: .test())
        capture.authenticationHandler = { challenge in
            asked.withLock { $0.append(challenge) }
            return MJPEGCapturer.Credential(
                user: "user", password: challenge.previousFailureCount == 2 ? "pässword/1" : "wrong")
        }
        let consumer = RecordingConsumer(limit: 1)
        capture.videoCaptureConsumer = consumer
        try capture.play()
        #expect(consumer.waitForFrames(1))
        try capture.stop()
        try capture.play()
        #expect(consumer.waitForFrames(consumer.count + 1))
        capture.releaseCapture()
        // What was right once is not asked for again.
        let challenges = asked.withLock { $0 }
        #expect(challenges.map(\.previousFailureCount) == [0, 1, 2])
        #expect(
            challenges.first.map { [$0.realm, $0.scheme, $0.host] } == ["camera", "Basic", "127.0.0.1:\(server.port)"])
    }

    @Test func givesUpWithTheHandler() {
        let server = server(["Digest realm=\"x\", nonce=\"y\""]) { _ in false }
        defer { server.stop() }
        let capture = MJPEGCapturer(url: server.url, configuration: .test())
        let count = Locked(0)
        capture.authenticationHandler = { _ in
            count.withLock { $0 += 1 }
            return MJPEGCapturer.Credential(user: "a", password: "b")
        }
        #expect(failure(of: capture)?.code == .permissionDenied)
        #expect(count.withLock { $0 } == 10)
        capture.authenticationHandler = { _ in nil }
        #expect(failure(of: capture)?.code == .permissionDenied)
    }

    /// A new nonce with each answer, which says that only the last one was too old.
    @Test func takesEverNewNoncesForARefusal() {
        let server = QuirkServer { request, connection in
            connection.isKept = true
            connection.write(
                "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Digest realm=\"x\", nonce=\"\(request.index)\", "
                    + "qop=\"auth\", stale=true\r\nContent-Length: 0\r\n\r\n")
        }
        defer { server.stop() }
        let capture = MJPEGCapturer(url: server.url, configuration: .test { $0.credential = right })
        let error = failure(of: capture)
        #expect(error?.code == .permissionDenied)
        #expect(error?.message.contains("refuses the login") == true, "\(error as Any)")
        // So another name and password may be tried.
        let asked = Locked(0)
        capture.authenticationHandler = { _ in
            asked.withLock { $0 += 1 }
            return nil
        }
        #expect(failure(of: capture)?.code == .permissionDenied)
        #expect(asked.withLock { $0 } == 1)
    }

    @Test func namesWhatItCannotDo() {
        let server = server(["NTLM", "Bearer realm=\"x\""]) { _ in false }
        defer { server.stop() }
        let error = failure(of: MJPEGCapturer(url: server.url, configuration: .test { $0.credential = right }))
        #expect(error?.code == .permissionDenied)
        #expect(error?.message.contains("NTLM, Bearer") == true)
    }

    @Test func showsPasswordsNowhere() {
        let server = server([basic]) { _ in false }
        defer { server.stop() }
        let url = "http://us3r:s3cret@127.0.0.1:\(server.port)/video?pwd=s3cret&user=us3r&size=2#s3cret"
        let capture = MJPEGCapturer(
            url: url,
            configuration: .test { $0.credential = MJPEGCapturer.Credential(user: "us3r", password: "s3cret") })
        let log = EventLog()
        capture.setEventHandler { log.add("\($0)") }
        let error = failure(of: capture)
        #expect(error?.code == .permissionDenied)
        #expect(error?.message.contains("refuses") == true)
        #expect(capture.captureSettings().sourceName == "http://127.0.0.1:\(server.port)/video?pwd=…&user=…&size=2")
        var dumped = ""
        dump(capture.configuration, to: &dumped)
        for text in log.all + ["\(error as Any)", "\(capture.captureSettings())", "\(capture.configuration)", dumped] {
            #expect(!text.contains("s3cret") && !text.contains("us3r"), "\(text)")
        }
        // But the server gets the whole address.
        #expect(server.requests.last?.path == "/video?pwd=s3cret&user=us3r&size=2")
    }

    /// Demands a password, and redirects those that have it.
    private func redirect(to address: String) -> QuirkServer {
        QuirkServer { request, connection in
            let lines =
                request.header("Authorization") == nil
                ? "401 No\r\nWWW-Authenticate: \(basic)" : "302 Found\r\nLocation: \(address)"
            connection.write("HTTP/1.1 \(lines)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
    }

    /// Neither is what it is given for the address, nor what the redirect itself names.
    @Test func saysThatAnotherHostAsks() {
        let other = server([basic]) { _ in false }
        defer { other.stop() }
        let server = redirect(to: "http://eve:s3cret@127.0.0.1:\(other.port)/moved")
        defer { server.stop() }
        let capture = MJPEGCapturer(url: server.url, configuration: .test { $0.credential = right })
        let asked = Locked(0)
        capture.authenticationHandler = { _ in
            asked.withLock { $0 += 1 }
            return right
        }
        let error = failure(of: capture)
        #expect(error?.code == .permissionDenied)
        #expect(error?.message.contains("redirects to http://127.0.0.1:\(other.port)") == true, "\(error as Any)")
        #expect(error?.description.contains("s3cret") == false)
        #expect(other.requests.allSatisfy { $0.header("Authorization") == nil })
        // An answer would be of no use.
        #expect(asked.withLock { $0 } == 0)
    }

    @Test func sendsNoPasswordToAnotherHost() throws {
        let other = server([basic]) { _ in true }
        defer { other.stop() }
        let server = redirect(to: "http://127.0.0.1:\(other.port)/moved")
        try plays(server) { $0.credential = right }
        #expect(server.requests.last?.header("Authorization") == basicAnswer)
        #expect(other.requests.map { $0.header("Authorization") } == [nil])
        #expect(other.requests.map(\.path) == ["/moved"])
    }
}
