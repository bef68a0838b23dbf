/// The place of one consumer at an ``AudioPublisher``: its queue, its thread, its counts.
///
/// Safe to use from any thread.
public final class AudioSubscription: ConsumerPlace {
    /// The consumer's name, for statistics and its thread.
    public let name: String

    let queue: AudioQueue
    private let delivery: Locked<Delivery>

    private struct Delivery {
        var chunks: UInt64 = 0
        var frames: UInt64 = 0
        var age = LatencyHistogram()
        var hasEnded = false
        var thread: UInt?
    }

    /// Starts the consumer's thread, which holds the consumer until the subscription has ended.
    init(
        _ consumer: any AudioCaptureConsumer, name: String, queue settings: QueueSettings, clock: any CaptureClock
    ) throws(CaptureError) {
        self.name = name
        let queue = AudioQueue(settings)
        self.queue = queue
        let delivery = Locked(Delivery())
        self.delivery = delivery
        try CaptureThread(name: name) {
            delivery.withLock { $0.thread = CaptureThread.currentIdentifier }
            while let chunk = queue.pop() {
                let age = clock.now - chunk.endTimestamp
                consumer.consumeAudio(chunk)
                delivery.withLock { delivery in
                    delivery.chunks += 1
                    delivery.frames += UInt64(chunk.frameCount)
                    delivery.age.record(nanoseconds: age.nanoseconds)
                }
                queue.endDelivery()
            }
            delivery.withLock { delivery in
                delivery.hasEnded = true
                delivery.thread = nil
            }
            delivery.wakeAll()
        }
    }

    deinit {
        queue.close(discardingWaiting: true)
    }

    /// Statistics of this consumer.
    public var statistics: AudioPublisher.Statistics.Consumer {
        var result = AudioPublisher.Statistics.Consumer(name: name)
        result.chunksReceived = queue.received
        result.framesLost = queue.lost
        result.waiting = queue.count
        result.isStalled = queue.isStalled
        delivery.withLock { delivery in
            result.chunksDelivered = delivery.chunks
            result.framesDelivered = delivery.frames
            result.p50Age = delivery.age.quantile(0.5)
            result.p99Age = delivery.age.quantile(0.99)
        }
        return result
    }

    package func setStopping(_ isStopping: Bool) { queue.setStopping(isStopping) }

    package func discardLive() {
        if queue.policy == .dropOldest { queue.discardWaiting() }
    }

    /// Blocks until the consumer has worked through what waits; not on its own thread, where it returns at once. False
    /// when the consumer is stalled; what waited is then dropped.
    package func awaitRest(since start: MediaTime) -> Bool { isOnOwnThread || queue.awaitRest(since: start) }

    /// Ends the supply. When it returns, no call of the consumer is running and none will come, unless it was
    /// called from inside one or the consumer is stalled: then its thread ends when the call returns.
    package func end(since start: MediaTime) {
        queue.close(discardingWaiting: queue.policy == .dropOldest)
        guard !isOnOwnThread, queue.awaitRest(since: start) else { return }
        _ = delivery.wait { $0.hasEnded ? () : nil }
    }

    /// Whether the caller is the consumer, or something that it calls.
    package var isOnOwnThread: Bool { delivery.withLock { $0.thread == CaptureThread.currentIdentifier } }
}

extension AudioPublisher {
    /// What a publisher has counted.
    public struct Statistics: Sendable, Hashable {
        /// Of the capture that is published now.
        public var capture: AudioStatistics
        /// Of each consumer, in the order in which they were added.
        public var consumers: [Consumer]

        /// Statistics of one consumer.
        public struct Consumer: Sendable, Hashable {
            /// The consumer's name, as given when it was added.
            public var name: String
            /// Chunks put before its queue.
            public var chunksReceived: UInt64 = 0
            /// Chunks handed to it, counted when it has returned.
            public var chunksDelivered: UInt64 = 0
            /// Their frames.
            public var framesDelivered: UInt64 = 0
            /// Frames that its queue dropped, by reason.
            public var framesLost = AudioStatistics.LossCounts()
            /// Chunks that wait now.
            public var waiting = 0
            /// Whether it has made no progress for the timeout of its queue: the capture no longer waits for it.
            public var isStalled = false
            /// The time from a chunk's last sample to its delivery that half of the chunks did not exceed.
            public var p50Age: Duration?
            /// The time from a chunk's last sample to its delivery that 99 of 100 chunks did not exceed.
            public var p99Age: Duration?

            /// Counts of a consumer that are all zero.
            public init(name: String) {
                self.name = name
            }
        }
    }
}
