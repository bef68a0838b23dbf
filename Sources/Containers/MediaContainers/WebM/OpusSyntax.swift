import VideoCapturing

/// What a container must know of Opus: the decoder's delay, of the identification header (RFC 7845, 5.1), and how much
/// sound a packet decodes to (RFC 6716, 3.1). Any bytes are read without a trap.
enum OpusSyntax {
    /// Samples per second of a decoder, in which all counts of Opus are stated.
    static let sampleRate: Int64 = 48_000

    /// How much a decoder gives before the first sample that was encoded; zero for other codecs, and where the header is
    /// absent or too short.
    static func decoderDelay(of track: TrackDescription) -> Duration {
        guard track.codec == .opus, let header = track.decoderConfiguration else { return .zero }
        return header.withUnsafeBytes { bytes in
            guard bytes.count >= 12 else { return .zero }
            return duration(ofSamples: Int64(bytes[10]) | Int64(bytes[11]) << 8)
        }
    }

    /// Whether a track's identification header is one that WebM can carry: version 1, one or two channels as the track
    /// says, in the first mapping family.
    static func isComplete(_ track: TrackDescription, _ audio: TrackDescription.Audio) -> Bool {
        guard let header = track.decoderConfiguration, (1...2).contains(audio.channelCount) else { return false }
        return header.withUnsafeBytes { bytes in
            bytes.count >= 19 && bytes.starts(with: "OpusHead".utf8) && bytes[8] < 16
                && Int(bytes[9]) == audio.channelCount && bytes[18] == 0
        }
    }

    /// What a packet decodes to; zero for bytes that are not a packet.
    static func duration(ofPacket bytes: UnsafeRawBufferPointer) -> Duration {
        guard let configuration = bytes.first else { return .zero }
        let kind = Int64(configuration >> 3)
        // SILK 10, 20, 40 and 60 ms; hybrid 10 and 20 ms; CELT 2.5, 5, 10 and 20 ms.
        let frame: Int64 =
            switch kind {
            case 0..<12: [480, 960, 1920, 2880][Int(kind & 3)]
            case 12..<16: [480, 960][Int(kind & 1)]
            default: [120, 240, 480, 960][Int(kind & 3)]
            }
        let count: Int64
        switch configuration & 3 {
        case 0: count = 1
        case 1, 2: count = 2
        default:
            guard bytes.count > 1 else { return .zero }
            count = Int64(bytes[1] & 0x3F)
        }
        return duration(ofSamples: frame * count)
    }

    private static func duration(ofSamples samples: Int64) -> Duration {
        .nanoseconds(samples * 1_000_000_000 / sampleRate)
    }
}
