/// How a picture must be turned to stand upright.
///
/// The names and raw values are OpenTok's; OpenTok leaves the direction open, here it is stated: the
/// angle is **clockwise, and is applied to the picture to make it upright**, as in `EXIF` orientation
/// handling and WebRTC's `VideoRotation`. V4L2's `V4L2_CID_CAMERA_SENSOR_ROTATION` counts the other way.
public enum VideoOrientation: Int, Sendable, Hashable, CaseIterable {
    /// Upright already.
    case up = 1
    /// Upside down: turn by 180°.
    case down = 2
    /// Turn by 90° clockwise.
    case left = 3
    /// Turn by 270° clockwise.
    case right = 4

    /// The clockwise rotation to apply for display, in degrees.
    public var clockwiseDegrees: Int {
        switch self {
        case .up: 0
        case .down: 180
        case .left: 90
        case .right: 270
        }
    }

    /// The orientation of a picture that must be turned clockwise by `degrees`; any multiple of 90,
    /// also negative ones. Nil for other angles.
    public init?(clockwiseDegrees degrees: Int) {
        switch ((degrees % 360) + 360) % 360 {
        case 0: self = .up
        case 90: self = .left
        case 180: self = .down
        case 270: self = .right
        default: return nil
        }
    }

    /// Whether turning the picture upright exchanges its width and height.
    public var swapsDimensions: Bool { self == .left || self == .right }
}
