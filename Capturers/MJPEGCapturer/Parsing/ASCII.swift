#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Characters and text functions for the parsers of heads.
enum ASCII {
    static let newline: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let tab: UInt8 = 0x09
    static let quote: UInt8 = 0x22
    static let dash: UInt8 = 0x2D
    static let colon: UInt8 = 0x3A
    static let semicolon: UInt8 = 0x3B
    static let equals: UInt8 = 0x3D
    static let backslash: UInt8 = 0x5C

    static func isBlank(_ byte: UInt8) -> Bool {
        byte == space || byte == tab || byte == carriageReturn || byte == newline
    }

    static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }

    /// Without blanks at both ends.
    static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let start = text.firstIndex(where: { !isBlank($0) }) else { return [] }
        return trimmedEnd(text[start...])
    }

    /// Without blanks at the end. A slice of the same memory: removing bytes from a slice would copy it.
    static func trimmedEnd(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let end = text.lastIndex(where: { !isBlank($0) }) else { return [] }
        return text[...end]
    }

    static func hasPrefix(_ text: ArraySlice<UInt8>, _ lowercasePrefix: StaticString) -> Bool {
        lowercasePrefix.withUTF8Buffer { prefix in
            text.count >= prefix.count && zip(text, prefix).allSatisfy { lowercased($0) == $1 }
        }
    }

    static func equal(_ text: ArraySlice<UInt8>, _ lowercase: StaticString) -> Bool {
        text.count == lowercase.utf8CodeUnitCount && hasPrefix(text, lowercase)
    }

    /// The number at the start of the text; nil without one, or for more than 15 digits.
    static func number(_ text: ArraySlice<UInt8>) -> Int? {
        let digits = text.prefix { isDigit($0) }
        guard !digits.isEmpty, digits.count <= 15 else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}

/// One line of a head: `Name: value`, parsed leniently. Blanks around both are removed, including those before the colon.
struct HeaderLine {
    let name: ArraySlice<UInt8>
    let value: ArraySlice<UInt8>

    /// Nil for a line without a colon.
    init?(_ line: ArraySlice<UInt8>) {
        guard let colon = line.firstIndex(of: ASCII.colon) else { return nil }
        name = ASCII.trimmed(line[..<colon])
        value = ASCII.trimmed(line[(colon + 1)...])
    }

    func isNamed(_ lowercaseName: StaticString) -> Bool { ASCII.equal(name, lowercaseName) }

    var text: String { String(decoding: value, as: UTF8.self) }
}

extension UnsafeRawBufferPointer {
    /// Removes the first bytes.
    mutating func consume(_ count: Int) {
        self = UnsafeRawBufferPointer(rebasing: self[count...])
    }

    /// The offset of the first occurrence of a byte; nil when there is none.
    func offset(of byte: UInt8) -> Int? {
        guard let baseAddress, let found = memchr(baseAddress, Int32(byte), count) else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }
}
