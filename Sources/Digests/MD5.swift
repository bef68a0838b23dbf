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
