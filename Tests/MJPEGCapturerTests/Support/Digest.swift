import Digests
import TestTools

/// What a server checks of `Authorization: Digest` (RFC 7616).
struct DigestCheck: Sendable {
    enum Algorithm: String, Sendable, CaseIterable {
        case md5 = "MD5"
        case sha256 = "SHA-256"

        func hash(_ text: String) -> String {
            let bytes = Array(text.utf8)
            return (self == .md5 ? Digests.md5(bytes) : Digests.sha256(bytes)).map { hexadecimal($0) }.joined()
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

private func hexadecimal(_ byte: UInt8) -> String {
    let text = String(byte, radix: 16)
    return text.count == 1 ? "0" + text : text
}
