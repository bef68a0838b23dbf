/// A block of a radio's metadata: `StreamTitle='Artist - Title';StreamUrl='http://…';`.
package struct ICYMetadata: Sendable, Hashable {
    /// The title, as the station writes it; nil when the block has none.
    package var title: String?
    /// An address of the station's choice; nil when the block has none.
    package var url: String?

    /// Parses a block of any form: unknown parts are left out.
    ///
    /// - Parameter block: the text, without the zeros at its end.
    package init(_ block: UnsafeRawBufferPointer) {
        let bytes = Array(block)
        title = ICYMetadata.value(of: "streamtitle", in: bytes).map { decodeICYText($0) }
        url = ICYMetadata.value(of: "streamurl", in: bytes).map { decodeICYText($0) }
    }

    /// The value of a key. Quotes and semicolons inside are not escaped (`StreamTitle='It's a; b';`), so it ends with the
    /// `';` behind which the next key stands, or nothing.
    private static func value(of key: StaticString, in bytes: [UInt8]) -> ArraySlice<UInt8>? {
        guard let start = start(of: key, in: bytes) else { return nil }
        var end: Int?
        for index in start..<bytes.count where bytes[index] == quote {
            guard index + 1 < bytes.count else { return bytes[start..<index] }
            guard bytes[index + 1] == UInt8(ascii: ";") else { continue }
            end = index
            if isKeyOrNothing(bytes[(index + 2)...]) { return bytes[start..<index] }
        }
        // The block was cut, or something unknown follows.
        return bytes[start..<(end ?? bytes.count)]
    }

    private static let quote = UInt8(ascii: "'")

    /// The offset behind `key='`.
    private static func start(of key: StaticString, in bytes: [UInt8]) -> Int? {
        let length = key.utf8CodeUnitCount
        guard bytes.count >= length + 2 else { return nil }
        return key.withUTF8Buffer { key in
            (0...(bytes.count - length - 2)).first { offset in
                bytes[offset + length] == UInt8(ascii: "=") && bytes[offset + length + 1] == quote
                    && (0..<length).allSatisfy { bytes[offset + $0] | 0x20 == key[$0] }
            }
        }.map { $0 + length + 2 }
    }

    /// Whether `key='` stands here, or only blanks.
    private static func isKeyOrNothing(_ text: ArraySlice<UInt8>) -> Bool {
        let rest = text.drop { $0 <= 0x20 }
        if rest.isEmpty { return true }
        let behind = rest.drop {
            (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_")
        }
        return behind.count < rest.count && behind.starts(with: "='".utf8)
    }
}
