/// The text of a header or of metadata: UTF-8 where it is valid, or else Windows-1251 or KOI8-R where the letters are Cyrillic,
/// or else Windows-1252, of which Latin-1 is a part. Without blanks at both ends.
package func decodeICYText(_ bytes: some Sequence<UInt8>) -> String {
    let bytes = Array(bytes)
    let text = String(validating: bytes, as: UTF8.self) ?? decodeLegacy(bytes)
    var trimmed = text[...]
    while trimmed.first?.isWhitespace == true { trimmed = trimmed.dropFirst() }
    while trimmed.last?.isWhitespace == true { trimmed = trimmed.dropLast() }
    return String(trimmed)
}

/// No server states the encoding. Where letters beyond ASCII follow each other they are no accents of a western language; Greek
/// and other scripts are not told from Cyrillic.
private func decodeLegacy(_ bytes: [UInt8]) -> String {
    let words = bytes.split { $0 < 0xC0 }.filter { $0.count >= 3 }
    let foreign = words.reduce(0) { $0 + $1.count }
    let letters = bytes.count { $0 >= 0xC0 || (0x61...0x7A).contains($0 | 0x20) }
    guard 2 * foreign > letters else { return String(String.UnicodeScalarView(bytes.map(windows1252))) }
    // A capital letter, and small ones behind it.
    let isKOI8 = words.contains { $0[$0.startIndex] >= 0xE0 && $0.dropFirst().allSatisfy { $0 < 0xE0 } }
    return String(String.UnicodeScalarView(bytes.map(isKOI8 ? koi8 : windows1251)))
}

private func windows1251(_ byte: UInt8) -> Unicode.Scalar {
    if byte >= 0xC0 { return Unicode.Scalar(0x0410 + UInt32(byte - 0xC0)) ?? Unicode.Scalar(byte) }
    return switch byte {
    case 0xA1: "\u{40E}"
    case 0xA2: "\u{45E}"
    case 0xA5: "\u{490}"
    case 0xA8: "\u{401}"
    case 0xAA: "\u{404}"
    case 0xAF: "\u{407}"
    case 0xB2: "\u{406}"
    case 0xB3: "\u{456}"
    case 0xB4: "\u{491}"
    case 0xB8: "\u{451}"
    case 0xB9: "\u{2116}"
    case 0xBA: "\u{454}"
    case 0xBF: "\u{457}"
    default: windows1252(byte)
    }
}

private func koi8(_ byte: UInt8) -> Unicode.Scalar {
    switch byte {
    case 0xA3: "\u{451}"
    case 0xB3: "\u{401}"
    case 0xC0...0xDF: koi8Letters[Int(byte - 0xC0)]
    // The capital letters are 32 before the small ones.
    case 0xE0...0xFF: Unicode.Scalar(koi8Letters[Int(byte - 0xE0)].value - 32) ?? Unicode.Scalar(byte)
    default: windows1252(byte)
    }
}

private let koi8Letters = Array("юабцдефгхийклмнопярстужвьызшэщчъ".unicodeScalars)

/// The character of a byte. The five that Windows-1252 leaves undefined stay control characters.
private func windows1252(_ byte: UInt8) -> Unicode.Scalar {
    guard (0x80...0x9F).contains(byte) else { return Unicode.Scalar(byte) }
    return Unicode.Scalar(windows1252Upper[Int(byte) - 0x80]) ?? Unicode.Scalar(byte)
}

private let windows1252Upper: [UInt32] = [
    0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D,
    0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,
    0x017E, 0x0178,
]
