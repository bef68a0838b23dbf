/// How the samples of a picture lie in memory.
///
/// The names of packed RGB formats give the order of the bytes in memory: ``argb`` is A, R, G, B, as
/// in OpenTok, FFmpeg (`argb`), GStreamer (`ARGB`) and `kCVPixelFormatType_32ARGB`. libyuv names the
/// same layouts by little-endian word, the other way round: its "ARGB" is ``bgra`` here.
public enum PixelFormat: String, Sendable, Hashable, CaseIterable {
    /// 4:2:0, three planes: Y, U, V.
    case i420 = "I420"
    /// 4:2:0, two planes: Y, and U and V interleaved.
    case nv12 = "NV12"
    /// 8 bits each of alpha, red, green, blue; bytes in this order.
    case argb = "ARGB"
    /// 4:2:0, two planes: Y, and V and U interleaved.
    case nv21 = "NV21"
    /// 4:2:0, three planes: Y, V, U.
    case yv12 = "YV12"
    /// 4:2:2 packed: Y0, U, Y1, V.
    case yuy2 = "YUY2"
    /// 4:2:2 packed: U, Y0, V, Y1.
    case uyvy = "UYVY"
    /// 4:2:2, two planes: Y, and U and V interleaved.
    case nv16 = "NV16"
    /// 8 bits each of blue, green, red, alpha; bytes in this order.
    case bgra = "BGRA"
    /// 8 bits each of alpha, blue, green, red; bytes in this order.
    case abgr = "ABGR"
    /// 8 bits each of red, green, blue, alpha; bytes in this order.
    case rgba = "RGBA"
    /// 8 bits each of red, green, blue; bytes in this order.
    case rgb24 = "RGB24"
    /// 8 bits each of blue, green, red; bytes in this order.
    case bgr24 = "BGR24"
    /// One JPEG picture; a single plane of as many bytes as the picture has.
    case mjpeg = "MJPEG"

    /// Whether the samples are red, green and blue rather than luma and chroma.
    public var isRGB: Bool {
        switch self {
        case .argb, .bgra, .abgr, .rgba, .rgb24, .bgr24: true
        case .i420, .nv12, .nv21, .yv12, .yuy2, .uyvy, .nv16, .mjpeg: false
        }
    }

    /// Whether the bytes must be decoded before they are samples.
    public var isCompressed: Bool { self == .mjpeg }

    /// The number of planes, 1 to 3.
    public var planeCount: Int {
        switch self {
        case .i420, .yv12: 3
        case .nv12, .nv21, .nv16: 2
        case .argb, .yuy2, .uyvy, .bgra, .abgr, .rgba, .rgb24, .bgr24, .mjpeg: 1
        }
    }

    /// The bytes of samples in one row of a plane, without padding, for a picture `width` pixels wide.
    /// Chroma of odd widths is rounded up. Zero for compressed formats, whose size is not known.
    public func rowBytes(ofPlane plane: Int, width: Int) -> Int {
        precondition(plane < planeCount, "\(self) has \(planeCount) planes")
        switch self {
        case .i420, .yv12: return plane == 0 ? width : (width + 1) / 2
        case .nv12, .nv21, .nv16: return plane == 0 ? width : (width + 1) / 2 * 2
        case .yuy2, .uyvy: return (width + 1) / 2 * 4
        case .argb, .bgra, .abgr, .rgba: return width * 4
        case .rgb24, .bgr24: return width * 3
        case .mjpeg: return 0
        }
    }

    /// The rows of a plane for a picture `height` pixels high; chroma of odd heights is rounded up.
    public func rows(ofPlane plane: Int, height: Int) -> Int {
        precondition(plane < planeCount, "\(self) has \(planeCount) planes")
        switch self {
        case .i420, .yv12, .nv12, .nv21: return plane == 0 ? height : (height + 1) / 2
        case .argb, .yuy2, .uyvy, .nv16, .bgra, .abgr, .rgba, .rgb24, .bgr24: return height
        case .mjpeg: return 1
        }
    }

    /// The bytes of a whole picture without padding, plane after plane, as raw video files hold it.
    public func packedByteCount(width: Int, height: Int) -> Int {
        (0..<planeCount).reduce(0) {
            $0 + rowBytes(ofPlane: $1, width: width) * rows(ofPlane: $1, height: height)
        }
    }
}

extension PixelFormat: CustomStringConvertible {
    public var description: String { rawValue }
}

extension ColorDescription {
    /// The color matrix and range that a picture in `pixelFormat` is assumed to have where they are not stated.
    public static func assumed(for pixelFormat: PixelFormat) -> ColorDescription {
        pixelFormat.isRGB || pixelFormat == .mjpeg ? .jpeg : .bt601
    }
}
