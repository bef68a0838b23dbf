/// What a connection sends, by its first bytes.
enum StreamProbe: Equatable {
    /// H.264 behind start codes.
    case annexB
    /// H.264 behind lengths of four bytes.
    case lengthPrefixed
    /// Something that a demuxer reads, under FFmpeg's name of it.
    case container(String)

    /// The number of bytes after which there is always an answer.
    static let decisiveByteCount = 377
    /// The longest NAL unit that is taken for one.
    static let longestUnit = 8 << 20

    /// Looks at the first bytes.
    ///
    /// - Returns: what they are; nil when more are needed.
    /// - Throws: ``Unknown`` when they are nothing that is known.
    static func look(at bytes: some RandomAccessCollection<UInt8>, isComplete: Bool) throws(Unknown) -> StreamProbe? {
        let bytes = Array(bytes.prefix(decisiveByteCount))
        if let name = containerName(bytes) { return .container(name) }
        let isEnough = isComplete || bytes.count >= decisiveByteCount
        // Any number of zeros may precede a start code. One of three bytes may be a length of 256 to 511 as well.
        if let one = bytes.firstIndex(where: { $0 != 0 }), bytes[one] == 1, one >= 2 {
            guard isEnough || bytes.count > one + 2 else { return nil }
            if isH265(bytes[(one + 1)...]) { throw Unknown(first: [], name: "H.265") }
            if one > 2 || isPlausible(header: bytes.count > 3 ? bytes[3] : 7) { return .annexB }
        }
        if bytes.count >= 5, let length = unitLength(bytes), (2...longestUnit).contains(length) {
            guard isEnough || bytes.count >= 6 else { return nil }
            if isH265(bytes[4...]) { throw Unknown(first: [], name: "H.265") }
            if isPlausible(header: bytes[4]) { return .lengthPrefixed }
        }
        let mayBeTransportStream = bytes.first == 0x47
        let mayGrow = bytes.count < 5 || bytes.allSatisfy { $0 == 0 } || mayBeTransportStream
        guard !isEnough, mayGrow else { throw Unknown(first: Array(bytes.prefix(8))) }
        return nil
    }

    struct Unknown: Error, CustomStringConvertible {
        var first: [UInt8]
        /// What it is, where that is known.
        var name: String?
        var description: String {
            first.map { byte in
                let digits = String(byte, radix: 16, uppercase: true)
                return digits.count == 1 ? "0\(digits)" : digits
            }.joined(separator: " ")
        }
    }

    private static func containerName(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) { return "matroska" }
        if bytes.starts(with: [0x46, 0x4C, 0x56, 0x01]) { return "flv" }
        if bytes.count >= decisiveByteCount, [0, 188, 376].allSatisfy({ bytes[$0] == 0x47 }) { return "mpegts" }
        return nil
    }

    static func unitLength(_ bytes: some Collection<UInt8>) -> Int? {
        guard bytes.count >= 4 else { return nil }
        return bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    }

    /// Whether a NAL unit is one of H.265 (ITU-T H.265, 7.3.1.2) with which a stream begins: a parameter set, a delimiter
    /// or an SEI message. H.264 has none with these two bytes.
    private static func isH265(_ unit: ArraySlice<UInt8>) -> Bool {
        unit.count >= 2 && [0x40, 0x42, 0x44, 0x46, 0x4E].contains(unit[unit.startIndex])
            && unit[unit.startIndex + 1] == 1
    }

    /// An SPS, a PPS, a delimiter, an SEI message or a slice, with the forbidden bit unset.
    private static func isPlausible(header: UInt8) -> Bool {
        header & 0x80 == 0 && [1, 5, 6, 7, 8, 9].contains(header & 0x1F)
    }
}

/// Makes a byte stream with start codes of NAL units behind lengths of four bytes, which come in pieces.
struct LengthUnwrapper {
    private var length: [UInt8] = []
    private var left = 0
    private static let startCode: [UInt8] = [0, 0, 0, 1]

    init() { length.reserveCapacity(4) }

    /// A length that no NAL unit has: the stream is damaged, or something else.
    struct Implausible: Error {
        var length: Int
    }

    /// Hands out the pieces of a byte stream.
    mutating func unwrap(
        _ bytes: UnsafeRawBufferPointer, output: (UnsafeRawBufferPointer) -> Void
    ) throws(Implausible) {
        var rest = bytes[...]
        while let first = rest.first {
            if left > 0 {
                let piece = rest.prefix(left)
                output(UnsafeRawBufferPointer(rebasing: piece))
                left -= piece.count
                rest = rest.dropFirst(piece.count)
                continue
            }
            length.append(first)
            rest = rest.dropFirst()
            guard length.count == 4, let count = StreamProbe.unitLength(length) else { continue }
            length.removeAll(keepingCapacity: true)
            guard count <= StreamProbe.longestUnit else { throw Implausible(length: count) }
            left = count
            guard count > 0 else { continue }
            LengthUnwrapper.startCode.withUnsafeBytes { output($0) }
        }
    }
}
