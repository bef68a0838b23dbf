/// RFC 4648, section 4.
enum Base64 {
    static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var result: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = (0..<3).reduce(0) { $0 << 8 | (start + $1 < bytes.count ? Int(bytes[start + $1]) : 0) }
            let count = min(3, bytes.count - start) + 1
            for digit in 0..<4 {
                result.append(digit < count ? alphabet[group >> (18 - 6 * digit) & 63] : ASCII.equals)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
