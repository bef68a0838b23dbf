#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Characters and text functions for the parsers of heads.
package enum ASCII {
    package static let newline: UInt8 = 0x0A
    package static let carriageReturn: UInt8 = 0x0D
    package static let space: UInt8 = 0x20
    package static let tab: UInt8 = 0x09
    package static let quote: UInt8 = 0x22
    package static let dash: UInt8 = 0x2D
    package static let colon: UInt8 = 0x3A
    package static let semicolon: UInt8 = 0x3B
    package static let equals: UInt8 = 0x3D
    package static let backslash: UInt8 = 0x5C

    package static func isBlank(_ byte: UInt8) -> Bool {
        byte == space || byte == tab || byte == carriageReturn || byte == newline
    }

    package static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    package static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

    package static func lowercased(_ byte: UInt8) -> UInt8 {
        (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
    }

    /// Without blanks at both ends.
    package static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let start = text.firstIndex(where: { !isBlank($0) }) else { return [] }
        return trimmedEnd(text[start...])
    }

    /// Without blanks at the end. A slice of the same memory: removing bytes from a slice would copy it.
    package static func trimmedEnd(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let end = text.lastIndex(where: { !isBlank($0) }) else { return [] }
        return text[...end]
    }

    package static func hasPrefix(_ text: ArraySlice<UInt8>, _ lowercasePrefix: StaticString) -> Bool {
        lowercasePrefix.withUTF8Buffer { prefix in
            text.count >= prefix.count && zip(text, prefix).allSatisfy { lowercased($0) == $1 }
        }
    }

    package static func equal(_ text: ArraySlice<UInt8>, _ lowercase: StaticString) -> Bool {
        text.count == lowercase.utf8CodeUnitCount && hasPrefix(text, lowercase)
    }

    /// The number at the start of the text; nil without one, or for more than 15 digits.
    package static func number(_ text: ArraySlice<UInt8>) -> Int? {
        let digits = text.prefix { isDigit($0) }
        guard !digits.isEmpty, digits.count <= 15 else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}

/// One line of a head: `Name: value`, parsed leniently. Blanks around both are removed, including those before the colon.
package struct HeaderLine {
    package let name: ArraySlice<UInt8>
    package let value: ArraySlice<UInt8>

    /// Nil for a line without a colon.
    package init?(_ line: ArraySlice<UInt8>) {
        guard let colon = line.firstIndex(of: ASCII.colon) else { return nil }
        name = ASCII.trimmed(line[..<colon])
        value = ASCII.trimmed(line[(colon + 1)...])
    }

    package func isNamed(_ lowercaseName: StaticString) -> Bool { ASCII.equal(name, lowercaseName) }

    package var text: String { String(decoding: value, as: UTF8.self) }
}

extension UnsafeRawBufferPointer {
    /// Removes the first bytes.
    package mutating func consume(_ count: Int) {
        self = UnsafeRawBufferPointer(rebasing: self[count...])
    }

    /// The offset of the first occurrence of a byte; nil when there is none.
    package func offset(of byte: UInt8) -> Int? {
        guard let baseAddress, let found = memchr(baseAddress, Int32(byte), count) else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }
}
