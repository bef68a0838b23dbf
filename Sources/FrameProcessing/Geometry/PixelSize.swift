/// The size of a picture in pixels.
public struct PixelSize: Sendable, Hashable {
    public var width: Int
    public var height: Int

    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// Width and height exchanged, as by a quarter turn.
    public var transposed: PixelSize { PixelSize(width: height, height: width) }

    var pixelCount: Int { width * height }
}
