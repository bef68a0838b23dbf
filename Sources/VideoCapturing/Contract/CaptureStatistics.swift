/// What a capture has counted since it was initialized.
public struct CaptureStatistics: Sendable, Hashable {
    /// Frames handed to the consumer.
    public var framesDelivered: UInt64 = 0
    /// Frames that were due but are lost, by reason.
    public var framesDropped = DropCounts()
    /// Times the capture was started.
    public var starts: UInt64 = 0
    /// Times the capture was interrupted.
    public var interruptions: UInt64 = 0
    /// The rate asked for; nil where the source sets its own.
    public var requestedFrameRate: FrameRate?
    /// The rate measured over the last frames; nil until there are two.
    public var measuredFrameRate: FrameRate?

    public init() {}
}

/// Lost frames, each counted under one reason.
public struct DropCounts: Sendable, Hashable {
    /// The source was late, and the moment of the frame had passed.
    public var late: UInt64 = 0
    /// The source or driver lost the frame.
    public var source: UInt64 = 0
    /// The source's data were damaged.
    public var corrupt: UInt64 = 0
    /// There was no consumer.
    public var noConsumer: UInt64 = 0
    /// The queue was full, and a newer frame took the place.
    public var replaced: UInt64 = 0
    /// The queue was full, and the frame was turned away.
    public var refused: UInt64 = 0
    /// The queue was closed before the frame was handed over.
    public var abandoned: UInt64 = 0

    public init() {}

    /// All of them.
    public var total: UInt64 { late + source + corrupt + noConsumer + replaced + refused + abandoned }
}
