/// The fields of Digest credentials: `name=value` or `name="value"`, separated by commas.
struct DigestFields {
    private var fields: [String: String] = [:]

    init(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        var index = 0
        func skip(_ letters: Set<UInt8>) { while index < bytes.count, letters.contains(bytes[index]) { index += 1 } }
        while true {
            skip([0x20, 0x09, UInt8(ascii: ",")])
            let start = index
            while index < bytes.count, bytes[index] != UInt8(ascii: "=") { index += 1 }
            guard index < bytes.count else { return }
            let name = String(decoding: bytes[start..<index], as: UTF8.self).lowercased()
            index += 1
            var value: [UInt8] = []
            if index < bytes.count, bytes[index] == UInt8(ascii: "\"") {
                index += 1
                while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
                    if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count { index += 1 }
                    value.append(bytes[index])
                    index += 1
                }
                index += 1
            } else {
                while index < bytes.count, bytes[index] != UInt8(ascii: ","), bytes[index] != 0x20 {
                    value.append(bytes[index])
                    index += 1
                }
            }
            // The first one counts; no client sends two of the same name.
            if fields[name] == nil { fields[name] = String(decoding: value, as: UTF8.self) }
        }
    }

    subscript(name: String) -> String? { fields[name] }
}

/// The bytes that base64 stands for (RFC 4648, 4); nil for anything else.
func decodeBase64(_ text: some Sequence<UInt8>) -> [UInt8]? {
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
