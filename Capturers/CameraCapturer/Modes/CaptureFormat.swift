import VideoCapturing

/// What it takes to make NV12 of a camera's pictures; the number is the weight in the choice of a mode.
public enum ConversionCost: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// NV12 already: the driver's own memory is handed out.
    case none = 0
    /// 4:2:0 in another order: chroma is moved.
    case reorder = 1
    /// 4:2:2: half of the chroma is dropped.
    case subsample = 2
    /// RGB: every pixel is computed.
    case color = 4
    /// JPEG: every picture is decoded.
    case decode = 8
    /// A raw sensor's, grey, or a vendor's format: decoded by libv4lconvert.
    case library = 16

    public static func < (left: ConversionCost, right: ConversionCost) -> Bool { left.rawValue < right.rawValue }
}

/// A pixel format of V4L2 that can be taken, and how.
public struct CaptureFormat: Sendable, Hashable {
    /// The format's name in V4L2.
    public let fourCC: FourCC
    /// What is in the driver's buffers; nil for what only libv4lconvert can read.
    public let pixelFormat: PixelFormat?
    /// What it takes to make NV12 of it.
    public let cost: ConversionCost
    /// The bits of one pixel; for JPEG a rough estimate, since no driver says.
    public let bitsPerPixel: Int

    /// Whether the samples are red, green and blue rather than luma and chroma. False for what libv4lconvert reads.
    public var isRGB: Bool { pixelFormat?.isRGB ?? false }

    /// How a format is taken without libv4lconvert; nil when it cannot be.
    public static func of(_ fourCC: FourCC) -> CaptureFormat? {
        let known: (PixelFormat, ConversionCost, Int)
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

    /// How a format is taken, also with the help of libv4lconvert; nil when it cannot be.
    ///
    /// - Parameter isConvertible: whether libv4lconvert reads a format.
    static func of(_ fourCC: FourCC, isConvertible: (FourCC) -> Bool) -> CaptureFormat? {
        if let format = of(fourCC) { return format }
        guard isConvertible(fourCC) else { return nil }
        let isOneByte = [.grey, .sbggr8, .sgbrg8, .sgrbg8, .srggb8].contains(fourCC)
        return CaptureFormat(fourCC: fourCC, pixelFormat: nil, cost: .library, bitsPerPixel: isOneByte ? 8 : 16)
    }

    /// The bytes of so many pictures a second; rounded up, and at most the largest number there is.
    func bytesPerSecond(_ size: PixelSize, rate: FrameRate) -> Int {
        CaptureFormat.bytesPerSecond(size, bitsPerPixel: bitsPerPixel, rate: rate)
    }

    static func bytesPerSecond(_ size: PixelSize, bitsPerPixel: Int, rate: FrameRate) -> Int {
        let bits = Int128(size.width) * Int128(size.height) * Int128(bitsPerPixel) * Int128(rate.frames)
        let divisor = Int128(rate.seconds) * 8
        return Int(clamping: (bits + divisor - 1) / divisor)
    }
}
