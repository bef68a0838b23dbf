/// The four characters that name a pixel format of V4L2, in the order of their bytes.
///
/// The first character is the lowest byte; the highest bit marks the big-endian variant of a format. Any 32 bits are
/// valid, since drivers may say anything.
/// Source: V4L2 specification, "Image Formats"; `v4l2_fourcc` in `linux/videodev2.h`.
public struct FourCC: RawRepresentable, Hashable, Sendable {
    /// The number that the driver knows.
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Reads a name as people write it, as in `YUYV`; one of fewer than four characters is filled up with spaces, and
    /// `-BE` at the end stands for the big-endian variant. Nil for anything else.
    public init?(_ text: String) {
        let isBigEndian = text.utf8.count > 4 && text.hasSuffix("-BE")
        let name = isBigEndian ? text.utf8.dropLast(3) : text.utf8[...]
        guard (1...4).contains(name.count), name.allSatisfy({ 0x20...0x7E ~= $0 }), name.first != 0x20 else {
            return nil
        }
        var value: UInt32 = 0x2020_2020
        for (index, byte) in name.enumerated() {
            let shift = UInt32(index) * 8
            value = value & ~(0xFF << shift) | UInt32(byte) << shift
        }
        rawValue = isBigEndian ? value | 1 << 31 : value
    }
}

extension FourCC: ExpressibleByStringLiteral {
    /// One to four printable ASCII characters; anything else in a literal is a programmer's error.
    public init(stringLiteral value: String) {
        guard let code = FourCC(value) else { preconditionFailure("\(value) does not name a pixel format") }
        self = code
    }
}

extension FourCC: CustomStringConvertible {
    /// `YUYV`. Without the spaces that fill a short name up; bytes that cannot be printed as in `\x00`; the big-endian
    /// variant of `Y16` is `Y16-BE`.
    public var description: String {
        var bytes = (0..<4).map { UInt8(truncatingIfNeeded: rawValue >> (UInt32($0) * 8)) }
        let isBigEndian = bytes[3] & 0x80 != 0
        bytes[3] &= 0x7F
        while bytes.count > 1, bytes.last == 0x20 { bytes.removeLast() }
        let text = bytes.map { byte in
            if 0x21...0x7E ~= byte { return String(UnicodeScalar(byte)) }
            let digits = String(byte, radix: 16, uppercase: true)
            return "\\x\(digits.count == 1 ? "0" : "")\(digits)"
        }
        return text.joined() + (isBigEndian ? "-BE" : "")
    }
}
