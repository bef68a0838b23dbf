import CLibMD

/// An MD5 checksum (RFC 1321) that grows with what is added: to compare pictures, not to keep secrets.
struct MD5 {
    private var context = MD5_CTX()

    init() { MD5Init(&context) }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        MD5Update(&context, start.assumingMemoryBound(to: UInt8.self), bytes.count)
    }

    /// The 32 hexadecimal digits, in lower case, of all that was added. More may be added afterwards.
    var digest: String {
        var context = context
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(MD5_DIGEST_LENGTH)) { digest in
            MD5Final(digest.baseAddress, &context)
            let digits = Array("0123456789abcdef".utf8)
            return String(
                decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
        }
    }
}
