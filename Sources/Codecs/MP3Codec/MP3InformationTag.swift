/// What the first frame of a file says of the rest (Xing, Info, LAME); it holds no sound.
public struct MP3InformationTag: Sendable, Hashable {
    /// The number of frames after this one; nil when not stated.
    public let frameCount: Int?
    /// The number of bytes of all frames, this one included; nil when not stated.
    public let byteCount: Int?
    /// Samples at the start that the encoder has added, and those that every decoder adds: they are not of the sound.
    public let leadingSamples: Int
    /// Samples at the end that the encoder has added.
    public let trailingSamples: Int

    /// The number of samples by which every decoder of layer III is late.
    private static let decoderDelay = 529

    /// Parses a frame; nil when it is not such a frame.
    ///
    /// - Parameter frame: the frame.
    public init?(_ frame: MP3FrameParser.Frame) {
        let header = frame.header
        let sideBytes =
            header.version == .mpeg1 ? (header.channelCount == 1 ? 17 : 32) : (header.channelCount == 1 ? 9 : 17)
        let start = MP3FrameHeader.size + sideBytes
        guard frame.bytes.count >= start + 8 else { return nil }
        let bytes = UnsafeRawBufferPointer(rebasing: frame.bytes[start...])
        guard bytes[..<4].elementsEqual("Xing".utf8) || bytes[..<4].elementsEqual("Info".utf8) else { return nil }
        var offset = 8
        func number() -> Int? {
            guard offset + 4 <= bytes.count else { return nil }
            defer { offset += 4 }
            return bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        let flags = bytes[7]
        frameCount = flags & 1 != 0 ? number() : nil
        byteCount = flags & 2 != 0 ? number() : nil
        if flags & 4 != 0 { offset += 100 }
        if flags & 8 != 0 { offset += 4 }
        // "LAME3.100", and 21 bytes after its beginning two numbers of 12 bits.
        guard offset + 24 <= bytes.count,
            bytes[offset..<offset + 4].elementsEqual("LAME".utf8)
                || bytes[offset..<offset + 3].elementsEqual("Lav".utf8)
        else {
            leadingSamples = 0
            trailingSamples = 0
            return
        }
        let delay = Int(bytes[offset + 21]) << 4 | Int(bytes[offset + 22]) >> 4
        let padding = Int(bytes[offset + 22] & 15) << 8 | Int(bytes[offset + 23])
        leadingSamples = delay + MP3InformationTag.decoderDelay
        trailingSamples = max(0, padding - MP3InformationTag.decoderDelay)
    }
}
