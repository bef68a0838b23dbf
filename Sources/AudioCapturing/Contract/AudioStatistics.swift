/// What a sound capture has counted since it was initialized. Frames are samples per channel.
public struct AudioStatistics: Sendable, Hashable {
    /// Chunks handed to the consumer.
    public var chunksDelivered: UInt64 = 0
    /// Frames handed to the consumer.
    public var framesDelivered: UInt64 = 0
    /// Frames that are lost, by reason.
    public var framesLost = LossCounts()
    /// Times that the time was corrected without a loss; see `AudioChunk.Discontinuity.resynchronized(by:)`.
    public var resynchronizations: UInt64 = 0
    /// Times that the capture was started.
    public var starts: UInt64 = 0
    /// Times that the capture was interrupted.
    public var interruptions: UInt64 = 0
    /// The device's rate by the monotonic clock, in frames per second; nil until it is known, and where the source is paced
    /// by the clock.
    public var measuredSampleRate: Double?

    /// Counts that are all zero.
    public init() {}
}

extension AudioStatistics {
    /// Lost frames, each counted under one reason.
    public struct LossCounts: Sendable, Hashable {
        /// The device, its driver or the source lost them: reported by it, or found missing by the clock.
        public var source: UInt64 = 0
        /// The source was late, and their time had passed.
        public var late: UInt64 = 0
        /// Their time was taken already, since the device's time ran back.
        public var overlapping: UInt64 = 0
        /// There was no consumer.
        public var noConsumer: UInt64 = 0
        /// The queue was full, and newer ones took their place.
        public var replaced: UInt64 = 0
        /// The queue was full, and they were turned away.
        public var refused: UInt64 = 0
        /// The capture was stopped, or the queue closed, before they were handed over.
        public var abandoned: UInt64 = 0

        /// Counts that are all zero.
        public init() {}

        /// All of them.
        public var total: UInt64 { source + late + overlapping + noConsumer + replaced + refused + abandoned }
    }
}
