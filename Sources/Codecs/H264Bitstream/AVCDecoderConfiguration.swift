import CaptureCore

/// The parameter sets of a track and the form of its packets in MP4 and Matroska (ISO/IEC 14496-15, 5.3.3.1: `avcC`).
///
/// ``bytes`` is the `decoderConfiguration` of a track with the codec `Codec.h264`. The track's packets are byte streams
/// (``AnnexB``) nevertheless; a muxer makes the form that this states with ``LengthPrefixed``.
public struct AVCDecoderConfiguration: Sendable, Hashable {
    /// The bytes of the length before each NAL unit: 1, 2 or 4.
    public var lengthSize: Int
    /// NAL units of sequence parameter sets, without start codes; 1 to 31, of at most 65,535 bytes each.
    public let sequenceParameterSets: [[UInt8]]
    /// NAL units of picture parameter sets, without start codes; at most 255.
    public let pictureParameterSets: [[UInt8]]
    /// NAL units of extensions of sequence parameter sets, without start codes; at most 255.
    public let sequenceParameterSetExtensions: [[UInt8]]

    /// A configuration of these parameter sets.
    ///
    /// - Parameters:
    ///   - sequenceParameterSets: NAL units without start codes.
    ///   - pictureParameterSets: NAL units without start codes.
    ///   - sequenceParameterSetExtensions: NAL units without start codes.
    ///   - lengthSize: the bytes of a length.
    /// - Throws: `CodecError` with the code `invalidConfiguration` for numbers, sizes or kinds of units that `avcC` cannot
    ///   hold.
    public init(
        sequenceParameterSets: [[UInt8]], pictureParameterSets: [[UInt8]],
        sequenceParameterSetExtensions: [[UInt8]] = [], lengthSize: Int = 4
    ) throws(CodecError) {
        func check(_ isGood: Bool, _ message: String) throws(CodecError) {
            guard isGood else {
                throw CodecError(
                    .invalidConfiguration, operation: "make an avcC", subject: "H.264", message: message)
            }
        }
        func check(_ units: [[UInt8]], _ kind: NALUnit.Kind, _ counts: ClosedRange<Int>) throws(CodecError) {
            let areGood = units.allSatisfy { $0.first.map { NALUnit.Kind(header: $0) } == kind && $0.count <= 65535 }
            try check(
                counts.contains(units.count) && areGood,
                "There are \(counts.lowerBound) to \(counts.upperBound) NAL units of the type \(kind.rawValue), "
                    + "of 1 to 65535 bytes each.")
        }
        try check([1, 2, 4].contains(lengthSize), "The length of a NAL unit has 1, 2 or 4 bytes, not \(lengthSize).")
        try check(sequenceParameterSets, .sps, 1...31)
        try check(sequenceParameterSets.allSatisfy { $0.count >= 4 }, "An SPS has at least four bytes.")
        try check(pictureParameterSets, .pps, 0...255)
        try check(sequenceParameterSetExtensions, .spsExtension, 0...255)
        self.sequenceParameterSets = sequenceParameterSets
        self.pictureParameterSets = pictureParameterSets
        self.sequenceParameterSetExtensions = sequenceParameterSetExtensions
        self.lengthSize = lengthSize
    }

    /// The configuration of the parameter sets in a byte stream, each once.
    ///
    /// - Parameter annexB: a byte stream, as of a key frame's packet.
    /// - Throws: `CodecError` with the code `invalidConfiguration` when there is no sequence parameter set, or there are too
    ///   many.
    public init(annexB: UnsafeRawBufferPointer) throws(CodecError) {
        var sets: [NALUnit.Kind: [[UInt8]]] = [:]
        for unit in AnnexB.units(in: annexB) where [.sps, .pps, .spsExtension].contains(unit.type) {
            let bytes = Array(unit.bytes)
            if sets[unit.type, default: []].contains(bytes) { continue }
            sets[unit.type, default: []].append(bytes)
        }
        try self.init(
            sequenceParameterSets: sets[.sps] ?? [], pictureParameterSets: sets[.pps] ?? [],
            sequenceParameterSetExtensions: sets[.spsExtension] ?? [])
    }

    /// Parses an `avcC`.
    ///
    /// - Parameter bytes: the content of the box.
    /// - Throws: `CodecError` with the code `corruptData`.
    public init(parsing bytes: UnsafeRawBufferPointer) throws(CodecError) {
        var reader = BoxReader(bytes: bytes)
        guard bytes.count >= 7, bytes[0] == 1 else {
            throw .corruptH264("read an avcC", "The decoder configuration is not an avcC of version 1.")
        }
        reader.index = 4
        let lengthSize = Int(reader.byte() & 3) + 1
        let sequences = reader.units(Int(reader.byte() & 31))
        let pictures = reader.units(Int(reader.byte()))
        guard reader.isValid else {
            throw .corruptH264("read an avcC", "The decoder configuration ends within a parameter set.")
        }
        var extensions: [[UInt8]] = []
        // Older writers leave out what High profiles add; four bytes of it are the format of the samples.
        if AVCDecoderConfiguration.hasSampleFormat(profile: bytes[1]), bytes.count - reader.index >= 4 {
            reader.index += 3
            extensions = reader.units(Int(reader.byte()))
            if !reader.isValid { extensions = [] }
        }
        do {
            try self.init(
                sequenceParameterSets: sequences, pictureParameterSets: pictures,
                sequenceParameterSetExtensions: extensions, lengthSize: lengthSize)
        } catch {
            throw .corruptH264("read an avcC", error.message)
        }
    }

    /// The `avcC`: the content of the box.
    public var bytes: [UInt8] {
        let first = sequenceParameterSets[0]
        var bytes: [UInt8] = [1, first[1], first[2], first[3], 0xFC | UInt8(lengthSize - 1)]
        func append(_ units: [[UInt8]], reserved: UInt8) {
            bytes.append(reserved | UInt8(units.count))
            for unit in units {
                bytes.append(UInt8(unit.count >> 8))
                bytes.append(UInt8(unit.count & 0xFF))
                bytes.append(contentsOf: unit)
            }
        }
        append(sequenceParameterSets, reserved: 0xE0)
        append(pictureParameterSets, reserved: 0)
        if AVCDecoderConfiguration.hasSampleFormat(profile: first[1]), let set = parameters {
            bytes.append(0xFC | UInt8(set.chromaFormat))
            bytes.append(0xF8 | UInt8(set.lumaBitDepth - 8))
            bytes.append(0xF8 | UInt8(set.chromaBitDepth - 8))
            append(sequenceParameterSetExtensions, reserved: 0)
        }
        return bytes
    }

    /// The parameter sets as a byte stream with start codes of four bytes, as it stands before a key frame.
    public var annexB: [UInt8] {
        var stream: [UInt8] = []
        for unit in sequenceParameterSets + sequenceParameterSetExtensions + pictureParameterSets {
            unit.withUnsafeBytes { bytes in
                if let unit = NALUnit(bytes) { AnnexB.append(unit, to: &stream) }
            }
        }
        return stream
    }

    /// The first sequence parameter set, parsed; nil when it is damaged.
    public var parameters: SequenceParameterSet? {
        sequenceParameterSets[0].withUnsafeBytes { bytes in
            NALUnit(bytes).flatMap { try? SequenceParameterSet($0) }
        }
    }

    private static func hasSampleFormat(profile: UInt8) -> Bool { ![66, 77, 88].contains(profile) }
}

/// Reads numbers and counted units; beyond the end zeros and no units.
private struct BoxReader {
    let bytes: UnsafeRawBufferPointer
    var index = 0
    var isValid = true

    mutating func byte() -> UInt8 {
        guard index < bytes.count else {
            isValid = false
            return 0
        }
        defer { index += 1 }
        return bytes[index]
    }

    mutating func units(_ count: Int) -> [[UInt8]] {
        var units: [[UInt8]] = []
        for _ in 0..<count {
            let length = Int(byte()) << 8 | Int(byte())
            guard isValid, length <= bytes.count - index else {
                isValid = false
                return []
            }
            units.append(Array(bytes[index..<index + length]))
            index += length
        }
        return units
    }
}
