import CaptureCore

/// Cuts VP8 frames into payloads with their descriptors (RFC 7741, 4.2).
struct VP8Packetizer {
    /// 15 bits, of the next frame.
    private var pictureID: UInt16
    /// The number of the last frame of the base layer.
    private var baseLayerIndex: UInt8 = 0
    private let hasLayers: Bool
    private var hasBegun = false

    init(pictureID: UInt16, hasLayers: Bool) {
        self.pictureID = pictureID & 0x7FFF
        self.hasLayers = hasLayers
    }

    mutating func packetize(
        _ packet: MediaPacket, _ frame: UnsafeRawBufferPointer, room: Int, output: Packetizer.Output
    ) {
        let layer = UInt8(clamping: min(packet.temporalLayer, 3))
        if hasLayers, layer == 0, hasBegun { baseLayerIndex &+= 1 }
        hasBegun = true
        let size = hasLayers ? 6 : 4
        // X; N for what no other frame refers to.
        let first: UInt8 = packet.isDroppable ? 0xA0 : 0x80
        let number = 0x8000 | pictureID
        let index = baseLayerIndex
        let hasLayers = hasLayers
        for part in EqualParts(frame.count, limit: room - size) {
            output(part.upperBound == frame.count, size + part.count) { payload in
                // S at the beginning of the frame's one partition.
                payload[0] = part.lowerBound == 0 ? first | 0x10 : first
                // I, and L and T with layers.
                payload[1] = hasLayers ? 0xE0 : 0x80
                payload.write(number, at: 2)
                if hasLayers {
                    payload[4] = index
                    // Y stays 0: whether a frame refers to the base layer alone is not known.
                    payload[5] = layer << 6
                }
                payload.write(frame.slice(part), at: size)
            }
        }
        pictureID = (pictureID &+ 1) & 0x7FFF
    }
}
