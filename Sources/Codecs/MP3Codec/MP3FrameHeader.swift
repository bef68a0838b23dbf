/// The four bytes with which a frame of MPEG audio begins (ISO/IEC 11172-3, 13818-3), of layer III only.
///
/// Free format (the bitrate is not stated, so neither is the length) is not a valid header here: it cannot be checked,
/// and so not be distinguished from noise.
public struct MP3FrameHeader: Sendable, Hashable {
    /// The version of the standard.
    public enum Version: Sendable, Hashable {
        /// MPEG-1: 32 to 48 kHz.
        case mpeg1
        /// MPEG-2: 16 to 24 kHz.
        case mpeg2
        /// MPEG-2.5: 8 to 12 kHz.
        case mpeg25
    }

    /// The version of the standard.
    public let version: Version
    /// Bits per second.
    public let bitrate: Int
    /// Frames of sound per second.
    public let sampleRate: Int
    /// 1 or 2.
    public let channelCount: Int
    /// The bytes of the frame, with the header.
    public let byteCount: Int
    /// Whether the emphasis is the reserved one, which some encoders write: a decoder ignores it, and a search for frames
    /// in noise does not.
    let hasReservedEmphasis: Bool

    /// The number of samples per channel.
    public var sampleCount: Int { version == .mpeg1 ? 1152 : 576 }

    /// The number of bytes of a header.
    public static let size = 4
    /// The largest number of bytes of a frame.
    public static let maximumByteCount = 1441

    /// Parses a header; nil when the bytes are not one.
    ///
    /// - Parameter bytes: four bytes or more.
    public init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= MP3FrameHeader.size, bytes[0] == 0xFF, bytes[1] & 0xE6 == 0xE2 else { return nil }
        let isMPEG1: Bool
        switch bytes[1] >> 3 & 3 {
        case 3: (version, isMPEG1) = (.mpeg1, true)
        case 2: (version, isMPEG1) = (.mpeg2, false)
        case 0: (version, isMPEG1) = (.mpeg25, false)
        default: return nil
        }
        let bitrateIndex = Int(bytes[2] >> 4)
        let rateIndex = Int(bytes[2] >> 2 & 3)
        guard (1...14).contains(bitrateIndex), rateIndex < 3 else { return nil }
        hasReservedEmphasis = bytes[3] & 3 == 2
        bitrate = MP3FrameHeader.kilobits(bitrateIndex, isMPEG1: isMPEG1) * 1000
        let rate = rateIndex == 0 ? 44_100 : rateIndex == 1 ? 48_000 : 32_000
        sampleRate = rate >> (version == .mpeg1 ? 0 : version == .mpeg2 ? 1 : 2)
        channelCount = bytes[3] >> 6 == 3 ? 1 : 2
        byteCount = (isMPEG1 ? 144 : 72) * bitrate / sampleRate + Int(bytes[2] >> 1 & 1)
    }

    /// Whether both are of one stream: version, rate and number of channels are equal, while the bitrate may vary.
    public func matches(_ other: MP3FrameHeader) -> Bool {
        version == other.version && sampleRate == other.sampleRate && channelCount == other.channelCount
    }

    /// Whether the bytes are a header of layer III in free format.
    static func isFreeFormat(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count >= size && bytes[0] == 0xFF && bytes[1] & 0xE6 == 0xE2 && bytes[1] >> 3 & 3 != 1
            && bytes[2] >> 4 == 0 && bytes[2] >> 2 & 3 != 3 && bytes[3] & 3 != 2
    }

    /// Without an array, which would be looked up behind a lock for each frame.
    private static func kilobits(_ index: Int, isMPEG1: Bool) -> Int {
        if isMPEG1 {
            return switch index {
            case 1...5: 24 + 8 * index
            case 6...9: 16 * index - 16
            case 10...13: 32 * index - 160
            default: 320
            }
        }
        return index <= 8 ? 8 * index : 16 * index - 64
    }
}
