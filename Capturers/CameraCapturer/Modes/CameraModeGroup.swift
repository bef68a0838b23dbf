import VideoCapturing

/// A pixel format of a camera, with the sizes and rates that its driver lists for it.
///
/// As the driver says it, only without repetitions and nonsense; whether the camera keeps its word is seen when a mode
/// is set. Source: `VIDIOC_ENUM_FMT`, `VIDIOC_ENUM_FRAMESIZES` and `VIDIOC_ENUM_FRAMEINTERVALS` of the V4L2
/// specification.
public struct CameraModeGroup: Sendable, Hashable {
    /// The sizes of pictures that have the same rates, in pixels.
    public enum Sizes: Sendable, Hashable {
        /// This one.
        case discrete(PixelSize)
        /// The smallest and any number of steps more on each side, up to the largest. Steps are at least 1.
        case range(smallest: PixelSize, largest: PixelSize, step: PixelSize)
    }

    /// The frames a second that a size has.
    public enum Rates: Sendable, Hashable {
        /// These, the fastest first; at least one.
        case discrete([FrameRate])
        /// From the slowest to the fastest, in steps or not.
        case range(slowest: FrameRate, fastest: FrameRate)
        /// The driver lists none. What is set now, maybe for another format; nil when it does not say.
        case unlisted(current: FrameRate?)
    }

    /// A size, or a range of them, with its rates.
    public struct Entry: Sendable, Hashable {
        /// The size or sizes.
        public let sizes: Sizes
        /// The rates; of a range of sizes those of the largest.
        public let rates: Rates
    }

    /// The format.
    public let fourCC: FourCC
    /// The driver's name for the format, for people: `YUYV 4:2:2`.
    public let name: String
    /// What it takes to make NV12 of its pictures; nil for a format that cannot be taken.
    public let cost: ConversionCost?
    /// Whether a library makes the format of another one, so that it is never chosen.
    public let isEmulated: Bool
    /// The sizes with their rates, in the driver's order. Where it lists no sizes, those of the usual ones that it
    /// takes. A range is followed by its smallest size where that has other rates.
    public let entries: [Entry]

    /// Whether a mode of this format can be chosen.
    public var isUsable: Bool { cost != nil && !isEmulated }
}

extension CameraModeGroup.Sizes: CustomStringConvertible {
    /// `640x480`, `48x48 to 1920x1080`, `64x64 to 3280x2464 in steps of 32x2`.
    public var description: String {
        switch self {
        case .discrete(let size): return "\(size)"
        case .range(let smallest, let largest, let step):
            let isAny = step == PixelSize(width: 1, height: 1)
            return "\(smallest) to \(largest)" + (isAny ? "" : " in steps of \(step)")
        }
    }
}

extension CameraModeGroup.Rates: CustomStringConvertible {
    /// `60 30 29.97 fps`, `1 to 90 fps`, `30 fps (not listed by the driver)`, `an unknown rate`.
    public var description: String {
        switch self {
        case .discrete(let rates): rates.map(\.text).joined(separator: " ") + " fps"
        case .range(let slowest, let fastest): "\(slowest.text) to \(fastest.text) fps"
        case .unlisted(let current?): "\(current.text) fps (not listed by the driver)"
        case .unlisted(nil): "an unknown rate"
        }
    }
}
