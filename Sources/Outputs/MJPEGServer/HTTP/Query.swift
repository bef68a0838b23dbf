/// The part of an address after the question mark.
struct Query {
    private let pairs: [(name: String, value: String)]

    init(_ text: some StringProtocol) {
        pairs = text.utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (percentDecode(halves[0]), halves.count > 1 ? percentDecode(halves[1]) : "")
        }
    }

    /// The first value of that name.
    subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }

    /// Whether the value begins with 1, or is true or yes in any letters, as uStreamer reads it.
    func isTrue(_ name: String) -> Bool {
        guard let value = self[name] else { return false }
        return value.hasPrefix("1") || ["true", "yes"].contains(value.lowercased())
    }
}

/// The text without its percent signs; what is not well-formed stays as it is, what is not UTF-8 is replaced.
private func percentDecode(_ text: some Sequence<UInt8>) -> String {
    var result: [UInt8] = []
    let bytes = Array(text)
    var index = 0
    while index < bytes.count {
        if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = hexValue(bytes[index + 1]),
            let low = hexValue(bytes[index + 2])
        {
            result.append(high << 4 | low)
            index += 3
        } else {
            result.append(bytes[index] == UInt8(ascii: "+") ? UInt8(ascii: " ") : bytes[index])
            index += 1
        }
    }
    return String(decoding: result, as: UTF8.self)
}

/// The text with a percent sign and two digits for every byte that has a meaning in addresses, headers or JSON.
func percentEncode(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
        if isUnreserved(byte) {
            result.unicodeScalars.append(Unicode.Scalar(byte))
        } else {
            result += "%" + hexText([byte]).uppercased()
        }
    }
    return result
}

/// Whether a byte has no meaning of its own in addresses (RFC 3986, 2.3).
func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        true
    default: false
    }
}

/// The value of a hexadecimal digit.
func hexValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
}

/// Two small hexadecimal digits for each byte.
func hexText(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
}
