/// Writes EBML elements (RFC 8794): an id, a size as a variable-length number, and the content.
struct EBML {
    private(set) var builder: ByteBuilder

    init(capacity: Int) {
        builder = ByteBuilder(capacity: capacity)
    }

    var count: Int { builder.count }

    mutating func removeAll() { builder.removeAll() }

    /// An element with a number, in as few bytes as it needs.
    mutating func unsigned(_ id: MatroskaID, _ value: UInt64) {
        let byteCount = max(1, (64 - value.leadingZeroBitCount + 7) / 8)
        header(id, size: byteCount)
        builder.append(bigEndian: value, byteCount: byteCount)
    }

    /// An element with a number in exactly eight bytes, so that it can be rewritten in place.
    mutating func fixedUnsigned(_ id: MatroskaID, _ value: UInt64) {
        header(id, size: 8)
        builder.append(bigEndian: value, byteCount: 8)
    }

    /// An element with a 64-bit floating-point number.
    mutating func float(_ id: MatroskaID, _ value: Double) {
        header(id, size: 8)
        builder.append(bigEndian: value.bitPattern, byteCount: 8)
    }

    /// An element with text.
    mutating func text(_ id: MatroskaID, _ value: String) {
        header(id, size: value.utf8.count)
        builder.append(text: value)
    }

    /// An element that holds the elements which `content` adds.
    mutating func master(_ id: MatroskaID, _ content: (inout EBML) -> Void) {
        var inner = EBML(capacity: 256)
        content(&inner)
        header(id, size: inner.count)
        builder.insert(contentsOf: inner.builder.bytes, at: builder.count)
    }

    /// An element of any content whose size is not known yet: eight bytes that say so, to be rewritten with
    /// ``fixedSize(_:)`` or to stay (RFC 8794, 6.2).
    mutating func openMaster(_ id: MatroskaID) {
        append(id)
        builder.append(bigEndian: EBML.unknownSize, byteCount: 8)
    }

    /// A size in eight bytes: what replaces those of ``openMaster(_:)``.
    mutating func fixedSize(_ size: Int64) {
        builder.append(bigEndian: 1 << 56 | UInt64(size), byteCount: 8)
    }

    /// An element that is to be passed over, `totalBytes` (2 to 128) long with id and size.
    mutating func void(totalBytes: Int) {
        precondition((2...128).contains(totalBytes), "the size must fit into one byte")
        header(.void, size: totalBytes - 2)
        builder.append(zeros: totalBytes - 2)
    }

    /// Id and size of an element whose content comes after.
    mutating func header(_ id: MatroskaID, size: Int) {
        append(id)
        let byteCount = EBML.sizeByteCount(size)
        builder.append(bigEndian: 1 << UInt64(7 * byteCount) | UInt64(size), byteCount: byteCount)
    }

    mutating func append(bigEndian value: UInt64, byteCount: Int) {
        builder.append(bigEndian: value, byteCount: byteCount)
    }

    private mutating func append(_ id: MatroskaID) {
        let byteCount = (32 - id.rawValue.leadingZeroBitCount + 7) / 8
        builder.append(bigEndian: UInt64(id.rawValue), byteCount: byteCount)
    }

    /// The least bytes for a size; all ones are kept for "unknown".
    private static func sizeByteCount(_ size: Int) -> Int {
        var byteCount = 1
        while size >= 1 << (7 * byteCount) - 1 { byteCount += 1 }
        return byteCount
    }

    private static let unknownSize: UInt64 = 0x01FF_FFFF_FFFF_FFFF
}

extension OutputFile {
    func write(_ elements: EBML) throws(MediaFileError) { try write(elements.builder) }

    func patch(_ elements: EBML, at offset: Int64) throws(MediaFileError) { try patch(elements.builder, at: offset) }
}
