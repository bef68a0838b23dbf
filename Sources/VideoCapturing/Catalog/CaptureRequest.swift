/// What a program asks of a capturer that it knows by name only. Nil stands for the capturer's own choice.
public struct CaptureRequest: Sendable, Hashable {
    /// The rate that is asked for.
    public enum Rate: Sendable, Hashable {
        /// So many frames a second.
        case frames(FrameRate)
        /// As fast as consumers take them.
        case maximum
    }

    /// The size in pixels.
    public var size: (width: Int, height: Int)? {
        get { width.flatMap { width in height.map { (width, $0) } } }
        set {
            width = newValue?.width
            height = newValue?.height
        }
    }
    private var width: Int?
    private var height: Int?

    /// How the samples shall lie in memory.
    public var pixelFormat: PixelFormat?
    /// The rate.
    public var rate: Rate?
    /// The device, file or address.
    public var input: String?
    /// What chooses among pictures that are made by chance.
    public var seed: UInt64?
    /// Options that only some capturers know, by name, each with the values that were given for it; a switch that is on
    /// has one empty value.
    public var further: [String: [String]] = [:]

    /// A request that leaves everything to the capturer.
    public init() {}

    /// The format asked for, with what is left open taken from `standard`.
    public func format(default standard: VideoFormat) -> VideoFormat {
        VideoFormat(
            pixelFormat ?? standard.pixelFormat, width: width ?? standard.imageWidth,
            height: height ?? standard.imageHeight, estimatedFramesPerSecond: standard.estimatedFramesPerSecond)
    }

    /// The rate asked for, or `standard`; nil for as fast as consumers take the frames.
    public func frameRate(default standard: FrameRate) -> FrameRate? {
        switch rate {
        case .frames(let rate): rate
        case .maximum: nil
        case nil: standard
        }
    }
}
