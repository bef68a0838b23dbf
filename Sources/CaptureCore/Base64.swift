/// Base64 (RFC 4648, section 4).
package enum Base64 {
    /// The letters by their values.
    package static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The text that stands for bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        var result: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = (0..<3).reduce(0) { $0 << 8 | (start + $1 < bytes.count ? Int(bytes[start + $1]) : 0) }
            let count = min(3, bytes.count - start) + 1
            for digit in 0..<4 {
                result.append(digit < count ? alphabet[group >> (18 - 6 * digit) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// The bytes that base64 stands for (RFC 4648, 4); nil for anything else.
    package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        var padding = 0
        for letter in text {
            let value: UInt8
            switch letter {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = letter - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = letter - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = letter - UInt8(ascii: "0") + 52
            case UInt8(ascii: "+"): value = 62
            case UInt8(ascii: "/"): value = 63
            case UInt8(ascii: "="):
                padding += 1
                continue
            default: return nil
            }
            guard padding == 0 else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                result.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        // Six bits left over are a single letter of the last four.
        return padding <= 2 && count != 6 ? result : nil
    }
}
