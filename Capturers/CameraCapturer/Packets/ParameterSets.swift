import H264Bitstream
import VideoCapturing

/// The parameter sets of a camera's H.264 or H.265, which some encoders send once, or in a buffer of their own.
///
/// Packets of both codecs are byte streams; the start codes are the same (ITU-T H.264 and H.265, annex B).
struct ParameterSets: Sendable, Hashable {
    /// What a byte stream has.
    enum Content: Hashable {
        /// A picture. `isComplete`: whether all kinds of parameter sets come before it.
        case picture(isKey: Bool, isComplete: Bool)
        /// Parameter sets and the like, without a picture.
        case setsOnly
        /// No NAL unit.
        case nothing
    }

    let codec: Codec
    /// The sets as a byte stream, by the positions of their types in ``types``.
    private var kept: [[UInt8]]
    /// The color that the sets of H.264 state.
    private(set) var color: ColorDescription?

    /// - Parameter codec: `h264` or `hevc`.
    init(_ codec: Codec) {
        self.codec = codec
        kept = Array(repeating: [], count: ParameterSets.types(codec).count)
    }

    /// Whether there is a set of each kind.
    var isComplete: Bool { kept.allSatisfy { !$0.isEmpty } }

    /// The sets as a byte stream, in the order in which decoders need them.
    var bytes: [UInt8] { Array(kept.joined()) }

    /// What a container or a peer needs of them: `avcC` for H.264, the sets as a byte stream for H.265; nil while some are
    /// missing.
    var decoderConfiguration: [UInt8]? {
        guard isComplete else { return nil }
        return codec == .h264 ? avc?.bytes : bytes
    }

    private var avc: AVCDecoderConfiguration? { bytes.withUnsafeBytes { try? AVCDecoderConfiguration(annexB: $0) } }

    /// Reads a byte stream up to its first picture, and keeps the sets in it: each kind replaces the earlier ones of its
    /// kind.
    mutating func read(_ stream: UnsafeRawBufferPointer) -> Content {
        let types = ParameterSets.types(codec)
        var found = Array(repeating: [UInt8](), count: types.count)
        var content = Content.nothing
        for unit in AnnexB.units(in: stream) {
            let type = ParameterSets.type(of: unit, codec)
            if let index = types.firstIndex(of: type) {
                AnnexB.append(unit, to: &found[index])
            } else if let isKey = isKey(type) {
                content = .picture(isKey: isKey, isComplete: found.allSatisfy { !$0.isEmpty })
                break
            }
            content = .setsOnly
        }
        for (index, sets) in found.enumerated() where !sets.isEmpty && sets != kept[index] {
            kept[index] = sets
            if codec == .h264 { color = avc?.parameters?.color }
        }
        return content
    }

    /// Appends a picture with the sets before it, but after a delimiter, with which an access unit begins.
    func append(_ picture: UnsafeRawBufferPointer, to stream: inout [UInt8]) {
        var rest = picture
        if let base = picture.baseAddress, var unit = Optional(AnnexB.units(in: picture)), let first = unit.next(),
            ParameterSets.type(of: first, codec) == (codec == .h264 ? 9 : 35), let start = first.bytes.baseAddress
        {
            let end = start - base + first.bytes.count
            stream.append(contentsOf: picture[..<end])
            rest = UnsafeRawBufferPointer(rebasing: picture[end...])
        }
        for sets in kept { stream.append(contentsOf: sets) }
        stream.append(contentsOf: rest)
    }

    /// The types of parameter sets: of H.264 SPS and PPS (table 7-1), of H.265 VPS, SPS and PPS (table 7-1 there).
    private static func types(_ codec: Codec) -> [UInt8] { codec == .h264 ? [7, 8] : [32, 33, 34] }

    private static func type(of unit: NALUnit, _ codec: Codec) -> UInt8 {
        codec == .h264 ? unit.type.rawValue : unit.bytes[0] >> 1 & 0x3F
    }

    /// Whether a slice of this type is of a key frame; nil for other types. Of H.265, decoding can begin at pictures of
    /// the types 16 to 21 (IRAP).
    private func isKey(_ type: UInt8) -> Bool? {
        if codec == .h264 {
            let kind = NALUnit.Kind(rawValue: type)
            return kind.isSlice ? kind == .idrSlice : nil
        }
        return type < 32 ? (16...21).contains(type) : nil
    }
}
