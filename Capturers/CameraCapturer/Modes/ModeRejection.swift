import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension CameraMode.Decision {
    /// Why a mode of a camera was rejected.
    public enum RejectionReason: Sendable, Hashable {
        /// Its rate is lower by so much that size and cost do not matter.
        case lowerRate
        /// It is smaller than the desired size, or covers less of it than the chosen mode.
        case smallerSize
        /// It has more pixels than are needed.
        case largerSize
        /// It would have to be cropped.
        case otherAspect
        /// Converting it costs more.
        case costlier
        /// Its rate is further from the desired one.
        case rateFurtherOff
        /// It needs more bus bandwidth.
        case moreBytes
        /// It is as good, but later in the driver's list.
        case listedLater
        /// It is better, but the driver has set another one automatically.
        case notTried

        /// The driver has refused it with this `errno`.
        case driverRefused(errno: Int32)
        /// The driver has set another format or size.
        case substituted(by: FourCC, size: PixelSize)
        /// The driver has set a rate of less than 90 % of the listed one.
        case rateNotKept(claimed: FrameRate, readBack: FrameRate)
        /// The bus has no bandwidth left for it (`ENOSPC`).
        case noBandwidth
        /// It needs no less bandwidth than a mode for which there was too little.
        case noLessBandwidth

        /// The format is not supported.
        case formatUnusable
        /// The format is of frames, and packets were requested.
        case formatOfFrames
        /// The format is emulated by a library, not native to the camera.
        case formatEmulated
        /// The request has excluded the format.
        case formatExcluded
    }
}

extension CameraMode.Decision.RejectionReason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
        switch self {
        case .lowerRate: "fewer frames per second"
        case .smallerSize: "too small"
        case .largerSize: "larger than needed"
        case .otherAspect: "would have to be cut"
        case .costlier: "takes more work to convert"
        case .rateFurtherOff: "its rate is further off"
        case .moreBytes: "takes more of the bus"
        case .listedLater: "as good, but listed later"
        case .notTried: "the driver has set another one automatically"
        case .driverRefused(let errno): "refused by the driver: \(systemText(errno))"
        case .substituted(let fourCC, let size): "the driver has set \(fourCC) \(size) instead"
        case .rateNotKept(let claimed, let readBack):
            "the driver has set \(readBack.text) fps in place of the \(claimed.text) that it lists"
        case .noBandwidth: "no bandwidth left on the bus"
        case .noLessBandwidth: "needs no less bandwidth"
        case .formatUnusable: "a format that cannot be taken"
        case .formatOfFrames: "frames, not packets"
        case .formatEmulated: "made by a library, not by the camera"
        case .formatExcluded: "ruled out by the request"
        }
    }
}

extension CameraMode.Decision {
    /// A rejected mode, or a format whose modes were all rejected.
    public struct RejectedMode: Sendable, Hashable {
        /// The format.
        public let fourCC: FourCC
        /// The mode; nil when the whole format was rejected.
        public let mode: CameraMode?
        /// The reason.
        public let reason: CameraMode.Decision.RejectionReason

        init(_ fourCC: FourCC, _ reason: CameraMode.Decision.RejectionReason) {
            self.fourCC = fourCC
            mode = nil
            self.reason = reason
        }

        init(_ mode: CameraMode, _ reason: CameraMode.Decision.RejectionReason) {
            fourCC = mode.fourCC
            self.mode = mode
            self.reason = reason
        }
    }
}

extension CameraMode.Decision.RejectedMode: CustomStringConvertible {
    /// `MJPG 640x480 at 30 fps: takes more work to convert`.
    public var description: String { "\(mode.map { "\($0)" } ?? "\(fourCC)"): \(reason)" }
}

extension CameraMode.Decision.RejectionReason {
    /// Why a mode that was not tried ranks after the chosen one: by the first part of their keys that differs.
    init(of rejected: ModeKey, against taken: ModeKey) {
        // A smaller size may have the better rate and yet come after the exact size.
        let isKeptBack = rejected.fit == .smaller && taken.fit != .smaller && rejected.bucket < taken.bucket
        guard !isKeptBack, let difference = rejected.difference(from: taken) else {
            self = isKeptBack ? .smallerSize : .listedLater
            return
        }
        guard !difference.isBetter else {
            self = .notTried
            return
        }
        switch difference.part {
        case .bucket: self = .lowerRate
        case .fit:
            switch rejected.fit {
            case .smaller: self = .smallerSize
            case .otherAspect where taken.fit == .sameAspect: self = .otherAspect
            default: self = .largerSize
            }
        case .excess: self = rejected.fit == .smaller ? .smallerSize : .largerSize
        case .cost: self = .costlier
        case .distance: self = .rateFurtherOff
        case .bytes: self = .moreBytes
        case .order: self = .listedLater
        }
    }
}

/// The system's text for an `errno`.
private func systemText(_ errno: Int32) -> String { String(cString: strerror(errno)) }
