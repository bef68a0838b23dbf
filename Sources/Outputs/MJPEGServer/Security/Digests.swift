import CLibMD

/// The hash functions of HTTP's authentication, by libmd.
enum Digests {
    static func sha256(_ parts: [UInt8]...) -> [UInt8] { sha256(of: parts) }

    private static func sha256(of parts: [[UInt8]]) -> [UInt8] {
        var context = SHA2_CTX()
        SHA256Init(&context)
        for part in parts { SHA256Update(&context, part, part.count) }
        var result = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256Final(&result, &context)
        return result
    }

    static func md5(_ bytes: [UInt8]) -> [UInt8] {
        var context = MD5_CTX()
        MD5Init(&context)
        MD5Update(&context, bytes, bytes.count)
        var result = [UInt8](repeating: 0, count: Int(MD5_DIGEST_LENGTH))
        MD5Final(&result, &context)
        return result
    }

    /// HMAC-SHA-256 (RFC 2104) with a key of at most 64 bytes.
    static func authenticationCode(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        precondition(key.count <= Int(SHA256_BLOCK_LENGTH), "the key is one block at most")
        let padded = key + [UInt8](repeating: 0, count: Int(SHA256_BLOCK_LENGTH) - key.count)
        return sha256(padded.map { $0 ^ 0x5C }, sha256(padded.map { $0 ^ 0x36 }, message))
    }

    /// Whether both are the same, in a time that does not tell where they differ.
    static func areEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
        guard first.count == second.count else { return false }
        var difference: UInt8 = 0
        for index in first.indices { difference |= first[index] ^ second[index] }
        return difference == 0
    }
}
