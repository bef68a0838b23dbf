/// The blocks of a finished WebM file of pictures and sound, written from the specification, and without a tree of
/// elements: an hour has 200,000 blocks.
struct WebMBlocks {
    struct Block {
        /// In nanoseconds.
        var time: Int64
        /// Where its data is in the file.
        var data: Range<Int>
    }

    private(set) var pictures: [Block] = []
    private(set) var sound: [Block] = []
    /// The CodecPrivate of the sound.
    private(set) var soundHeader: [UInt8] = []
    /// How much earlier than the times of its blocks the decoded sound begins, in nanoseconds.
    private(set) var codecDelay: Int64 = 0

    private var scale: Int64 = 0
    private var clusterTime: Int64 = 0
    private var trackNumber: Int64 = 0
    private var soundNumber: Int64 = 0

    init(_ file: [UInt8]) { file.withUnsafeBytes { read($0, 0..<$0.count) } }

    private mutating func read(_ file: UnsafeRawBufferPointer, _ range: Range<Int>) {
        var position = range.lowerBound
        while position < range.upperBound {
            let id = WebMBlocks.number(file, &position, keepsMarker: true)
            let size = Int(WebMBlocks.number(file, &position, keepsMarker: false))
            let content = position..<position + size
            switch id {
            // Segment, Info, Tracks, TrackEntry, Cluster, BlockGroup
            case 0x1853_8067, 0x1549_A966, 0x1654_AE6B, 0xAE, 0x1F43_B675, 0xA0: read(file, content)
            case 0x2AD7B1: scale = WebMBlocks.unsigned(file, content)
            case 0xD7: trackNumber = WebMBlocks.unsigned(file, content)
            case 0x63A2: (soundNumber, soundHeader) = (trackNumber, Array(file[content]))
            case 0x56AA: codecDelay = WebMBlocks.unsigned(file, content)
            case 0xE7: clusterTime = WebMBlocks.unsigned(file, content)
            // SimpleBlock, Block
            case 0xA3, 0xA1:
                let number = WebMBlocks.number(file, &position, keepsMarker: false)
                let offset = Int16(truncatingIfNeeded: WebMBlocks.unsigned(file, position..<position + 2))
                let block = Block(
                    time: (clusterTime + Int64(offset)) * scale, data: position + 3..<content.upperBound)
                if number == soundNumber { sound.append(block) } else { pictures.append(block) }
            default: break
            }
            position = content.upperBound
        }
    }

    /// A number that says how long it is (RFC 8794, 4).
    private static func number(
        _ file: UnsafeRawBufferPointer, _ position: inout Int, keepsMarker: Bool
    ) -> Int64 {
        let first = file[position]
        let length = first.leadingZeroBitCount + 1
        defer { position += length }
        let marker = Int64(1) << Int64(7 * length)
        return unsigned(file, position..<position + length) & (keepsMarker ? .max : marker - 1)
    }

    private static func unsigned(_ file: UnsafeRawBufferPointer, _ range: Range<Int>) -> Int64 {
        var value: Int64 = 0
        for index in range { value = value << 8 | Int64(file[index]) }
        return value
    }
}
