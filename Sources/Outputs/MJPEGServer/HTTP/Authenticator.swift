import Digests
import ServerTransport
import VideoCapturing

/// Checks the credentials of requests: Basic (RFC 7617) and Digest (RFC 7616, with SHA-256 and MD5).
///
/// A nonce holds the time at which it was issued and a code that only this server can make; it is valid for five minutes, and
/// each count of it once. A client that knows the password and uses an older one, or the same count again, gets a new one.
/// Only nonces that were used with the right password are remembered.
struct Authenticator: Sendable {
    /// The result of a check.
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

    private let settings: MJPEGServer.Configuration.Authentication
    private let key: [UInt8]
    private let nonces = Locked(NonceTable(lifetime: nonceLifetime))

    init(_ settings: MJPEGServer.Configuration.Authentication) {
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

    /// Checks the credentials of a request.
    ///
    /// - Parameters:
    ///   - authorization: the values of the request's `Authorization`.
    ///   - method: the method of the request.
    ///   - target: the target of the request, undecoded.
    ///   - now: the time.
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
        guard let given = Base64.decode(basic.utf8.drop { $0 == 0x20 }) else { return false }
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

    /// Whether these values use a nonce that was used with the right password before.
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

    /// When a nonce was issued; nil when it is not one of this server.
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

/// The Digest credentials that have been used: each is valid once (RFC 7616, 5.5), so that an eavesdropper cannot use it
/// again.
///
/// Only clients that know the password add to it, and it is limited nevertheless. A nonce is identified by the time at which
/// it was issued.
struct NonceTable {
    private struct Uses {
        var highest: UInt32
        /// Bit n: the count `highest - n` was used. Requests on several connections overtake each other.
        var seen: UInt64
    }

    /// The maximum number of nonces; of more, the oldest one is no longer valid.
    static let capacity = 1024

    private let lifetime: Duration
    private var uses: [MediaTime: Uses] = [:]
    /// Nonces up to this one are no longer valid.
    private var forgottenUntil = MediaTime(nanoseconds: .min)

    init(lifetime: Duration) { self.lifetime = lifetime }

    /// The number of nonces that are remembered.
    var count: Int { uses.count }

    /// Whether the nonce is in use by someone who knows the password.
    func isProven(_ nonce: MediaTime) -> Bool { uses[nonce] != nil }

    /// Marks a count of a nonce as used.
    ///
    /// - Returns: false when it has been used, or may have been.
    mutating func use(_ nonce: MediaTime, count: UInt32, at now: MediaTime) -> Bool {
        guard nonce > forgottenUntil, nonce <= now, now - nonce <= lifetime, count > 0 else { return false }
        guard var uses = uses[nonce] else {
            forgetOld(at: now)
            self.uses[nonce] = Uses(highest: count, seen: 1)
            return true
        }
        if count > uses.highest {
            let step = count - uses.highest
            uses.seen = step < 64 ? uses.seen << step | 1 : 1
            uses.highest = count
        } else {
            let age = uses.highest - count
            guard age < 64, uses.seen & 1 << age == 0 else { return false }
            uses.seen |= 1 << age
        }
        self.uses[nonce] = uses
        return true
    }

    private mutating func forgetOld(at now: MediaTime) {
        guard uses.count >= NonceTable.capacity else { return }
        uses = uses.filter { now - $0.key <= lifetime }
        guard uses.count >= NonceTable.capacity, let oldest = uses.keys.min() else { return }
        uses[oldest] = nil
        forgottenUntil = max(forgottenUntil, oldest)
    }
}
