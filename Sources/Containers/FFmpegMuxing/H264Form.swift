import H264Bitstream
import VideoCapturing

/// The form of a track's H.264 packets.
///
/// FFmpeg's muxers make `avcC` of parameter sets with start codes and then convert the packets; with `avcC` they take the
/// packets for length-prefixed. So the form of the sets has to be that of the packets, whichever form the track's decoder
/// configuration has.
enum H264Form {
    /// Start codes (ITU-T H.264, annex B).
    case annexB
    /// Lengths (ISO/IEC 14496-15).
    case lengthPrefixed

    /// The form of a track's first packet; nil for damaged ones.
    init?(of packet: UnsafeRawBufferPointer) {
        // As a length this would be a unit of one byte, which no picture begins with.
        if packet.starts(with: [0, 0, 0, 1]) {
            self = .annexB
        } else if !packet.isEmpty, (try? LengthPrefixed.forEachUnit(in: packet) { _ in }) != nil {
            self = .lengthPrefixed
        } else if packet.starts(with: [0, 0, 1]) {
            self = .annexB
        } else {
            return nil
        }
    }

    /// The parameter sets of a packet with start codes, or else of a decoder configuration, with start codes.
    static func parameterSets(of packet: UnsafeRawBufferPointer, or configuration: [UInt8]) -> [UInt8]? {
        // Those of the packet are the newest; the rest of the stream refers to them.
        if let found = annexB(packet) { return found }
        return configuration.withUnsafeBytes { bytes in
            if configuration.first == 1 { return try? AVCDecoderConfiguration(parsing: bytes).annexB }
            return annexB(bytes)
        }
    }

    private static func annexB(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let sets = try? AVCDecoderConfiguration(annexB: bytes), !sets.pictureParameterSets.isEmpty else {
            return nil
        }
        return sets.annexB
    }
}
