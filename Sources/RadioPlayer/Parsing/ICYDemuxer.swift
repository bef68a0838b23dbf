/// Takes the metadata out of a radio's stream (`icy-metaint`): after each such number of bytes of sound stands one byte with the
/// length of a block in units of 16 bytes, 0 when nothing is new, and the block, filled up with zeros.
///
/// A server may state a wrong interval, or none of its blocks may be one. What stands where a block should be is text, or
/// it is passed on as sound, and so is all that follows: ``isTrusted`` is false then.
package struct ICYDemuxer {
    /// The bytes of sound between two blocks; nil for a stream without metadata.
    package let interval: Int?
    /// Whether all blocks so far were metadata.
    package private(set) var isTrusted = true

    /// Bytes of sound until the next block; meaningless without an interval.
    private var soundLeft: Int
    /// Bytes of a block that are still to come; nil outside of blocks.
    private var blockLeft: Int?
    private var lengthByte: UInt8 = 0
    private var block: [UInt8] = []

    /// The largest block.
    private static let maximumBlockBytes = 255 * 16

    /// - Parameter interval: as the server states it; nil, 0 and less for none.
    package init(interval: Int?) {
        self.interval = interval.flatMap { $0 > 0 ? $0 : nil }
        soundLeft = self.interval ?? 0
        if self.interval != nil { block.reserveCapacity(ICYDemuxer.maximumBlockBytes) }
    }

    /// Splits bytes of the body.
    ///
    /// - Parameters:
    ///   - bytes: the bytes that follow the last ones.
    ///   - sound: called with bytes of sound, in order.
    ///   - metadata: called with the text of each block that has one, without the zeros, in order with the sound.
    package mutating func feed(
        _ bytes: UnsafeRawBufferPointer, sound: (UnsafeRawBufferPointer) -> Void,
        metadata: (UnsafeRawBufferPointer) -> Void
    ) {
        var rest = bytes
        while !rest.isEmpty {
            guard let interval, isTrusted else { return sound(rest) }
            if let left = blockLeft {
                let count = min(left, rest.count)
                block.append(contentsOf: rest[..<count])
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                blockLeft = left - count
                if left == count { endBlock(interval, sound: sound, metadata: metadata) }
            } else if soundLeft > 0 {
                let count = min(soundLeft, rest.count)
                sound(UnsafeRawBufferPointer(rebasing: rest[..<count]))
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                soundLeft -= count
            } else {
                lengthByte = rest[0]
                rest = UnsafeRawBufferPointer(rebasing: rest[1...])
                if lengthByte == 0 { soundLeft = interval } else { blockLeft = Int(lengthByte) * 16 }
            }
        }
    }

    private mutating func endBlock(
        _ interval: Int, sound: (UnsafeRawBufferPointer) -> Void, metadata: (UnsafeRawBufferPointer) -> Void
    ) {
        blockLeft = nil
        soundLeft = interval
        let text = block.prefix { $0 != 0 }
        if ICYDemuxer.isMetadata(block) {
            if !text.isEmpty { text.withUnsafeBytes { metadata($0) } }
        } else {
            isTrusted = false
            withUnsafeBytes(of: lengthByte) { sound($0) }
            block.withUnsafeBytes { sound($0) }
        }
        block.removeAll(keepingCapacity: true)
    }

    /// Text up to the zeros, and nothing but zeros behind. Text in any encoding has no control characters.
    private static func isMetadata(_ block: [UInt8]) -> Bool {
        let text = block.prefix { $0 != 0 }
        guard block[text.count...].allSatisfy({ $0 == 0 }) else { return false }
        return text.isEmpty || text.starts(with: "Stream".utf8)
            || (text.allSatisfy { $0 >= 0x20 || (9...13).contains($0) } && text.contains(UInt8(ascii: "=")))
    }
}
