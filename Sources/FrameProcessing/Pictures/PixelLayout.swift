import VideoCapturing

/// The pixel formats by their processing: one family is one set of libyuv functions.
enum PixelLayout {
    /// 4:2:0, luma, then two planes of chroma.
    case planar
    /// 4:2:0, luma, then one plane of chroma pairs.
    case semiplanar
    /// 4:2:2, luma, then one plane of chroma pairs.
    case semiplanar422
    /// 4:2:2 in one plane.
    case packed
    /// Four bytes a pixel.
    case rgb32
    /// Three bytes a pixel.
    case rgb24
    /// JPEG.
    case compressed
}

extension PixelFormat {
    var layout: PixelLayout {
        switch self {
        case .i420, .yv12: .planar
        case .nv12, .nv21: .semiplanar
        case .nv16: .semiplanar422
        case .yuy2, .uyvy: .packed
        case .argb, .bgra, .abgr, .rgba: .rgb32
        case .rgb24, .bgr24: .rgb24
        case .mjpeg: .compressed
        }
    }

    /// Whether V comes before U.
    var isChromaSwapped: Bool { self == .yv12 || self == .nv21 }

    /// Whether there are functions to scale and to turn it.
    var isGeometric: Bool {
        switch layout {
        case .planar, .semiplanar, .rgb32: true
        case .semiplanar422, .packed, .rgb24, .compressed: false
        }
    }

    /// Whether a conversion can produce it.
    var isConversionTarget: Bool { isGeometric || layout == .rgb24 }

    /// The format that stands in for one that cannot be scaled and turned.
    var geometricSubstitute: PixelFormat {
        isGeometric ? self : isRGB ? .argb : .nv12
    }

    /// Where red, green, blue and alpha are among the four bytes of a pixel.
    var componentOffsets: (red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8) {
        switch self {
        case .argb: (1, 2, 3, 0)
        case .abgr: (3, 2, 1, 0)
        case .rgba: (0, 1, 2, 3)
        default: (2, 1, 0, 3)
        }
    }
}
