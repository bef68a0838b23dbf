import VideoCapturing

/// What the head of a VP8 frame says of its segments (RFC 6386, 9.2, 9.3 and 19.2), read without a decoder.
struct SegmentHeader {
    var isEnabled = false
    /// Of each segment; nil when the frame leaves those of the frame before.
    var filterDeltas: [Int]?

    init(_ packet: MediaPacket) {
        self = packet.data.withUnsafeBytes { bytes in
            // The tag has three bytes; a key frame's start code and size have seven more.
            SegmentHeader(Array(bytes.dropFirst(packet.isKeyFrame ? 10 : 3)), isKeyFrame: packet.isKeyFrame)
        }
    }

    private init(_ partition: [UInt8], isKeyFrame: Bool) {
        var decoder = BoolDecoder(partition)
        // Colour space and clamping.
        if isKeyFrame { _ = decoder.literal(2) }
        isEnabled = decoder.literal(1) == 1
        guard isEnabled else { return }
        _ = decoder.literal(1)
        guard decoder.literal(1) == 1 else { return }
        _ = decoder.literal(1)
        _ = decoder.deltas(bits: 7)
        filterDeltas = decoder.deltas(bits: 6)
    }
}

/// RFC 6386, 7.3, with every probability a half.
private struct BoolDecoder {
    private let bytes: [UInt8]
    private var position = 2
    private var value: UInt32
    private var range: UInt32 = 255
    private var bitCount = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        value = UInt32(bytes[0]) << 8 | UInt32(bytes[1])
    }

    mutating func literal(_ bits: Int) -> Int {
        (0..<bits).reduce(0) { sum, _ in sum << 1 | bit() }
    }

    mutating func deltas(bits: Int) -> [Int] {
        (0..<4).map { _ in
            guard literal(1) == 1 else { return 0 }
            let magnitude = literal(bits)
            return literal(1) == 1 ? -magnitude : magnitude
        }
    }

    private mutating func bit() -> Int {
        let split = 1 + (((range - 1) * 128) >> 8)
        let isSet = value >= split << 8
        if isSet {
            range -= split
            value -= split << 8
        } else {
            range = split
        }
        while range < 128 {
            value <<= 1
            range <<= 1
            bitCount += 1
            if bitCount == 8 {
                bitCount = 0
                value |= position < bytes.count ? UInt32(bytes[position]) : 0
                position += 1
            }
        }
        return isSet ? 1 : 0
    }
}
