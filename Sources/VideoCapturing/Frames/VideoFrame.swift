/// One picture of a capture with all its attributes.
///
/// A value that holds one reference to its pixels. Store the value to keep a frame: it stays valid,
/// and nothing is copied.
public struct VideoFrame: AttributedFrame {
    /// The pixels.
    public var buffer: PixelBuffer
    /// The same picture as its source had it (``PixelFormat/mjpeg``), for consumers that pass it on unchanged; nil
    /// without one, or when ``buffer`` is compressed itself.
    public var compressed: PixelBuffer?
    /// When the picture was taken, on the monotonic clock. Strictly increases from frame to frame.
    public var timestamp: MediaTime
    /// Counts the frames of a capture; it skips by the number of lost frames.
    public var sequenceNumber: UInt64
    /// What else is known of it: orientation, color, rate, delay, metadata.
    public var attributes: FrameAttributes
    /// The only parts that differ from the frame before, in pixels of the buffer; nil when unknown, which
    /// means all of it may; empty when nothing does.
    public var damage: [PixelRect]?
    /// Whether this frame shows the picture of the frame before it again, to keep a minimum rate or
    /// while the capture is muted.
    public var isRepeat: Bool

    /// The width in pixels, before the orientation is applied.
    public var width: Int { buffer.width }
    /// The height in pixels, before the orientation is applied.
    public var height: Int { buffer.height }
    /// How the samples lie in memory.
    public var pixelFormat: PixelFormat { buffer.pixelFormat }

    /// The picture as JPEG, where the source had it so; nil when it must be encoded.
    public var jpeg: PixelBuffer? { pixelFormat == .mjpeg ? buffer : compressed }

    /// The size of the picture for display: upright, in square pixels.
    package var displaySize: PixelSize {
        let size = PixelSize(width: width, height: height).squared(pixelAspect)
        return orientation.swapsDimensions ? size.transposed : size
    }

    /// The frame's format as OpenTok states it. Made at each call; not for the path of every frame.
    public var format: VideoFormat {
        VideoFormat(
            pixelFormat, width: width, height: height, bytesPerRow: buffer.planes.mapPlanes { $0.bytesPerRow },
            pixelAspect: pixelAspect, estimatedFramesPerSecond: estimatedFrameRate,
            estimatedCaptureDelay: estimatedCaptureDelay)
    }
}

extension VideoFrame {
    /// A frame; see the properties. The default of `color` is the usual one of the buffer's pixel format.
    public init(
        buffer: PixelBuffer, compressed: PixelBuffer? = nil, timestamp: MediaTime, sequenceNumber: UInt64 = 0,
        orientation: VideoOrientation = .up, isMirrored: Bool = false, color: ColorDescription? = nil,
        pixelAspect: PixelAspect = .square, estimatedFrameRate: FrameRate? = nil,
        estimatedCaptureDelay: Duration? = nil,
        damage: [PixelRect]? = nil, metadata: FrameAttributes.Metadata? = nil, isRepeat: Bool = false
    ) {
        // By the initializer that the compiler derives. One that sets property by property has the frame made in memory,
        // copied by its type's metadata and destroyed again: some 700 instructions.
        self.init(
            buffer: buffer, compressed: compressed, timestamp: timestamp, sequenceNumber: sequenceNumber,
            attributes: FrameAttributes(
                orientation: orientation, isMirrored: isMirrored, color: color ?? .assumed(for: buffer.pixelFormat),
                pixelAspect: pixelAspect, estimatedFrameRate: estimatedFrameRate,
                estimatedCaptureDelay: estimatedCaptureDelay,
                metadata: metadata),
            damage: damage, isRepeat: isRepeat)
    }
}

/// A rectangle in pixels; x to the right and y down from the top left corner.
public struct PixelRect: Sendable, Hashable {
    public var x: Int
    public var y: Int
    public var width: Int
    public var height: Int

    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }
}
