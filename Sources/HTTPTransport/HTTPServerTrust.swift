import CaptureCore

/// The certificates of an `https` server that are trusted.
public enum HTTPServerTrust: Sendable, Hashable {
    /// Those issued for the server's name by an authority that the system trusts.
    case verified
    /// Those issued for the server's name by an authority in this PEM file; a self-signed certificate is its own
    /// authority, so the file may contain the camera's.
    case authorities(path: String)
    /// Those with this public key, of any issuer and name: the right choice for a camera with a self-signed certificate.
    /// The SHA-256 of the key, in base64 (as for curl's `--pinnedpubkey`) or in 64 hexadecimal digits:
    ///
    /// ```
    /// openssl s_client -connect camera:443 </dev/null | openssl x509 -pubkey -noout \
    ///     | openssl pkey -pubin -outform der | openssl dgst -sha256
    /// ```
    /// The key is pinned, and not the certificate, so that a camera can renew its certificate.
    case pinned(publicKeySHA256: String)
    /// All. A man in the middle can impersonate the camera, and read the password.
    case acceptsSelfSigned
}

extension HTTPServerTrust {
    /// A pin in curl's syntax; nil when the text is not a SHA-256.
    package static func curlPin(_ text: String) -> String? {
        var text = text[...]
        if text.hasPrefix("sha256//") { text = text.dropFirst(8) }
        let bytes = Array(text.utf8.filter { $0 != ASCII.colon && !ASCII.isBlank($0) })
        if bytes.count == 64 {
            let digits = bytes.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map { UInt8($0) } }
            guard digits.count == 64 else { return nil }
            return "sha256//" + Base64.encode((0..<32).map { digits[2 * $0] << 4 | digits[2 * $0 + 1] })
        }
        let isBase64 =
            bytes.count == 44 && bytes.last == ASCII.equals
            && bytes.dropLast().allSatisfy { Base64.alphabet.contains($0) }
        return isBase64 ? "sha256//" + String(decoding: bytes, as: UTF8.self) : nil
    }
}
