import Digests
import VideoCapturing

/// Checks who asks: Basic (RFC 7617) and Digest (RFC 7616, with SHA-256 and MD5).
///
/// A nonce holds the time at which it was given out and a code that only this server can make; it is good for five minutes,
/// and each count of it once. A client that knows the password and uses an older one, or the same count again, is told to
/// go on with a new one. Only nonces that were used with the right password are remembered.
struct Authenticator: Sendable {
    /// The answer to a check.
    enum Verdict: Sendable, Hashable {
        case granted
        /// The password is right, but the nonce is too old, of another server, or was used with this count.
        case stale
        case refused
    }

    enum Hash: String, CaseIterable {
        case sha256 = "SHA-256"
        case md5 = "MD5"

        func text(_ text: String) -> String {
            let bytes = Array(text.utf8)
            return hexText(self == .sha256 ? Digests.sha256(bytes) : Digests.md5(bytes))
        }
    }

    static let nonceLifetime: Duration = .seconds(300)

    private let settings: MJPEGServerAuthentication
    private let key: [UInt8]
    private let nonces = Locked(NonceTable(lifetime: nonceLifetime))

    init(_ settings: MJPEGServerAuthentication) {
        self.settings = settings
        var generator = SystemRandomNumberGenerator()
        key = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    /// The values of `WWW-Authenticate`, the safest first.
    func challenges(isStale: Bool, at now: MediaTime) -> [String] {
        var result: [String] = []
        if settings.schemes.contains(.digest) {
            for hash in Hash.allCases {
                result.append(
                    "Digest realm=\"\(settings.realm)\", qop=\"auth\", algorithm=\(hash.rawValue), nonce=\"\(nonce(at: now))\""
                        + (isStale ? ", stale=true" : ""))
            }
        }
        if settings.schemes.contains(.basic) { result.append("Basic realm=\"\(settings.realm)\", charset=\"UTF-8\"") }
        return result
    }

    /// - Parameters:
    ///   - authorization: the values of the request's `Authorization`.
    ///   - method: the request's.
    ///   - target: the request's, as it came.
    func check(_ authorization: [String], method: String, target: String, at now: MediaTime) -> Verdict {
        guard authorization.count == 1, let space = authorization[0].firstIndex(of: " ") else { return .refused }
        let scheme = authorization[0][..<space].lowercased()
        let rest = authorization[0][authorization[0].index(after: space)...]
        switch scheme {
        case "basic" where settings.schemes.contains(.basic): return isRight(basic: rest) ? .granted : .refused
        case "digest" where settings.schemes.contains(.digest):
            return check(DigestFields(rest), method: method, target: target, at: now)
        default: return .refused
        }
    }

    private func isRight(basic: Substring) -> Bool {
        guard let given = decodeBase64(basic.utf8.drop { $0 == 0x20 }) else { return false }
        // Of equal length whatever was given.
        let expected = Array("\(settings.user):\(settings.password)".utf8)
        return Digests.areEqual(
            Digests.authenticationCode(given, key: key), Digests.authenticationCode(expected, key: key))
    }

    private func check(_ fields: DigestFields, method: String, target: String, at now: MediaTime) -> Verdict {
        guard let hash = Hash(rawValue: (fields["algorithm"] ?? "MD5").uppercased()), fields["qop"] == "auth",
            let nonce = fields["nonce"], let count = fields["nc"], let countNumber = UInt32(count, radix: 16),
            let clientNonce = fields["cnonce"], let given = fields["response"], fields["uri"] == target,
            fields["realm"] == settings.realm
        else { return .refused }
        let user = "\(settings.user):\(settings.realm):\(settings.password)"
        let expected = hash.text(
            "\(hash.text(user)):\(nonce):\(count):\(clientNonce):auth:\(hash.text("\(method):\(target)"))")
        let isSameUser = Digests.areEqual(
            Digests.authenticationCode(Array((fields["username"] ?? "").utf8), key: key),
            Digests.authenticationCode(Array(settings.user.utf8), key: key))
        let isRight = Digests.areEqual(Array(given.lowercased().utf8), Array(expected.utf8))
        guard isSameUser, isRight else { return .refused }
        guard let issued = issueTime(ofNonce: nonce),
            nonces.withLock({ $0.use(issued, count: countNumber, at: now) })
        else { return .stale }
        return .granted
    }

    /// Whether these values go on with a nonce that was used with the right password.
    func isProven(_ authorization: [String]) -> Bool {
        guard authorization.count == 1, authorization[0].lowercased().hasPrefix("digest "),
            let nonce = DigestFields(authorization[0].dropFirst("digest ".count))["nonce"],
            let issued = issueTime(ofNonce: nonce)
        else { return false }
        return nonces.withLock { $0.isProven(issued) }
    }

    // MARK: Nonces

    private func nonce(at now: MediaTime) -> String {
        let time = withUnsafeBytes(of: now.nanoseconds.bigEndian) { Array($0) }
        return hexText(time + Digests.authenticationCode(time, key: key))
    }

    /// When a nonce was given out; nil when it was not given out here.
    private func issueTime(ofNonce nonce: String) -> MediaTime? {
        let digits = Array(nonce.utf8)
        guard digits.count == 2 * (8 + 32) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = hexValue(digits[index]), let low = hexValue(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        let time = Array(bytes[..<8])
        guard Digests.areEqual(Array(bytes[8...]), Digests.authenticationCode(time, key: key)) else { return nil }
        let nanoseconds = time.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return MediaTime(nanoseconds: Int64(bitPattern: nanoseconds))
    }
}
