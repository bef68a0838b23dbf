import CaptureCore

/// Cuts VP8 frames into payloads with their descriptors (RFC 7741, 4.2), which name the temporal layer of each.
///
/// A frame of a higher layer depends on the last frame of the base layer, and on later frames of the same and lower
/// layers; on no earlier frame. So a layer can be left out from any frame on, and taken up again with any frame of the base layer.
struct VP8Packetizer {
    /// The bytes of a descriptor.
    static let descriptorSize = 6

    /// 15 bits, of the next frame.
    private var pictureID: UInt16
    /// The number of the last frame of the base layer.
    private var baseLayerIndex: UInt8 = 0
    /// The lowest layer of the frames since then; nil without any.
    private var lowestLayer: UInt8?
    private var hasBegun = false

    init(pictureID: UInt16) { self.pictureID = pictureID & 0x7FFF }

    mutating func packetize(
        _ packet: MediaPacket, _ frame: UnsafeRawBufferPointer, room: Int, output: Packetizer.Output
    ) {
        // X; N for what no other frame refers to.
        let first: UInt8 = packet.isDroppable ? 0xA0 : 0x80
        let number = 0x8000 | pictureID
        let layer = placeLayer(UInt8(clamping: min(max(packet.temporalLayer, 0), 3)))
        let index = baseLayerIndex
        for part in EqualParts(frame.count, limit: room - VP8Packetizer.descriptorSize) {
            var payload = Payload(frame.slice(part))
            // S at the beginning of the frame's one partition.
            payload.append(part.lowerBound == 0 ? first | 0x10 : first)
            // I, L and T.
            payload.append(0xE0 as UInt8)
            payload.append(number)
            payload.append(index)
            payload.append(layer)
            output(part.upperBound == frame.count, payload)
        }
        pictureID = (pictureID &+ 1) & 0x7FFF
    }

    /// TID and Y: whether the frame refers to the last one of the base layer alone. Without Y receivers wait for a frame of
    /// its layer before it, which they may not have.
    private mutating func placeLayer(_ layer: UInt8) -> UInt8 {
        defer { hasBegun = true }
        guard layer > 0 else {
            if hasBegun { baseLayerIndex &+= 1 }
            lowestLayer = nil
            return 0
        }
        let refersToBase = lowestLayer.map { layer < $0 } ?? true
        lowestLayer = min(lowestLayer ?? layer, layer)
        return layer << 6 | (refersToBase ? 0x20 : 0)
    }
}
