import Digests
import MJPEGServer
import ServerTransport
import Testing
import VideoCapturing

@testable import MJPEGServer

@Suite struct AuthenticationTests {
    private static let user = MJPEGServer.Configuration.Authentication(user: "Zoë", password: "p:a ss\"\\")

    @Test(arguments: ["--basic", "--digest", "--anyauth"]) func curlIsLetIn(_ way: String) throws {
        let folder = try ToolFolder()
        let test = try TestServer { $0.authentication = AuthenticationTests.user }
        try test.show(1)
        let url = "http://127.0.0.1:\(test.port)/snapshot?a=b"
        let right = try folder.run("curl", ["-sS", "-f", way, "-u", "Zoë:p:a ss\"\\", "-o", "a.jpg", url])
        #expect(right.status == 0, "\(right.errors)")
        #expect(try folder.read("a.jpg") == numberedJPEG(1))
        for wrong in ["Zoë:", "Zoë:p:a ss", "Zoe:p:a ss\"\\", ":", "Zoë:p:a ss\"\\x"] {
            let result = try folder.run("curl", ["-sS", "-f", way, "-u", wrong, "-o", "b.jpg", url])
            #expect(result.status == 22, "\(wrong)")
        }
    }

    @Test(arguments: ["/", "/stream", "/snapshot", "/state", "/metrics", "/nowhere"])
    func nothingIsShownWithoutThePassword(_ target: String) throws {
        let test = try TestServer { $0.authentication = AuthenticationTests.user }
        try test.show(1)
        for line in [
            "", "Authorization: Basic\r\n", "Authorization: Basic ====\r\n", "Authorization: Digest x\r\n",
            "Authorization: Bearer a\r\n",
        ] {
            let answer = try Client.fetch(target, port: test.port, line)
            #expect(answer.status == 401)
            let offers = answer.headers["www-authenticate"] ?? []
            #expect(offers.count == 3)
            #expect(offers.first?.contains("algorithm=SHA-256") == true)
            #expect(offers.last?.hasPrefix("Basic realm=\"Live picture\"") == true)
        }
    }

    @Test func onlyWhatIsOfferedIsTaken() throws {
        let test = try TestServer { $0.authentication = .init(user: "a", password: "b", schemes: [.digest]) }
        let answer = try Client.fetch("/state", port: test.port, "Authorization: Basic YTpi\r\n")
        #expect(answer.status == 401)
        #expect(answer.headers["www-authenticate"]?.count == 2)
        let basic = try TestServer { $0.authentication = .init(user: "a", password: "b", schemes: [.basic]) }
        #expect(try Client.fetch("/state", port: basic.port, "Authorization: Basic YTpi\r\n").status == 200)
        #expect(try Client.fetch("/state", port: basic.port, "authorization: BASIC  YTpi\r\n").status == 200)
        #expect(
            try Client.fetch("/state", port: basic.port, "Authorization: Basic YTpi\r\nAuthorization: Basic YTpi\r\n")
                .status == 401)
    }

    /// What a client answers to a challenge, computed here once more.
    private func answer(
        _ challenge: String, _ hash: Authenticator.Hash, uri: String = "/state", method: String = "GET",
        nonce changed: String? = nil, count: UInt32 = 1
    ) -> String {
        let fields = DigestFields(challenge.dropFirst("Digest ".count))
        let nonce = changed ?? fields["nonce"] ?? ""
        let first = hash.text("Zoë:Live picture:p:a ss\"\\")
        let second = hash.text("\(method):\(uri)")
        let digits = String(count, radix: 16)
        let nc = String(repeating: "0", count: 8 - digits.count) + digits
        let response = hash.text("\(first):\(nonce):\(nc):abc:auth:\(second)")
        return "Digest username=\"Zoë\", realm=\"Live picture\", nonce=\"\(nonce)\", uri=\"\(uri)\", qop=auth, "
            + "algorithm=\(hash.rawValue), nc=\(nc), cnonce=\"abc\", response=\"\(response)\""
    }

    @Test(arguments: Authenticator.Hash.allCases) func anAnswerIsGoodForItsRequestAndForAWhile(
        _ hash: Authenticator.Hash
    ) throws {
        let authenticator = Authenticator(AuthenticationTests.user)
        let now = MediaTime(nanoseconds: 1_000_000_000_000)
        let challenge = authenticator.challenges(isStale: false, at: now)[0]
        func check(_ text: String, at time: MediaTime, method: String = "GET") -> Authenticator.Verdict {
            authenticator.check([text], method: method, target: "/state", at: time)
        }
        let right = answer(challenge, hash)
        #expect(check(right, at: now) == .granted)
        #expect(check(answer(challenge, hash, count: 2), at: now.advanced(by: .seconds(299))) == .granted)
        #expect(check(answer(challenge, hash, count: 3), at: now.advanced(by: .seconds(301))) == .stale)
        // And for once.
        #expect(check(right, at: now) == .stale)
        #expect(check(right.replacing("00000001", with: "00000003"), at: now) == .refused)
        #expect(authenticator.challenges(isStale: true, at: now)[0].hasSuffix("stale=true"))
        // For another address or another method it is worth nothing.
        #expect(check(answer(challenge, hash, uri: "/stream"), at: now) == .refused)
        #expect(check(answer(challenge, hash, method: "HEAD"), at: now) == .refused)
        // Nor with a nonce of the client's own, or of the server before it was started again.
        let other = Authenticator(AuthenticationTests.user).challenges(isStale: false, at: now)[0]
        #expect(check(answer(other, hash), at: now) == .stale)
        #expect(check(answer(challenge, hash, nonce: ""), at: now) == .stale)
        #expect(check(right.replacing("qop=auth", with: "qop=auth-int"), at: now) == .refused)
        #expect(check(right.replacing("Live picture", with: "Another"), at: now) == .refused)
    }

    @Test func oneWhoHasGivenThePasswordIsKnown() {
        let authenticator = Authenticator(AuthenticationTests.user)
        let now = MediaTime(nanoseconds: 1_000_000_000_000)
        let challenge = authenticator.challenges(isStale: false, at: now)[0]
        let next = answer(challenge, .sha256, count: 2)
        #expect(!authenticator.isProven([next]))
        let verdict = authenticator.check([answer(challenge, .sha256)], method: "GET", target: "/state", at: now)
        #expect(verdict == .granted)
        #expect(authenticator.isProven([next]))
        #expect(!authenticator.isProven([next, next]))
        #expect(!authenticator.isProven(["Basic YTpi"]))
    }

    @Test func base64IsReadAsItShouldBe() {
        #expect(Base64.decode("".utf8) == [])
        #expect(Base64.decode("Zg==".utf8) == Array("f".utf8))
        #expect(Base64.decode("Zm8".utf8) == Array("fo".utf8))
        #expect(Base64.decode("Zm9vYmE=".utf8) == Array("fooba".utf8))
        #expect(Base64.decode("Zm9vYmFy".utf8) == Array("foobar".utf8))
        for wrong in ["Z", "Zm9vY", "Zm=v", "Zm9v!", "Z===", "Zm 9v"] {
            #expect(Base64.decode(wrong.utf8) == nil, "\(wrong)")
        }
    }

    @Test func theHashesAreRight() {
        #expect(Authenticator.Hash.md5.text("abc") == "900150983cd24fb0d6963f7d28e17f72")
        #expect(
            Authenticator.Hash.sha256.text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        // RFC 4231, 4.3.
        #expect(
            hexText(Digests.authenticationCode(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }
}
