import VideoCapturing

extension CameraMode {
    /// The cost of converting a camera's frames to NV12; the raw value is the weight in the choice of a mode.
    public enum ConversionCost: Int, Sendable, Hashable, Comparable, CaseIterable {
        /// NV12 already: frames are lent in the driver's own memory.
        case none = 0
        /// 4:2:0 in another order: chroma is rearranged.
        case reorder = 1
        /// 4:2:2: half of the chroma is dropped.
        case subsample = 2
        /// RGB: every pixel is computed.
        case color = 4
        /// JPEG: every frame is decoded.
        case decode = 8
        /// A raw sensor's, a gray or a vendor's format: decoded by libv4lconvert.
        case library = 16

        public static func < (left: CameraMode.ConversionCost, right: CameraMode.ConversionCost) -> Bool {
            left.rawValue < right.rawValue
        }
    }
}

/// A supported pixel format of V4L2, and its handling.
package struct CaptureFormat: Sendable, Hashable {
    /// The format's code in V4L2.
    package let fourCC: FourCC
    /// The pixel format of the driver's buffers; nil for formats that only libv4lconvert can read.
    package let pixelFormat: PixelFormat?
    /// The cost of converting to NV12.
    package let cost: CameraMode.ConversionCost
    /// The bits per pixel; for compressed formats a rough estimate, since no driver reports it.
    package let bitsPerPixel: Int

    /// Whether the samples are red, green and blue rather than luma and chroma. False for formats of libv4lconvert.
    package var isRGB: Bool { pixelFormat?.isRGB ?? false }

    /// The handling of a format without libv4lconvert; nil when it is unsupported.
    package static func of(_ fourCC: FourCC) -> CaptureFormat? {
        let known: (PixelFormat, CameraMode.ConversionCost, Int)
        switch fourCC {
        case .nv12, .nm12: known = (.nv12, .none, 12)
        case .nv21, .nm21: known = (.nv21, .reorder, 12)
        case .yu12, .ym12: known = (.i420, .reorder, 12)
        case .yv12, .ym21: known = (.yv12, .reorder, 12)
        case .yuyv: known = (.yuy2, .subsample, 16)
        case .uyvy: known = (.uyvy, .subsample, 16)
        case .nv16, .nm16: known = (.nv16, .subsample, 16)
        case .rgb24: known = (.rgb24, .color, 24)
        case .bgr24: known = (.bgr24, .color, 24)
        case .abgr32, .xbgr32, .bgr32: known = (.bgra, .color, 32)
        case .argb32, .xrgb32, .rgb32: known = (.argb, .color, 32)
        case .bgra32, .bgrx32: known = (.abgr, .color, 32)
        case .rgba32, .rgbx32: known = (.rgba, .color, 32)
        case .mjpeg, .jpeg: known = (.mjpeg, .decode, 2)
        default: return nil
        }
        return CaptureFormat(fourCC: fourCC, pixelFormat: known.0, cost: known.1, bitsPerPixel: known.2)
    }

    /// The handling of a format, with libv4lconvert where it is needed; nil when the format is unsupported.
    ///
    /// - Parameter isConvertible: whether libv4lconvert reads a format.
    static func of(_ fourCC: FourCC, isConvertible: (FourCC) -> Bool) -> CaptureFormat? {
        if let format = of(fourCC) { return format }
        guard isConvertible(fourCC) else { return nil }
        let isOneByte = [.grey, .sbggr8, .sgbrg8, .sgrbg8, .srggb8].contains(fourCC)
        return CaptureFormat(fourCC: fourCC, pixelFormat: nil, cost: .library, bitsPerPixel: isOneByte ? 8 : 16)
    }

    /// The handling of a format whose packets are passed on as they are; nil for one without packets.
    static func encoded(_ fourCC: FourCC) -> CaptureFormat? {
        guard let codec = Codec(fourCC) else { return nil }
        return CaptureFormat(
            fourCC: fourCC, pixelFormat: codec == .jpeg ? .mjpeg : nil, cost: .none,
            bitsPerPixel: codec == .jpeg ? 2 : 1)
    }

    /// The bytes per second at a size and rate; rounded up, and clamped to `Int`.
    func bytesPerSecond(_ size: PixelSize, rate: FrameRate) -> Int {
        CaptureFormat.bytesPerSecond(size, bitsPerPixel: bitsPerPixel, rate: rate)
    }

    static func bytesPerSecond(_ size: PixelSize, bitsPerPixel: Int, rate: FrameRate) -> Int {
        let bits = Int128(size.width) * Int128(size.height) * Int128(bitsPerPixel) * Int128(rate.frames)
        let divisor = Int128(rate.seconds) * 8
        return Int(clamping: (bits + divisor - 1) / divisor)
    }
}

extension Codec {
    /// The codec of a camera's compressed format; nil for other formats.
    init?(_ fourCC: FourCC) {
        switch fourCC {
        case .h264: self = .h264
        case .hevc: self = .hevc
        case .mjpeg, .jpeg: self = .jpeg
        default: return nil
        }
    }

    /// H.265 (ITU-T H.265), as FFmpeg names it.
    static let hevc = Codec(rawValue: "hevc")
}
