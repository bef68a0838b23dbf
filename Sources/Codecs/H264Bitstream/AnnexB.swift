import CaptureCore

/// The byte stream format (ITU-T H.264, annex B): NAL units after start codes of three or four bytes.
///
/// The packets of a track with the codec `Codec.h264` are in this format, one access unit each.
public enum AnnexB {
    /// The start code that is written here: four bytes, which every reader takes.
    static let startCode: [UInt8] = [0, 0, 0, 1]

    /// The NAL units of a byte stream in their order. Zero bytes around them, and bytes before the first start code, are
    /// no part of any.
    ///
    /// - Parameter bytes: must stay valid while the units are in use.
    public static func units(in bytes: UnsafeRawBufferPointer) -> Units { Units(bytes) }

    /// The NAL units of a byte stream.
    public struct Units: Sequence, IteratorProtocol {
        private let bytes: UnsafeRawBufferPointer
        /// The first byte after a start code; nil after the last unit.
        private var start: Int?

        init(_ bytes: UnsafeRawBufferPointer) {
            self.bytes = bytes
            start = AnnexB.startCode(in: bytes, from: 0).map { $0 + 3 }
        }

        /// The next unit; nil after the last.
        public mutating func next() -> NALUnit? {
            while let start {
                let following = AnnexB.startCode(in: bytes, from: start)
                self.start = following.map { $0 + 3 }
                let end = AnnexB.endOfUnit(in: bytes, from: start, to: following ?? bytes.count)
                if let unit = NALUnit(UnsafeRawBufferPointer(rebasing: bytes[start..<end])) { return unit }
            }
            return nil
        }
    }

    /// The parameter sets of a byte stream, as one; empty when it has none.
    package static func parameterSets(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var sets: [UInt8] = []
        for unit in units(in: bytes) where [.sps, .pps, .spsExtension].contains(unit.type) { append(unit, to: &sets) }
        return sets
    }

    /// Appends a unit after a start code of four bytes.
    public static func append(_ unit: NALUnit, to stream: inout [UInt8]) {
        stream.append(contentsOf: startCode)
        stream.append(contentsOf: unit.bytes)
    }

    /// Appends what ``LengthPrefixed`` has as a byte stream with start codes of four bytes.
    ///
    /// - Parameters:
    ///   - bytes: units that each follow their length.
    ///   - lengthSize: the bytes of a length: 1, 2 or 4.
    ///   - stream: keeps its content.
    /// - Throws: `CodecError` with the code `corruptData` for a length beyond the bytes, and for a unit that contains a
    ///   start code, which would make two of it; then `stream` is as before.
    public static func append(
        lengthPrefixed bytes: UnsafeRawBufferPointer, lengthSize: Int = 4, to stream: inout [UInt8]
    ) throws(CodecError) {
        let count = stream.count
        do {
            try LengthPrefixed.forEachUnit(in: bytes, lengthSize: lengthSize) { unit throws(CodecError) in
                let end = endOfUnit(in: unit.bytes, from: 0, to: unit.bytes.count)
                guard let whole = NALUnit(UnsafeRawBufferPointer(rebasing: unit.bytes[..<end])) else { return }
                guard startCode(in: whole.bytes, from: 0) == nil else {
                    throw .corruptH264("read a NAL unit", "A NAL unit contains a start code; it is damaged.")
                }
                append(whole, to: &stream)
            }
        } catch {
            stream.removeSubrange(count...)
            throw error
        }
    }

    /// Where the next start code of three bytes begins; nil without one.
    static func startCode(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let base = bytes.baseAddress else { return nil }
        var index = start
        // Every third byte is enough: the last of a start code is 1, the two before are 0.
        while index + 2 < bytes.count {
            let third = base.load(fromByteOffset: index + 2, as: UInt8.self)
            if third > 1 {
                index += 3
            } else if third == 0 {
                index += 1
            } else if bytes[index] == 0, bytes[index + 1] == 0 {
                return index
            } else {
                index += 3
            }
        }
        return nil
    }

    /// A NAL unit never ends in a zero byte (7.4.1): such bytes belong to the stream.
    private static func endOfUnit(in bytes: UnsafeRawBufferPointer, from start: Int, to limit: Int) -> Int {
        var end = limit
        while end > start, bytes[end - 1] == 0 { end -= 1 }
        return end
    }
}

extension CodecError {
    /// Damaged H.264 data.
    static func corruptH264(_ operation: String, _ message: String) -> CodecError {
        CodecError(.corruptData, operation: operation, subject: "H.264", message: message)
    }
}
