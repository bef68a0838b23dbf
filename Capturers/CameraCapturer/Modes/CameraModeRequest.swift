import VideoCapturing

/// What a camera's mode is to be chosen for.
public struct CameraModeRequest: Sendable, Hashable {
    /// What gives way where a camera has no mode with both the size and the rate.
    public enum Policy: String, Sendable, Hashable, CaseIterable {
        /// The size: the rate is kept if any size has it. Yet a smaller size takes the place of the right one only
        /// where that has fewer than 15 frames a second (or than the desired ones, if those are fewer).
        case frameRateFirst
        /// The rate: the size nearest to the desired one is taken, at whatever rate it has.
        case sizeFirst
    }

    /// The size in which pictures are to be delivered.
    public let size: PixelSize
    /// The frames a second that are wanted.
    public let rate: FrameRate
    /// What gives way.
    public let policy: Policy
    /// The only format of the camera's that may be used; nil for any.
    public let requiredFourCC: FourCC?
    /// Formats of the camera's that must not be used.
    public let excludedFourCCs: Set<FourCC>

    /// Sides of the size are brought to 1 to `VideoFormat.maximumSide` pixels.
    public init(
        size: PixelSize, rate: FrameRate, policy: Policy = .frameRateFirst, requiredFourCC: FourCC? = nil,
        excludedFourCCs: Set<FourCC> = []
    ) {
        self.size = PixelSize(
            width: min(max(size.width, 1), VideoFormat.maximumSide),
            height: min(max(size.height, 1), VideoFormat.maximumSide))
        self.rate = rate
        self.policy = policy
        self.requiredFourCC = requiredFourCC
        self.excludedFourCCs = excludedFourCCs
    }

    /// Whether the format may be used at all.
    func allows(_ fourCC: FourCC) -> Bool {
        (requiredFourCC == nil || requiredFourCC == fourCC) && !excludedFourCCs.contains(fourCC)
    }
}

extension CameraModeRequest: CustomStringConvertible {
    /// `352x288 at 30 fps`.
    public var description: String {
        "\(size) at \(rate.text) fps" + (requiredFourCC.map { " in \($0)" } ?? "")
            + (policy == .sizeFirst ? ", the size before the rate" : "")
    }
}
