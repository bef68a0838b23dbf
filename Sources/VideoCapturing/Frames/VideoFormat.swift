/// What the pictures of a capture look like: OpenTok's video format, with exact rates.
///
/// A value: every frame has its own, so none changes under a consumer's hands.
public struct VideoFormat: Sendable, Hashable {
    /// The largest side of a picture. VP8's is 16383 (RFC 6386, 9.1), and so is ours.
    public static let maximumSide = 16383

    /// A name for people, as in `NV12 640x480`.
    public var name: String
    /// How the samples lie in memory.
    public var pixelFormat: PixelFormat
    /// The bytes from one row to the next, for each plane; empty when not decided yet.
    public var bytesPerRow: PlaneList<Int>
    /// The width in pixels, before the orientation is applied.
    public var imageWidth: Int
    /// The height in pixels, before the orientation is applied.
    public var imageHeight: Int
    /// The shape of the pixels, before the orientation is applied.
    public var pixelAspect: PixelAspect
    /// The rate at which frames are expected or measured; nil when unknown.
    public var estimatedFramesPerSecond: FrameRate?
    /// The time from the light (or the request for the picture) to the delivery; nil when unknown.
    public var estimatedCaptureDelay: Duration?

    public init(
        _ pixelFormat: PixelFormat, width: Int, height: Int, bytesPerRow: PlaneList<Int> = [],
        pixelAspect: PixelAspect = .square, estimatedFramesPerSecond: FrameRate? = nil,
        estimatedCaptureDelay: Duration? = nil
    ) {
        self.name = "\(pixelFormat) \(width)x\(height)"
        self.pixelFormat = pixelFormat
        self.bytesPerRow = bytesPerRow
        self.imageWidth = width
        self.imageHeight = height
        self.pixelAspect = pixelAspect
        self.estimatedFramesPerSecond = estimatedFramesPerSecond
        self.estimatedCaptureDelay = estimatedCaptureDelay
    }

    /// 4:2:0 in three planes.
    public static func i420(width: Int, height: Int) -> VideoFormat { VideoFormat(.i420, width: width, height: height) }
    /// 4:2:0 in two planes.
    public static func nv12(width: Int, height: Int) -> VideoFormat { VideoFormat(.nv12, width: width, height: height) }
    /// Bytes A, R, G, B.
    public static func argb(width: Int, height: Int) -> VideoFormat { VideoFormat(.argb, width: width, height: height) }

    /// The same format in another size, with strides and name to match. The pixels keep their shape.
    public func resized(width: Int, height: Int) -> VideoFormat {
        VideoFormat(
            pixelFormat, width: width, height: height, pixelAspect: pixelAspect,
            estimatedFramesPerSecond: estimatedFramesPerSecond, estimatedCaptureDelay: estimatedCaptureDelay)
    }

    /// Throws `CaptureError` with the code `invalidConfiguration` when a side is not 1 to
    /// ``maximumSide`` pixels.
    public func validate() throws(CaptureError) {
        try VideoFormat.validate(width: imageWidth, height: imageHeight)
    }

    /// As ``validate()``, without a format and its name: for each picture.
    static func validate(width: Int, height: Int) throws(CaptureError) {
        let sides = 1...maximumSide
        guard sides.contains(width), sides.contains(height) else {
            throw CaptureError(
                .invalidConfiguration, operation: "check the picture size", subject: "\(width)x\(height)",
                message: "Each side of a picture has 1 to \(maximumSide) pixels.")
        }
    }
}
