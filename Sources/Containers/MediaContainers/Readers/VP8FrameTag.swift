/// What the first bytes of a VP8 frame tell (RFC 6386, 9.1).
struct VP8FrameTag {
    /// Whether decoding can begin here.
    let isKeyFrame: Bool
    /// Width and height of a key frame; nil for the others, and for one that is damaged.
    let size: (width: Int, height: Int)?

    /// Nil for a frame without bytes.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard let first = bytes.first else { return nil }
        isKeyFrame = first & 1 == 0
        guard isKeyFrame, bytes.count >= 10, bytes[3] == 0x9D, bytes[4] == 0x01, bytes[5] == 0x2A else {
            size = nil
            return
        }
        // The two upper bits of each ask the player to scale.
        let width = (Int(bytes[6]) | Int(bytes[7]) << 8) & 0x3FFF
        let height = (Int(bytes[8]) | Int(bytes[9]) << 8) & 0x3FFF
        size = width > 0 && height > 0 ? (width, height) : nil
    }
}
