/// `text` with `%41` and the like decoded: the one decoder of addresses, for user information, paths and queries.
///
/// A percent sign without two hexadecimal digits stays as it is; bytes that are not UTF-8 are replaced by U+FFFD. What
/// is decoded may be any character, control characters and U+0000 too.
///
/// - Parameter decodesPlus: whether a plus sign is a blank, as in the queries that forms send.
package func percentDecoded(_ text: some Sequence<UInt8>, decodesPlus: Bool = false) -> String {
    var result: [UInt8] = []
    var rest = Array(text)[...]
    while let byte = rest.popFirst() {
        let digits = rest.prefix(2).compactMap(hexValue)
        if byte == UInt8(ascii: "%"), digits.count == 2 {
            rest = rest.dropFirst(2)
            result.append(digits[0] << 4 | digits[1])
        } else {
            result.append(decodesPlus && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
        }
    }
    return String(decoding: result, as: UTF8.self)
}

/// `text` with the bytes that are not kept percent-encoded.
///
/// - Parameter isKept: whether a byte stays as it is; without it, those without a special meaning in addresses, headers
///   and JSON.
package func percentEncoded(_ text: some Sequence<UInt8>, keeping isKept: (UInt8) -> Bool = isUnreserved) -> String {
    let bytes = text.flatMap { isKept($0) ? [$0] : Array("%\(hexText([$0]).uppercased())".utf8) }
    return String(decoding: bytes, as: UTF8.self)
}

/// Whether a byte has no special meaning in addresses (RFC 3986, 2.3).
package func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        true
    default: false
    }
}

/// The value of a hexadecimal digit.
package func hexValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
}

/// Two lowercase hexadecimal digits for each byte.
package func hexText(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
}
