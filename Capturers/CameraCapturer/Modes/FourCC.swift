/// The four-character code of a pixel format in V4L2, in the order of its bytes.
///
/// The first character is the lowest byte; the highest bit marks the big-endian variant of a format. Any 32 bits are
/// valid, since a driver may report any.
/// Source: V4L2 specification, "Image Formats"; `v4l2_fourcc` in `linux/videodev2.h`.
public struct FourCC: RawRepresentable, Hashable, Sendable {
    /// The number in the driver's interface.
    public let rawValue: UInt32

    /// The code with this number.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Reads a name such as `YUYV`. A name of fewer than four characters is padded with spaces, and `-BE` at the end
    /// stands for the big-endian variant. Nil for anything else.
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
        while bytes.count > 1, bytes.last == 0x20 { bytes.removeLast() }
        let text = bytes.map { byte in
            if 0x21...0x7E ~= byte { return String(UnicodeScalar(byte)) }
            let digits = String(byte, radix: 16, uppercase: true)
            return "\\x\(digits.count == 1 ? "0" : "")\(digits)"
        }
        return text.joined() + (isBigEndian ? "-BE" : "")
    }
}

/// The formats of cameras, by "Image Formats" of the V4L2 specification.
extension FourCC {
    /// 4:2:0: Y, and Cb and Cr interleaved.
    public static let nv12: FourCC = "NV12"
    /// As ``nv12``, each plane in separate memory.
    public static let nm12: FourCC = "NM12"
    /// 4:2:0: Y, and Cr and Cb interleaved.
    public static let nv21: FourCC = "NV21"
    /// As ``nv21``, each plane in separate memory.
    public static let nm21: FourCC = "NM21"
    /// 4:2:0 in three planes: Y, Cb, Cr.
    public static let yu12: FourCC = "YU12"
    /// As ``yu12``, each plane in separate memory.
    public static let ym12: FourCC = "YM12"
    /// 4:2:0 in three planes: Y, Cr, Cb.
    public static let yv12: FourCC = "YV12"
    /// As ``yv12``, each plane in separate memory.
    public static let ym21: FourCC = "YM21"

    /// 4:2:2 packed: Y0, Cb, Y1, Cr.
    public static let yuyv: FourCC = "YUYV"
    /// 4:2:2 packed: Cb, Y0, Cr, Y1.
    public static let uyvy: FourCC = "UYVY"
    /// 4:2:2 packed: Y0, Cr, Y1, Cb.
    public static let yvyu: FourCC = "YVYU"
    /// 4:2:2 packed: Cr, Y0, Cb, Y1.
    public static let vyuy: FourCC = "VYUY"
    /// 4:2:2: Y, and Cb and Cr interleaved.
    public static let nv16: FourCC = "NV16"
    /// As ``nv16``, each plane in separate memory.
    public static let nm16: FourCC = "NM16"

    /// Bytes R, G, B.
    public static let rgb24: FourCC = "RGB3"
    /// Bytes B, G, R.
    public static let bgr24: FourCC = "BGR3"
    /// Bytes B, G, R, A.
    public static let abgr32: FourCC = "AR24"
    /// Bytes B, G, R, and one unused.
    public static let xbgr32: FourCC = "XR24"
    /// Bytes A, R, G, B.
    public static let argb32: FourCC = "BA24"
    /// Bytes R, G, B after one unused.
    public static let xrgb32: FourCC = "BX24"
    /// Bytes A, B, G, R.
    public static let bgra32: FourCC = "RA24"
    /// Bytes B, G, R after one unused.
    public static let bgrx32: FourCC = "RX24"
    /// Bytes R, G, B, A.
    public static let rgba32: FourCC = "AB24"
    /// Bytes R, G, B, and one unused.
    public static let rgbx32: FourCC = "XB24"
    /// Bytes R, G, B after one of alpha or unused; deprecated in V4L2 but still in use.
    public static let rgb32: FourCC = "RGB4"
    /// Bytes B, G, R, and one of alpha or unused; deprecated in V4L2 but still in use.
    public static let bgr32: FourCC = "BGR4"

    /// JPEG images, possibly without Huffman tables.
    public static let mjpeg: FourCC = "MJPG"
    /// JPEG images.
    public static let jpeg: FourCC = "JPEG"
    /// H.264 with start codes; not supported.
    public static let h264: FourCC = "H264"
    /// HEVC; not supported.
    public static let hevc: FourCC = "HEVC"

    /// Gray, 8 bits.
    public static let grey: FourCC = "GREY"
    /// Gray, 16 bits, little-endian.
    public static let y16: FourCC = "Y16 "
    /// A raw sensor's 8 bits: B G, G R.
    public static let sbggr8: FourCC = "BA81"
    /// A raw sensor's 8 bits: G B, R G.
    public static let sgbrg8: FourCC = "GBRG"
    /// A raw sensor's 8 bits: G R, B G.
    public static let sgrbg8: FourCC = "GRBG"
    /// A raw sensor's 8 bits: R G, G B.
    public static let srggb8: FourCC = "RGGB"
    /// A raw sensor's 10 bits in two bytes: B G, G R.
    public static let sbggr10: FourCC = "BG10"
}
