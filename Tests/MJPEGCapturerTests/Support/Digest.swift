import CapturerTestKit

/// What a server checks of `Authorization: Digest` (RFC 7616).
struct DigestCheck: Sendable {
    enum Algorithm: String, Sendable, CaseIterable {
        case md5 = "MD5"
        case sha256 = "SHA-256"

        func hash(_ text: String) -> String {
            switch self {
            case .md5:
                var md5 = MD5()
                Array(text.utf8).withUnsafeBytes { md5.update($0) }
                return md5.hexDigest
            case .sha256: return SHA256.hash(Array(text.utf8)).map { hexadecimal($0) }.joined()
            }
        }
    }

    var algorithm = Algorithm.md5
    var realm = "camera"
    var nonce = "dcd98b7102dd2f0e8b11d0f600bfb0c0"
    var user: String
    var password: String

    func challenge(qop: Bool, namesAlgorithm: Bool = true) -> String {
        "Digest realm=\"\(realm)\", nonce=\"\(nonce)\"" + (qop ? ", qop=\"auth\"" : "")
            + (namesAlgorithm ? ", algorithm=\(algorithm.rawValue)" : "")
    }

    func accepts(_ authorization: String?) -> Bool {
        guard let authorization, authorization.hasPrefix("Digest ") else { return false }
        var fields: [String: String] = [:]
        for field in authorization.dropFirst(7).split(separator: ",") {
            let pair = field.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            fields[pair[0].trimmed] = String(pair[1].filter { $0 != "\"" }).trimmed
        }
        guard fields["username"] == user, fields["nonce"] == nonce, let uri = fields["uri"] else { return false }
        let secret = algorithm.hash("\(user):\(realm):\(password)")
        let request = algorithm.hash("GET:\(uri)")
        guard let qop = fields["qop"] else {
            return fields["response"] == algorithm.hash("\(secret):\(nonce):\(request)")
        }
        let all = [secret, nonce, fields["nc"] ?? "", fields["cnonce"] ?? "", qop, request]
        return fields["response"] == algorithm.hash(all.joined(separator: ":"))
    }
}

/// FIPS 180-4.
enum SHA256 {
    private static let primes = (2...311).filter { number in !(2..<number).contains { number % $0 == 0 } }

    /// The first 32 bits of the fraction of a root.
    private static func fraction(_ root: Double) -> UInt32 { UInt32((root - root.rounded(.down)) * 4_294_967_296) }

    static func hash(_ message: [UInt8]) -> [UInt8] {
        var state = primes.prefix(8).map { fraction(Double($0).squareRoot()) }
        let constants = primes.prefix(64).map { fraction(cubeRoot(Double($0))) }
        var bytes = message + [0x80]
        while bytes.count % 64 != 56 { bytes.append(0) }
        let bits = UInt64(message.count * 8)
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
        }
        for start in stride(from: 0, to: bytes.count, by: 64) {
            var words = (0..<16).map { word in
                (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[start + 4 * word + $1]) }
            }
            for index in 16..<64 {
                let (a, b) = (words[index - 15], words[index - 2])
                let first = turn(a, 7) ^ turn(a, 18) ^ a >> 3
                let second = turn(b, 17) ^ turn(b, 19) ^ b >> 10
                words.append(words[index - 16] &+ first &+ words[index - 7] &+ second)
            }
            var s = state
            for index in 0..<64 {
                let choice = s[4] & s[5] ^ ~s[4] & s[6]
                let sum = turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)
                let first = s[7] &+ sum &+ choice &+ constants[index] &+ words[index]
                let majority = s[0] & s[1] ^ s[0] & s[2] ^ s[1] & s[2]
                let second = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) &+ majority
                s = [first &+ second, s[0], s[1], s[2], s[3] &+ first, s[4], s[5], s[6]]
            }
            state = zip(state, s).map { $0 &+ $1 }
        }
        return state.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) } }
    }

    private static func turn(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    /// By Newton's method: exact to the last bit that is needed.
    private static func cubeRoot(_ number: Double) -> Double {
        var root = number / 3 + 1
        for _ in 0..<60 { root -= (root * root * root - number) / (3 * root * root) }
        return root
    }
}

func hexadecimal(_ byte: UInt8) -> String {
    let text = String(byte, radix: 16)
    return text.count == 1 ? "0" + text : text
}
