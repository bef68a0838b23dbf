/// The header of an IVF file.
struct IVFHeader {
    static let magic = "DKIF"
    /// The bytes that every header has; those beyond are passed over.
    static let leastLength = 32

    let length: Int
    let fourCC: String
    let width: Int
    let height: Int
    /// A timestamp counts `numerator` / `denominator` seconds.
    let denominator: UInt32
    let numerator: UInt32
    /// Packets, or time-base units: see ``IVFWriter/HeaderLength``.
    let statedLength: UInt32

    /// Reads the first 32 bytes.
    init(_ bytes: UnsafeRawBufferPointer, path: String) throws(MediaFileError) {
        guard bytes.count >= IVFHeader.leastLength, bytes.starts(with: IVFHeader.magic.utf8) else {
            throw IVFHeader.corrupt(path, "The file does not begin with an IVF header; check that it is an IVF file.")
        }
        length = Int(bytes.littleEndian(at: 6, UInt16.self))
        fourCC = String(
            decoding: bytes[8..<12].map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
        width = Int(bytes.littleEndian(at: 12, UInt16.self))
        height = Int(bytes.littleEndian(at: 14, UInt16.self))
        denominator = bytes.littleEndian(at: 16, UInt32.self)
        numerator = bytes.littleEndian(at: 20, UInt32.self)
        statedLength = bytes.littleEndian(at: 24, UInt32.self)
        guard length >= IVFHeader.leastLength else {
            throw IVFHeader.corrupt(path, "The IVF header states that it is shorter than it can be.")
        }
        guard denominator > 0, numerator > 0 else {
            throw IVFHeader.corrupt(path, "The IVF header states no time base, so the frames have no time.")
        }
    }

    /// The exact time of a timestamp, to the attosecond; clamped to 64 bits of nanoseconds, as ``MediaTime`` holds them.
    func time(of timestamp: Int64) -> Duration {
        let product = Int128(timestamp) * Int128(numerator)
        let (seconds, rest) = product.quotientAndRemainder(dividingBy: Int128(denominator))
        let attoseconds = rest * 1_000_000_000_000_000_000 / Int128(denominator)
        let time = Duration(
            secondsComponent: Int64(clamping: seconds), attosecondsComponent: Int64(clamping: attoseconds))
        return min(max(time, .nanoseconds(Int64.min)), .nanoseconds(Int64.max))
    }

    private static func corrupt(_ path: String, _ message: String) -> MediaFileError {
        MediaFileError(.corruptData, operation: "read the file", path: path, message: message)
    }
}

extension UnsafeRawBufferPointer {
    /// A number whose least significant byte comes first.
    func littleEndian<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, _ type: Number.Type) -> Number {
        Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: type))
    }
}
