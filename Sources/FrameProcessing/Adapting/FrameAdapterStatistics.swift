/// What a ``FrameAdapter`` has done so far.
public struct FrameAdapterStatistics: Sendable, Hashable {
    /// Frames taken in.
    public var framesIn: UInt64 = 0
    /// Frames passed on: as they were, scaled or black.
    public var framesOut: UInt64 = 0
    /// Frames left out to keep to the rate.
    public var framesDroppedForRate: UInt64 = 0
    /// Frames passed on in another size.
    public var framesScaled: UInt64 = 0
    /// Frames in whose place a black one was passed on.
    public var framesBlackened: UInt64 = 0
    /// Frames left out because they could not be scaled; see ``FrameAdapter/lastError``.
    public var framesFailed: UInt64 = 0

    public init() {}
}
