import CaptureCore
import Digests
import ServerTransport

/// Checks the name and the password of the requests of one connection: Digest with MD5 (RFC 2617, and its older form
/// without `qop`), and Basic.
///
/// MD5 alone, since FFmpeg fails where SHA-256 is offered last or alone, and other clients take the first one. A nonce is
/// valid for its connection, and changes never: clients fail when one is refused in the middle of a session. An
/// eavesdropper gains nothing by a repetition, since no other connection accepts it.
struct RTSPAuthenticator: Sendable {
    private let login: RTSPServer.Configuration.Authentication
    private let nonce: String
    /// By which texts of any length are compared in the same time.
    private let key: [UInt8]

    init(_ login: RTSPServer.Configuration.Authentication) {
        self.login = login
        var generator = SystemRandomNumberGenerator()
        func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) } }
        nonce = hexText(random(16))
        key = random(32)
    }

    /// The values of `WWW-Authenticate`, the preferred one first.
    var challenges: [String] {
        var result: [String] = []
        if login.schemes.contains(.digest) {
            result.append("Digest realm=\"\(login.realm)\", nonce=\"\(nonce)\", qop=\"auth\", algorithm=MD5")
        }
        if login.schemes.contains(.basic) { result.append("Basic realm=\"\(login.realm)\"") }
        return result
    }

    /// Whether the value of `Authorization` proves that the client knows the password.
    func accepts(_ authorization: String, method: String) -> Bool {
        guard let space = authorization.firstIndex(of: " ") else { return false }
        let rest = authorization[authorization.index(after: space)...]
        switch authorization[..<space].lowercased() {
        case "basic" where login.schemes.contains(.basic):
            guard let given = Base64.decode(rest.utf8.drop { $0 == 0x20 }) else { return false }
            return areEqual(given, Array("\(login.user):\(login.password)".utf8))
        case "digest" where login.schemes.contains(.digest):
            return accepts(DigestFields(rest), method: method)
        default: return false
        }
    }

    /// The URL that the client has hashed may be that of the stream, with or without a slash, or a path, in place of the
    /// request's; there is one stream, so nothing depends on it.
    private func accepts(_ fields: DigestFields, method: String) -> Bool {
        guard let user = fields["username"], let given = fields["response"], let uri = fields["uri"],
            fields["realm"] == login.realm, fields["nonce"] == nonce,
            (fields["algorithm"] ?? "MD5").uppercased() == "MD5"
        else { return false }
        func hash(_ text: String) -> String { hexText(md5(Array(text.utf8))) }
        let secret = hash("\(login.user):\(login.realm):\(login.password)")
        let request = hash("\(method):\(uri)")
        let expected: String
        switch (fields["qop"], fields["nc"], fields["cnonce"]) {
        case (nil, _, _): expected = hash("\(secret):\(nonce):\(request)")
        case ("auth"?, let count?, let own?): expected = hash("\(secret):\(nonce):\(count):\(own):auth:\(request)")
        default: return false
        }
        let isUser = areEqual(Array(user.utf8), Array(login.user.utf8))
        return areEqual(Array(given.lowercased().utf8), Array(expected.utf8)) && isUser
    }

    private func areEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
        Digests.areEqual(authenticationCode(first, key: key), authenticationCode(second, key: key))
    }
}
