/// The shape of a pixel: its width and its height in any unit. Pixels of analog and of anamorphic video are not square.
///
/// A picture of 720x576 pixels of the shape 64:45 is shown as wide as one of 1024x576 square pixels.
public struct PixelAspect: Sendable, Hashable {
    /// The width in any unit.
    public let width: UInt16
    /// The height in the same unit.
    public let height: UInt16

    /// Square.
    public static let square = PixelAspect()

    /// The ratio of two numbers in its lowest terms; to 16 bits where it needs more, as H.264 can state it.
    ///
    /// Nil unless both are positive, and for a ratio beyond 1:10 and 10:1, which no video has: damaged headers state such
    /// ones.
    public init?(width: Int, height: Int) {
        guard width > 0, height > 0, (width - 1) / 10 < height, (height - 1) / 10 < width else { return nil }
        var (larger, smaller) = (max(width, height), min(width, height))
        while smaller > 0 { (larger, smaller) = (smaller, larger % smaller) }
        var (width, height) = (width / larger, height / larger)
        while width > UInt16.max || height > UInt16.max { (width, height) = (width / 2, height / 2) }
        self.width = UInt16(width)
        self.height = UInt16(height)
    }

    private init() { (width, height) = (1, 1) }

    /// Whether the pixel is as wide as it is high.
    public var isSquare: Bool { width == height }

    /// The width of a pixel of height 1.
    package var ratio: Double { Double(width) / Double(height) }

    /// The shape after a quarter turn.
    public var transposed: PixelAspect { PixelAspect(width: Int(height), height: Int(width)) ?? .square }
}

extension PixelAspect: CustomStringConvertible {
    /// `64:45`.
    public var description: String { "\(width):\(height)" }
}
