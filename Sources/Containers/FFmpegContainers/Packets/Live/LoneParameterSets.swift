import H264Bitstream
import PacketCapturing

/// Keeps the parameter sets of packets without a picture for the next picture. Where a connection ends between the sets of a
/// picture and its slices, the library hands them over as a packet.
struct LoneParameterSets {
    private let isH264: Bool
    private var sets: [UInt8] = []

    /// How many bytes are kept. A sender may repeat its sets forever.
    private static let limit = 65536

    /// - Returns: nil for a codec other than H.264 and H.265.
    init?(_ codec: Codec) {
        guard ["h264", "hevc"].contains(codec.rawValue) else { return nil }
        isH264 = codec == .h264
    }

    /// Keeps the sets of a packet without a picture.
    ///
    /// - Parameter bytes: a byte stream (annex B). One without any unit counts as a picture, since it has another form.
    /// - Returns: false for a packet that has a picture.
    mutating func absorb(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var isEmpty = true
        for unit in AnnexB.units(in: bytes) {
            if isSlice(unit) { return false }
            isEmpty = false
        }
        guard !isEmpty else { return false }
        if sets.count + bytes.count > LoneParameterSets.limit { sets = [] }
        for unit in AnnexB.units(in: bytes) where isSet(unit) { AnnexB.append(unit, to: &sets) }
        return true
    }

    /// Gives the sets for the next picture, once.
    mutating func take() -> [UInt8] {
        defer { sets = [] }
        return sets
    }

    // Of H.265, kinds below 32 are slices, and 32 to 34 parameter sets (ITU-T H.265, table 7-1).

    private func isSlice(_ unit: NALUnit) -> Bool { isH264 ? unit.type.isSlice : unit.bytes[0] >> 1 & 0x3F < 32 }

    private func isSet(_ unit: NALUnit) -> Bool {
        isH264
            ? [.sps, .pps, .spsExtension].contains(unit.type) : (32...34).contains(unit.bytes[0] >> 1 & 0x3F)
    }
}
