import VideoCapturing

/// Byte streams of H.264 and H.265 as encoders of cameras give them. The pictures cannot be decoded; the NAL units are
/// those of real ones.
struct EncodedPictures: Sendable {
    /// `h264` or `hevc`.
    var codec = Codec.h264
    /// How many pictures a group has.
    var groupLength: UInt32 = 5
    /// The number of the first picture within its group.
    var first: UInt32 = 0
    /// How parameter sets come.
    var sets = Sets.beforeEachKeyFrame

    enum Sets: CaseIterable {
        case beforeEachKeyFrame
        /// With the first picture of a stream only.
        case once
        /// In a buffer of their own, before the first picture of a stream.
        case alone
        case never
    }

    static let startCode: [UInt8] = [0, 0, 0, 1]

    static func parameterSets(_ codec: Codec) -> [UInt8] {
        codec == .h264
            ? startCode + [0x67, 0x42, 0xC0, 0x1E, 0x8C, 0x8D, 0x40] + startCode + [0x68, 0xCE, 0x3C, 0x80]
            : startCode + [0x40, 0x01, 0x0C, 0x01] + startCode + [0x42, 0x01, 0x01, 0x21] + startCode
                + [0x44, 0x01, 0xC0, 0x73]
    }

    /// The `number`th buffer of a stream.
    func callAsFunction(_ number: UInt32) -> [UInt8] {
        var number = number
        if sets == .alone {
            if number == 0 { return EncodedPictures.parameterSets(codec) }
            number -= 1
        }
        let isKey = isKeyFrame(number)
        let hasSets = sets == .beforeEachKeyFrame ? isKey : sets == .once && number == 0
        return (hasSets ? EncodedPictures.parameterSets(codec) : []) + picture(number, isKey: isKey)
    }

    func isKeyFrame(_ number: UInt32) -> Bool { (number + first) % groupLength == 0 }

    /// A slice, whose payload is its number.
    private func picture(_ number: UInt32, isKey: Bool) -> [UInt8] {
        let header: [UInt8] = codec == .h264 ? [isKey ? 0x65 : 0x41] : [isKey ? 0x26 : 0x02, 0x01]
        let digits = (0..<8).map { UInt8(number >> (4 * $0) & 0xF) | 0x80 }
        return EncodedPictures.startCode + header + digits + [UInt8](repeating: 0xAB, count: 200)
    }

    /// The number of a picture in a packet.
    static func number(_ packet: MediaPacket) -> UInt32 {
        packet.data.withUnsafeBytes { bytes in
            bytes.dropLast(200).suffix(8).enumerated().reduce(0) { $0 | UInt32($1.element & 0xF) << (4 * $1.offset) }
        }
    }

    static func bytes(_ packet: MediaPacket) -> [UInt8] { packet.data.withUnsafeBytes { Array($0) } }
}
