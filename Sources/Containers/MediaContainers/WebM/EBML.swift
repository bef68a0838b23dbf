import VideoCapturing

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

    /// An element with a 64-bit floating-point number.
    mutating func float(_ id: MatroskaID, _ value: Double) {
        header(id, size: 8)
        builder.append(bigEndian: value.bitPattern, byteCount: 8)
    }

    /// An element with a signed number, in as few bytes as it needs.
    mutating func signed(_ id: MatroskaID, _ value: Int64) {
        let significant = 64 - (value < 0 ? ~value : value).leadingZeroBitCount + 1
        let byteCount = (significant + 7) / 8
        header(id, size: byteCount)
        builder.append(bigEndian: UInt64(bitPattern: value), byteCount: byteCount)
    }

    /// An element with text.
    mutating func text(_ id: MatroskaID, _ value: String) {
        header(id, size: value.utf8.count)
        builder.append(text: value)
    }

    /// An element with bytes.
    mutating func binary(_ id: MatroskaID, _ value: PacketBuffer) {
        header(id, size: value.count)
        value.withUnsafeBytes { builder.append($0) }
    }

    /// An element that holds the elements which `content` adds.
    mutating func master(_ id: MatroskaID, _ content: (inout EBML) -> Void) {
        var inner = EBML(capacity: 256)
        content(&inner)
        header(id, size: inner.count)
        builder.insert(contentsOf: inner.builder.bytes, at: builder.count)
    }

    /// An element whose size is not known yet: eight bytes for the unknown size (RFC 8794, 6.2), which ``fixedSize(_:)``
    /// may replace.
    mutating func openMaster(_ id: MatroskaID) {
        append(id)
        builder.append(bigEndian: EBML.unknownSize, byteCount: 8)
    }

    /// A size in eight bytes, to replace those of ``openMaster(_:)``.
    mutating func fixedSize(_ size: Int64) {
        builder.append(bigEndian: 1 << 56 | UInt64(size), byteCount: 8)
    }

    /// An element that readers skip, `totalBytes` (2 to 128) long including id and size.
    mutating func void(totalBytes: Int) {
        precondition((2...128).contains(totalBytes), "the size must fit into one byte")
        header(.void, size: totalBytes - 2)
        builder.append(zeros: totalBytes - 2)
    }

    /// Id and size of an element, before its content.
    mutating func header(_ id: MatroskaID, size: Int) {
        append(id)
        let byteCount = EBML.sizeByteCount(size)
        builder.append(bigEndian: 1 << UInt64(7 * byteCount) | UInt64(size), byteCount: byteCount)
    }

    /// Elements that were made apart.
    mutating func append(_ other: EBML) { builder.insert(contentsOf: other.builder.bytes, at: builder.count) }

    mutating func append(bigEndian value: UInt64, byteCount: Int) {
        builder.append(bigEndian: value, byteCount: byteCount)
    }

    private mutating func append(_ id: MatroskaID) {
        let byteCount = (32 - id.rawValue.leadingZeroBitCount + 7) / 8
        builder.append(bigEndian: UInt64(id.rawValue), byteCount: byteCount)
    }

    /// The minimum number of bytes for a size; all ones are reserved for "unknown".
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

/// The element ids in use here (RFC 9559), including their length marker.
enum MatroskaID: UInt32 {
    case ebml = 0x1A45_DFA3
    case ebmlVersion = 0x4286
    case ebmlReadVersion = 0x42F7
    case ebmlMaxIDLength = 0x42F2
    case ebmlMaxSizeLength = 0x42F3
    case docType = 0x4282
    case docTypeVersion = 0x4287
    case docTypeReadVersion = 0x4285
    case void = 0xEC

    case segment = 0x1853_8067
    case seekHead = 0x114D_9B74
    case seek = 0x4DBB
    case seekID = 0x53AB
    case seekPosition = 0x53AC

    case info = 0x1549_A966
    case timestampScale = 0x2AD7B1
    case duration = 0x4489
    case muxingApp = 0x4D80
    case writingApp = 0x5741

    case tracks = 0x1654_AE6B
    case trackEntry = 0xAE
    case trackNumber = 0xD7
    case trackUID = 0x73C5
    case trackType = 0x83
    case flagLacing = 0x9C
    case codecID = 0x86
    case codecPrivate = 0x63A2
    case codecDelay = 0x56AA
    case seekPreRoll = 0x56BB
    case audio = 0xE1
    case samplingFrequency = 0xB5
    case channels = 0x9F
    case video = 0xE0
    case flagInterlaced = 0x9A
    case pixelWidth = 0xB0
    case pixelHeight = 0xBA
    case displayWidth = 0x54B0
    case displayHeight = 0x54BA
    case colour = 0x55B0
    case matrixCoefficients = 0x55B1
    case range = 0x55B9
    case transferCharacteristics = 0x55BA
    case primaries = 0x55BB

    case cluster = 0x1F43_B675
    case timestamp = 0xE7
    case simpleBlock = 0xA3
    case blockGroup = 0xA0
    case block = 0xA1
    case discardPadding = 0x75A2

    case cues = 0x1C53_BB6B
    case cuePoint = 0xBB
    case cueTime = 0xB3
    case cueTrackPositions = 0xB7
    case cueTrack = 0xF7
    case cueClusterPosition = 0xF1
}
