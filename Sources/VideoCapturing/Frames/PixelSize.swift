/// A size in pixels.
public struct PixelSize: Sendable, Hashable {
    /// Pixels in a row.
    public var width: Int
    /// Rows.
    public var height: Int

    /// The size of these sides.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// Width and height exchanged, as by a quarter turn.
    public var transposed: PixelSize { PixelSize(width: height, height: width) }

    /// The size of a picture with pixels of this shape, in square pixels, as players show it: one side is larger, and even.
    package func squared(_ aspect: PixelAspect) -> PixelSize {
        func scaled(_ side: Int, _ numerator: UInt16, _ denominator: UInt16) -> Int {
            let half = (side * Int(numerator) + Int(denominator)) / (2 * Int(denominator))
            return min(half * 2, VideoFormat.maximumSide / 2 * 2)
        }
        if aspect.isSquare { return self }
        return aspect.width > aspect.height
            ? PixelSize(width: scaled(width, aspect.width, aspect.height), height: height)
            : PixelSize(width: width, height: scaled(height, aspect.height, aspect.width))
    }

    /// Whether each side has 1 to `VideoFormat.maximumSide` pixels. Drivers and files may say anything.
    package var isValid: Bool {
        let sides = 1...VideoFormat.maximumSide
        return sides.contains(width) && sides.contains(height)
    }

    /// The number of pixels. Only for valid sizes: others may overflow.
    package var pixelCount: Int { width * height }
}

extension PixelSize: CustomStringConvertible {
    /// `640x480`.
    public var description: String { "\(width)x\(height)" }
}

/// The sizes that OpenTok's and AVFoundation's session presets name.
extension PixelSize {
    /// 352×288: CIF.
    public static let cif352x288 = PixelSize(width: 352, height: 288)
    /// 640×480: VGA.
    public static let vga640x480 = PixelSize(width: 640, height: 480)
    /// 1280×720.
    public static let hd1280x720 = PixelSize(width: 1280, height: 720)
    /// 1920×1080.
    public static let hd1920x1080 = PixelSize(width: 1920, height: 1080)
    /// 3840×2160.
    public static let uhd3840x2160 = PixelSize(width: 3840, height: 2160)
}
