/// Which certificate of an `https` server is trusted.
public enum MJPEGServerTrust: Sendable, Hashable {
    /// One that an authority which the system trusts has issued for the server's name.
    case verified
    /// One that an authority of this PEM file has issued for the server's name; a self-signed certificate is its own
    /// authority, so the file may hold the camera's.
    case authorities(path: String)
    /// One with this public key, whoever has issued it and for whichever name: the right choice for a camera with a
    /// certificate of its own. The key's SHA-256, in base64 (as curl's `--pinnedpubkey` has it) or in 64 hexadecimal
    /// digits:
    ///
    /// ```
    /// openssl s_client -connect camera:443 </dev/null | openssl x509 -pubkey -noout \
    ///     | openssl pkey -pubin -outform der | openssl dgst -sha256
    /// ```
    /// The key is pinned, and not the certificate, so that a camera may renew its certificate.
    case pinned(publicKeySHA256: String)
    /// Any. Whoever is on the way can pretend to be the camera, and read the password.
    case acceptsSelfSigned
}

extension MJPEGServerTrust {
    /// A pin as curl takes it; nil for what is no SHA-256.
    static func curlPin(_ text: String) -> String? {
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
