import CaptureCore
import Digests

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Checks the tokens of requests against a login. Each digest is accepted once, and only for some minutes around its time.
struct UsernameTokenValidator {
    private let login: RTSPServer.Configuration.Authentication
    /// The digests that were accepted, with their times. Only a client that knows the password adds one.
    private var accepted: [String: Int] = [:]
    /// By which texts of any length are compared in the same time.
    private let key: [UInt8]

    /// The difference in seconds between the client's clock and this one that is tolerated.
    static let window = 300
    /// The maximum number of digests that are remembered; further ones are refused until some are out of the window.
    static let maximumAccepted = 16_384

    init(_ login: RTSPServer.Configuration.Authentication) {
        self.login = login
        var generator = SystemRandomNumberGenerator()
        key = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }

    /// Whether a token proves that the client knows the password. That in plain text only where the login offers Basic.
    ///
    /// - Parameters:
    ///   - token: of the request.
    ///   - now: the seconds since 1970.
    mutating func accepts(_ token: UsernameToken, at now: Int) -> Bool {
        guard token.isDigest else {
            return login.schemes.contains(.basic) && areEqual(token.user, login.user)
                && areEqual(token.password, login.password)
        }
        guard let nonce = Base64.decode(token.nonce.utf8), !nonce.isEmpty,
            let created = UsernameTokenValidator.seconds(token.created), abs(created - now) <= Self.window
        else { return false }
        let digest = Base64.encode(sha1(nonce + Array(token.created.utf8) + Array(login.password.utf8)))
        let isUser = areEqual(token.user, login.user)
        guard areEqual(token.password, digest), isUser else { return false }
        if accepted.count >= Self.maximumAccepted {
            accepted = accepted.filter { abs($0.value - now) <= Self.window }
            guard accepted.count < Self.maximumAccepted else { return false }
        }
        return accepted.updateValue(created, forKey: digest) == nil
    }

    private func areEqual(_ first: String, _ second: String) -> Bool {
        Digests.areEqual(
            authenticationCode(Array(first.utf8), key: key), authenticationCode(Array(second.utf8), key: key))
    }

    /// The seconds since 1970 of a time in UTC such as `2026-11-28T09:05:00.123Z`; nil for anything else.
    static func seconds(_ text: String) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 40 else { return nil }
        for (place, separator) in [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")]
        where bytes[place] != separator.utf8.first { return nil }
        var fields: [Int] = []
        for range in [0..<4, 5..<7, 8..<10, 11..<13, 14..<16, 17..<19] {
            guard bytes[range].allSatisfy({ 48...57 ~= $0 }) else { return nil }
            fields.append(bytes[range].reduce(0) { $0 * 10 + Int($1) - 48 })
        }
        var rest = bytes[19...]
        if rest.first == UInt8(ascii: ".") { rest = rest.dropFirst().drop { 48...57 ~= $0 } }
        guard ["Z", "+00:00", "-00:00"].contains(String(decoding: rest, as: UTF8.self)),
            1970...9999 ~= fields[0], 1...12 ~= fields[1], 1...31 ~= fields[2], fields[3] < 24, fields[4] < 60,
            fields[5] <= 60
        else { return nil }
        var time = tm()
        time.tm_year = Int32(fields[0] - 1900)
        time.tm_mon = Int32(fields[1] - 1)
        time.tm_mday = Int32(fields[2])
        time.tm_hour = Int32(fields[3])
        time.tm_min = Int32(fields[4])
        time.tm_sec = Int32(fields[5])
        return Int(timegm(&time))
    }
}
