private let backslash: UInt8 = 0x5C

/// The four-character code of a codec in a file, or of a camera's pixel format, in the order of its bytes.
///
/// The first character is the lowest byte. Any 32 bits are valid, since a file or a driver may state any. In V4L2 the
/// highest bit marks the big-endian variant of a pixel format.
/// Source: V4L2 specification, "Image Formats"; `v4l2_fourcc` in `linux/videodev2.h`.
public struct FourCC: RawRepresentable, Hashable, Sendable {
    /// The code as a number, its first character in the lowest byte.
    public let rawValue: UInt32

    /// The code with this number.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Reads a name such as `YUYV`. A name of fewer than four characters is padded with spaces, and `-BE` at the end
    /// stands for the big-endian variant. Nil for anything else, such as a backslash, with which ``description`` writes
    /// bytes that have no character.
    public init?(_ text: String) {
        let isBigEndian = text.utf8.count > 4 && text.hasSuffix("-BE")
        let name = isBigEndian ? text.utf8.dropLast(3) : text.utf8[...]
        guard (1...4).contains(name.count), name.allSatisfy({ 0x20...0x7E ~= $0 && $0 != backslash }),
            name.first != 0x20
        else {
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
    /// A literal of one to four printable ASCII characters; any other is a programming error.
    public init(stringLiteral value: String) {
        guard let code = FourCC(value) else { preconditionFailure("\(value) does not name a pixel format") }
        self = code
    }
}

extension FourCC: CustomStringConvertible {
    /// `YUYV`. Without the padding of a short name; unprintable bytes as `\x00`; the big-endian variant of `Y16` is
    /// `Y16-BE`.
    public var description: String {
        var bytes = (0..<4).map { UInt8(truncatingIfNeeded: rawValue >> (UInt32($0) * 8)) }
        let isBigEndian = bytes[3] & 0x80 != 0
        bytes[3] &= 0x7F
        // One character and `-BE` would be four characters, which are a code of their own.
        while bytes.count > (isBigEndian ? 2 : 1), bytes.last == 0x20 { bytes.removeLast() }
        let text = bytes.map { byte in
            if 0x21...0x7E ~= byte, byte != backslash { return String(UnicodeScalar(byte)) }
            let digits = String(byte, radix: 16, uppercase: true)
            return "\\x\(digits.count == 1 ? "0" : "")\(digits)"
        }
        return text.joined() + (isBigEndian ? "-BE" : "")
    }
}
