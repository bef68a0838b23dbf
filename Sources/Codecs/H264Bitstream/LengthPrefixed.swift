import CaptureCore

/// The format of MP4 and Matroska (ISO/IEC 14496-15, "AVCC"): each NAL unit after its length, a big-endian number.
public enum LengthPrefixed {
    /// Calls `body` for each NAL unit in its order. Units of no length are passed over.
    ///
    /// - Parameters:
    ///   - bytes: units that each follow their length.
    ///   - lengthSize: the bytes of a length: 1, 2 or 4, as ``AVCDecoderConfiguration/lengthSize`` states.
    ///   - body: takes a unit, which is valid during the call.
    /// - Throws: `CodecError` with the code `corruptData` for a length beyond the bytes, and what `body` throws.
    public static func forEachUnit(
        in bytes: UnsafeRawBufferPointer, lengthSize: Int = 4, _ body: (NALUnit) throws(CodecError) -> Void
    ) throws(CodecError) {
        guard [1, 2, 4].contains(lengthSize) else {
            throw CodecError(
                .invalidConfiguration, operation: "read NAL units", subject: "H.264",
                message: "The length of a NAL unit has 1, 2 or 4 bytes, not \(lengthSize).")
        }
        var index = 0
        while index < bytes.count {
            guard bytes.count - index >= lengthSize else {
                throw .corruptH264("read NAL units", "The data end within the length of a NAL unit.")
            }
            var length = 0
            for byte in bytes[index..<index + lengthSize] { length = length << 8 | Int(byte) }
            index += lengthSize
            guard length <= bytes.count - index else {
                throw .corruptH264(
                    "read NAL units",
                    "A NAL unit claims to have \(length) bytes, of which \(bytes.count - index) are there.")
            }
            if let unit = NALUnit(UnsafeRawBufferPointer(rebasing: bytes[index..<index + length])) { try body(unit) }
            index += length
        }
    }

    /// Appends a unit after its length of four bytes.
    public static func append(_ unit: NALUnit, to data: inout [UInt8]) {
        let length = UInt32(truncatingIfNeeded: unit.bytes.count).bigEndian
        withUnsafeBytes(of: length) { data.append(contentsOf: $0) }
        data.append(contentsOf: unit.bytes)
    }

    /// Appends the units of a byte stream, each after its length of four bytes: a packet as MP4 and Matroska hold it.
    ///
    /// Delimiters are left out, which these containers do not allow. Nothing is allocated when `data` has the capacity.
    ///
    /// - Parameters:
    ///   - annexB: a byte stream, as of a packet.
    ///   - keepsParameterSets: whether parameter sets stay in, for a container whose configuration may differ from them.
    ///   - data: keeps its content.
    public static func append(
        annexB: UnsafeRawBufferPointer, keepsParameterSets: Bool = true, to data: inout [UInt8]
    ) {
        for unit in AnnexB.units(in: annexB) where unit.type != .delimiter {
            if !keepsParameterSets, unit.type == .sps || unit.type == .pps || unit.type == .spsExtension { continue }
            append(unit, to: &data)
        }
    }
}
