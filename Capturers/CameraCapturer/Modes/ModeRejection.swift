import VideoCapturing

/// Why a mode of a camera was not taken.
public enum ModeRejection: Sendable, Hashable {
    /// It has fewer frames a second, by so much that the other's size or cost does not matter.
    case lowerRate
    /// It has less than the desired size, or less of it than the one that was taken.
    case smallerSize
    /// It has more pixels than are needed.
    case largerSize
    /// It would have to be cut.
    case otherAspect
    /// Converting it takes more work.
    case costlier
    /// Its rate is further from the desired one.
    case rateFurtherOff
    /// It takes more of the bus.
    case moreBytes
    /// It is as good, but further down in the driver's list.
    case listedLater
    /// It is better, but the driver has set another one by itself.
    case notTried

    /// The driver has refused it with this `errno`.
    case driverRefused(errno: Int32)
    /// The driver has set something else.
    case substituted(by: FourCC, size: PixelSize)
    /// The driver has set a rate of less than 90 % of what it lists.
    case rateNotKept(claimed: FrameRate, readBack: FrameRate)
    /// The bus has no bandwidth left for it (`ENOSPC`).
    case noBandwidth
    /// It needs no less bandwidth than one for which there was none.
    case noLessBandwidth

    /// The format cannot be taken at all.
    case formatUnusable
    /// The format is not the camera's, but made by a library of it.
    case formatEmulated
    /// The request has ruled the format out.
    case formatExcluded
}

extension ModeRejection: CustomStringConvertible {
    /// Some words for people.
    public var description: String {
        switch self {
        case .lowerRate: "fewer frames a second"
        case .smallerSize: "too small"
        case .largerSize: "larger than needed"
        case .otherAspect: "would have to be cut"
        case .costlier: "takes more work to convert"
        case .rateFurtherOff: "its rate is further off"
        case .moreBytes: "takes more of the bus"
        case .listedLater: "as good, but listed later"
        case .notTried: "the driver has set another one by itself"
        case .driverRefused(let errno): "refused by the driver: \(systemText(errno))"
        case .substituted(let fourCC, let size): "the driver has set \(fourCC) \(size) instead"
        case .rateNotKept(let claimed, let readBack):
            "the driver has set \(readBack.text) fps in place of the \(claimed.text) that it lists"
        case .noBandwidth: "no bandwidth left on the bus"
        case .noLessBandwidth: "needs no less bandwidth"
        case .formatUnusable: "a format that cannot be taken"
        case .formatEmulated: "made by a library, not by the camera"
        case .formatExcluded: "ruled out by the request"
        }
    }
}

/// A mode that was not taken, or a format of which no mode was.
public struct RejectedMode: Sendable, Hashable {
    /// The format.
    public let fourCC: FourCC
    /// The mode; nil when the whole format was left out.
    public let mode: CameraMode?
    /// Why.
    public let reason: ModeRejection

    init(_ fourCC: FourCC, _ reason: ModeRejection) {
        self.fourCC = fourCC
        mode = nil
        self.reason = reason
    }

    init(_ mode: CameraMode, _ reason: ModeRejection) {
        fourCC = mode.fourCC
        self.mode = mode
        self.reason = reason
    }
}

extension RejectedMode: CustomStringConvertible {
    /// `MJPG 640x480 at 30 fps: takes more work to convert`.
    public var description: String { "\(mode.map { "\($0)" } ?? "\(fourCC)"): \(reason)" }
}
