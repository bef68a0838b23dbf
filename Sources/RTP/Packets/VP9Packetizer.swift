import CaptureCore

/// Cuts VP9 frames into payloads with their descriptors (RFC 9628, 4.2), of streams without layers.
struct VP9Packetizer {
    /// The bytes of a descriptor.
    private static let descriptorSize = 3

    /// 15 bits, of the next frame.
    private var pictureID: UInt16

    init(pictureID: UInt16) { self.pictureID = pictureID & 0x7FFF }

    mutating func packetize(
        _ packet: MediaPacket, _ frame: UnsafeRawBufferPointer, room: Int, output: Packetizer.Output
    ) {
        // I; P for what refers to earlier frames.
        let first: UInt8 = packet.isKeyFrame ? 0x80 : 0xC0
        let number = 0x8000 | pictureID
        for part in EqualParts(frame.count, limit: room - VP9Packetizer.descriptorSize) {
            let isEnd = part.upperBound == frame.count
            var payload = Payload(frame.slice(part))
            // B and E: the beginning and the end of the frame.
            payload.append(first | (part.lowerBound == 0 ? 8 : 0) | (isEnd ? 4 : 0))
            payload.append(number)
            output(isEnd, payload)
        }
        pictureID = (pictureID &+ 1) & 0x7FFF
    }
}
