import CLibMD

/// The SHA-256 digest (FIPS 180-4) of `parts`, one after the other, in 32 bytes.
package func sha256(_ parts: [UInt8]...) -> [UInt8] {
    var context = SHA2_CTX()
    SHA256Init(&context)
    for part in parts { SHA256Update(&context, part, part.count) }
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    SHA256Final(&digest, &context)
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
