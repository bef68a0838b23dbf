/// What a capture delivers, or will when it is started: OpenTok's capture settings.
public struct CaptureSettings: Sendable, Hashable {
    /// Size, pixel format, rate and delay.
    public var format: VideoFormat
    /// Whether a local preview should be mirrored, as for a camera that faces its user.
    public var mirrorOnLocalRender: Bool
    /// The name of the source, for people: a camera's name, a file's path.
    public var sourceName: String?

    /// A name and a password in a URL (`//user:password@`) are masked in the source's name.
    public init(format: VideoFormat, mirrorOnLocalRender: Bool = false, sourceName: String? = nil) {
        self.format = format
        self.mirrorOnLocalRender = mirrorOnLocalRender
        self.sourceName = sourceName.map(maskingUserInfo)
    }
}

/// What kind of pictures a capture delivers, to tune the encoder.
public enum VideoContentHint: String, Sendable, Hashable, CaseIterable {
    /// Nothing is known; treated as motion.
    case none
    /// Cameras and films: smooth movement matters more than fine detail.
    case motion
    /// Slides, drawings: detail matters more than the rate.
    case detail
    /// Screens with text: every edge matters.
    case text
}
