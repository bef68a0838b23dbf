/// What a capture has counted since it was initialized.
public struct CaptureStatistics: Sendable, Hashable {
    /// Frames handed to the consumer.
    public var framesDelivered: UInt64 = 0
    /// Frames that were due but are lost, by reason.
    public var framesDropped = CaptureStatistics.DropCounts()
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

extension CaptureStatistics {
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
}

extension VideoPublisher.Statistics {
    /// Statistics of one consumer of a publisher.
    public struct Consumer: Sendable, Hashable {
        /// The consumer's name, as given when it was added.
        public var name: String
        /// Frames put before its queue.
        public var received: UInt64 = 0
        /// Frames handed to it, counted when it has returned: what it does inside may be seen before.
        public var delivered: UInt64 = 0
        /// Times the last frame was handed to it again, for the minimum rate that it wants itself.
        public var repeats: UInt64 = 0
        /// Frames it did not get, by reason.
        public var dropped = CaptureStatistics.DropCounts()
        /// Frames that wait now.
        public var waiting = 0
        /// Whether it has made no progress for the timeout of its queue: the capture no longer waits for it.
        public var isStalled = false
        /// The time from a frame's timestamp to its delivery that half of the frames did not exceed.
        public var p50Age: Duration?
        /// The time from a frame's timestamp to its delivery that 99 of 100 frames did not exceed.
        public var p99Age: Duration?

        public init(name: String) {
            self.name = name
        }
    }
}

extension VideoPublisher {
    /// What a publisher has counted.
    public struct Statistics: Sendable, Hashable {
        /// Of the capture that is published now.
        public var capture: CaptureStatistics
        /// Of each consumer, in the order in which they were added.
        public var consumers: [VideoPublisher.Statistics.Consumer]
        /// Frames that were sent again to keep the minimum rate.
        public var repeats: UInt64

        public init(capture: CaptureStatistics, consumers: [VideoPublisher.Statistics.Consumer], repeats: UInt64) {
            self.capture = capture
            self.consumers = consumers
            self.repeats = repeats
        }
    }
}
