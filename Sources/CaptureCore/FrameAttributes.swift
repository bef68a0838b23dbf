/// The attributes of a picture in addition to its pixels, its time and its number: the same value in `SourceFrame`,
/// `VideoFrame` and ``MediaPacket``, so that nothing is lost from the capture to the packet.
public struct FrameAttributes: Sendable, Hashable {
    /// The clockwise rotation to apply for display.
    public var orientation: VideoOrientation
    /// Whether a local preview is to show the picture mirrored, left to right.
    public var isMirrored: Bool
    /// Color matrix and range.
    public var color: ColorDescription
    /// The shape of the pixels, before the orientation is applied.
    public var pixelAspect: PixelAspect
    /// The rate measured over the last frames; nil until there are two.
    public var estimatedFrameRate: FrameRate?
    /// The time from exposure to delivery; nil when unknown.
    public var estimatedCaptureDelay: Duration?
    /// Bytes that travel with the frame, of any length; nil without any.
    public var metadata: FrameAttributes.Metadata?

    /// Attributes of an upright picture.
    public init(
        orientation: VideoOrientation = .up, isMirrored: Bool = false, color: ColorDescription = .bt601,
        pixelAspect: PixelAspect = .square, estimatedFrameRate: FrameRate? = nil,
        estimatedCaptureDelay: Duration? = nil, metadata: FrameAttributes.Metadata? = nil
    ) {
        self.orientation = orientation
        self.isMirrored = isMirrored
        self.color = color
        self.pixelAspect = pixelAspect
        self.estimatedFrameRate = estimatedFrameRate
        self.estimatedCaptureDelay = estimatedCaptureDelay
        self.metadata = metadata
    }
}

/// A frame or packet with attributes, which are its properties too.
public protocol AttributedFrame: Sendable {
    /// The attributes in addition to its data, its time and its number.
    var attributes: FrameAttributes { get set }
}

// Inlinable, so that in other modules too a frame's attribute is read in place.
extension AttributedFrame {
    /// The clockwise rotation to apply for display.
    @inlinable public var orientation: VideoOrientation {
        get { attributes.orientation }
        set { attributes.orientation = newValue }
    }
    /// Whether a local preview is to show the frame mirrored, left to right.
    @inlinable public var isMirrored: Bool {
        get { attributes.isMirrored }
        set { attributes.isMirrored = newValue }
    }
    /// Color matrix and range.
    @inlinable public var color: ColorDescription {
        get { attributes.color }
        set { attributes.color = newValue }
    }
    /// The shape of the pixels, before the orientation is applied.
    @inlinable public var pixelAspect: PixelAspect {
        get { attributes.pixelAspect }
        set { attributes.pixelAspect = newValue }
    }
    /// The rate measured over the last frames; nil until there are two.
    @inlinable public var estimatedFrameRate: FrameRate? {
        get { attributes.estimatedFrameRate }
        set { attributes.estimatedFrameRate = newValue }
    }
    /// The time from exposure to delivery; nil when unknown.
    @inlinable public var estimatedCaptureDelay: Duration? {
        get { attributes.estimatedCaptureDelay }
        set { attributes.estimatedCaptureDelay = newValue }
    }
    /// Bytes that travel with the frame; nil without any.
    @inlinable public var metadata: FrameAttributes.Metadata? {
        get { attributes.metadata }
        set { attributes.metadata = newValue }
    }
}

extension FrameAttributes {
    /// Bytes that an application or a driver attaches to a frame.
    public struct Metadata: Sendable, Hashable {
        /// The bytes.
        public var bytes: [UInt8]

        /// Metadata of these bytes.
        public init(_ bytes: [UInt8]) {
            self.bytes = bytes
        }
    }
}
