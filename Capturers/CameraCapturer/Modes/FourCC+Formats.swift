import VideoCapturing

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
    /// H.264 with start codes; as packets only.
    public static let h264: FourCC = "H264"
    /// H.265 (HEVC) with start codes; as packets only.
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
