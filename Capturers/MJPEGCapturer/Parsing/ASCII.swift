/// What the parsers of heads need to know of characters.
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

    /// Without blanks at the end. A part of the same memory: to take bytes out of a slice would copy it.
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

    /// The number that the text begins with; nil without one, or when it is beyond all sense.
    static func number(_ text: ArraySlice<UInt8>) -> Int? {
        let digits = text.prefix { isDigit($0) }
        guard !digits.isEmpty, digits.count <= 15 else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
