import CLibMD

/// An incremental MD5 checksum (RFC 1321): to compare frames and packets, and for HTTP's Digest authentication; not for
/// security.
package struct MD5 {
    private var context = MD5_CTX()

    /// The checksum of nothing.
    package init() { MD5Init(&context) }

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        MD5Update(&context, start.assumingMemoryBound(to: UInt8.self), bytes.count)
    }

    /// The checksum of the bytes added so far, in 16 bytes. More can be added afterwards.
    package var digest: [UInt8] {
        var context = context
        var digest = [UInt8](repeating: 0, count: Int(MD5_DIGEST_LENGTH))
        MD5Final(&digest, &context)
        return digest
    }

    /// The digest as 32 hexadecimal digits, in lower case.
    package var hexDigest: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

/// The MD5 digest of `bytes`, in 16 bytes.
package func md5(_ bytes: [UInt8]) -> [UInt8] {
    var sum = MD5()
    bytes.withUnsafeBytes { sum.update($0) }
    return sum.digest
}

/// The SHA-256 digest (FIPS 180-4) of `parts`, one after the other, in 32 bytes.
package func sha256(_ parts: [UInt8]...) -> [UInt8] {
    var context = SHA2_CTX()
    SHA256Init(&context)
    for part in parts { SHA256Update(&context, part, part.count) }
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    SHA256Final(&digest, &context)
    return digest
}

/// The SHA-1 digest (FIPS 180-4) of `bytes`, in 20 bytes; only where a protocol demands it.
package func sha1(_ bytes: [UInt8]) -> [UInt8] {
    var context = SHA1_CTX()
    SHA1Init(&context)
    SHA1Update(&context, bytes, bytes.count)
    var digest = [UInt8](repeating: 0, count: Int(SHA1_DIGEST_LENGTH))
    SHA1Final(&digest, &context)
    return digest
}

/// HMAC-SHA-256 (RFC 2104) of `message`, in 32 bytes.
///
/// - Parameters:
///   - message: the bytes to authenticate.
///   - key: at most 64 bytes.
package func authenticationCode(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    precondition(key.count <= Int(SHA256_BLOCK_LENGTH), "the key is one block at most")
    let padded = key + [UInt8](repeating: 0, count: Int(SHA256_BLOCK_LENGTH) - key.count)
    return sha256(padded.map { $0 ^ 0x5C }, sha256(padded.map { $0 ^ 0x36 }, message))
}

/// Whether both digests are equal, in constant time: the duration does not reveal where they differ.
package func areEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
    guard first.count == second.count else { return false }
    var difference: UInt8 = 0
    for index in first.indices { difference |= first[index] ^ second[index] }
    return difference == 0
}
