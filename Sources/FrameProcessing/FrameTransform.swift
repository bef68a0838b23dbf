import VideoCapturing

/// What is to become of a picture: cut out a part, bring it to a size, turn it upright, mirror it, convert
/// it. Each step may be left out; ``FrameProcessor`` does those asked for in the fewest passes.
public struct FrameTransform: Sendable, Hashable {
    /// The part to keep, in pixels of the picture as it lies in memory, before it is turned; nil for all.
    ///
    /// Any offset is right to the pixel for luma and for RGB. Chroma of 4:2:0 and 4:2:2 has half as many
    /// samples; its offset is rounded down, so at an odd offset chroma lies half a chroma sample further
    /// to the left (or top) than it did.
    public var crop: PixelRect?
    /// The size of the result, after it was turned; nil to keep that of the part.
    public var size: PixelSize?
    /// How pixels are mixed for a new size.
    public var filter: ScaleFilter
    /// Whether to turn the picture by the frame's orientation.
    public var appliesOrientation: Bool
    /// Whether to exchange left and right, as seen when upright.
    public var mirrors: Bool
    /// The format of the result; nil to keep it. 4:2:2, RGB24 and MJPEG cannot be scaled or turned, nor 4:2:2
    /// and MJPEG be cut; where nothing else is asked for they become NV12, and RGB24 becomes ARGB.
    public var pixelFormat: PixelFormat?
    /// The matrix and range of the result; nil to keep the frame's, for which RGB becomes luma and chroma
    /// of limited range. An RGB result is of full range always.
    public var color: ColorDescription?

    public init(
        crop: PixelRect? = nil, size: PixelSize? = nil, filter: ScaleFilter = .box, appliesOrientation: Bool = false,
        mirrors: Bool = false, pixelFormat: PixelFormat? = nil, color: ColorDescription? = nil
    ) {
        self.crop = crop
        self.size = size
        self.filter = filter
        self.appliesOrientation = appliesOrientation
        self.mirrors = mirrors
        self.pixelFormat = pixelFormat
        self.color = color
    }
}
