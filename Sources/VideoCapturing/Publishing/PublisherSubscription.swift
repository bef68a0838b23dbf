import Synchronization

/// The subscription of one consumer to a ``VideoPublisher``: its queue, its thread, its statistics.
///
/// Safe to use from any thread.
public final class PublisherSubscription: ConsumerPlace {
    /// The consumer's name, for statistics and its thread.
    public let name: String

    let queue: FrameQueue
    let wants = Locked(CaptureWants())
    private let delivery: Locked<Delivery>
    private let clock: any CaptureClock
    /// The consumer, while it may be handed frames past the queue.
    private let immediate: Locked<(any InlineConsumer)?>
    private let onWants: @Sendable () -> Void
    /// The consumer, while it is connected to the capture.
    private let feedbackConsumer: Locked<(any FeedbackConsumer)?>
    /// Leaves out frames beyond the rate that this consumer wants, where the capture delivers more.
    private let gate = Locked(FrameRateGate())
    /// Whether `gate` has a limit; read without its lock for each frame.
    private let isRateLimited = Atomic(false)

    private struct Delivery {
        var delivered: UInt64 = 0
        var repeats: UInt64 = 0
        var age = LatencyHistogram()
        var hasEnded = false
        var thread: UInt?

        mutating func note(age: Duration) {
            delivered += 1
            self.age.record(nanoseconds: age.nanoseconds)
        }
    }

    /// Starts the consumer's thread, which holds the consumer until the subscription has ended.
    init(
        _ consumer: any VideoCaptureConsumer, name: String, queue: FrameQueue, clock: any CaptureClock,
        onWants: @escaping @Sendable () -> Void
    ) throws(CaptureError) {
        self.name = name
        self.queue = queue
        self.onWants = onWants
        self.clock = clock
        immediate = Locked(consumer as? any InlineConsumer)
        feedbackConsumer = Locked(consumer as? any FeedbackConsumer)
        let delivery = Locked(Delivery())
        self.delivery = delivery
        let wants = self.wants
        let isClockReal = clock is MonotonicClock
        try CaptureThread(name: name) {
            delivery.withLock { $0.thread = CaptureThread.currentIdentifier }
            var timeline = ConsumerTimeline()
            delivering: while true {
                switch queue.nextTurn(lastShown: timeline.lastTurn) {
                case .deliver(var frame):
                    timeline.forget()
                    timeline.place(&frame)
                    let now = clock.now
                    let age = now - frame.timestamp
                    let time = isClockReal ? now : MonotonicClock().now
                    consumer.consumeFrame(frame)
                    delivery.withLock { $0.note(age: age) }
                    if queue.endDelivery() {
                        timeline.keep(frame, shownAt: time, rate: wants.withLock { $0.minimumFrameRate })
                    }
                case .repeatLast:
                    let rate = wants.withLock { $0.minimumFrameRate }
                    if let frame = timeline.makeRepeat(at: MonotonicClock().now, rate: rate) {
                        consumer.consumeFrame(frame)
                        delivery.withLock { $0.repeats += 1 }
                        timeline.endRepeat(at: MonotonicClock().now)
                    }
                    if !queue.endDelivery() { timeline.forget() }
                case .forgetLast:
                    timeline.forget()
                case .end:
                    break delivering
                }
            }
            delivery.withLock { delivery in
                delivery.hasEnded = true
                delivery.thread = nil
            }
            delivery.wakeAll()
        }
    }

    deinit {
        queue.close(discardingWaitingFrames: true)
    }

    /// Hands a frame over: at once where the consumer takes it so, or else by the queue. For one thread at a time.
    func push(_ frame: VideoFrame) {
        var frame = frame
        if isRateLimited.load(ordering: .relaxed) {
            let isDue = gate.withLock { gate in
                guard gate.admits(frame) else { return false }
                gate.accumulator.flush(into: &frame)
                return true
            }
            guard isDue else { return }
        }
        guard let consumer = immediate.withLock({ $0 }) else {
            queue.push(frame)
            return
        }
        guard queue.beginInlineDelivery(of: &frame) else {
            queue.push(frame)
            return
        }
        let age = clock.now - frame.timestamp
        let isTaken = consumer.consumeInline(frame)
        if isTaken { delivery.withLock { $0.note(age: age) } }
        queue.endInlineDelivery(of: frame, isTaken: isTaken)
    }

    /// Statistics of this consumer.
    public var statistics: VideoPublisher.Statistics.Consumer {
        var result = VideoPublisher.Statistics.Consumer(name: name)
        result.received = queue.received
        result.dropped = queue.dropped
        result.waiting = queue.count
        result.isStalled = queue.isStalled
        delivery.withLock { delivery in
            result.delivered = delivery.delivered
            result.repeats = delivery.repeats
            result.p50Age = delivery.age.quantile(0.5)
            result.p99Age = delivery.age.quantile(0.99)
        }
        return result
    }

    /// Sets the consumer's wants. The publisher asks the capture for wants that satisfy all consumers. If that gives too
    /// many frames, those beyond the maximum rate are left out here. The minimum rate is kept here too, from the next
    /// frame on, on the consumer's thread. A ``FeedbackConsumer`` is connected to this automatically.
    public func updateWants(_ wants: CaptureWants) {
        let concernsCapture = self.wants.withLock { current in
            defer { current = wants }
            // With the lock held, so that of two calls the same one counts for all of them.
            queue.setRepeatInterval(wants.minimumFrameRate?.frameInterval)
            gate.withLock { $0.limit = wants.maximumFrameRate }
            // Once it was limited, the gate must see all frames, for their damage.
            if wants.maximumFrameRate != nil { isRateLimited.store(true, ordering: .relaxed) }
            return current.forCapture != wants.forCapture
        }
        if concernsCapture { onWants() }
    }

    /// Connects a consumer that has wants.
    func connectFeedback(onRefresh: @escaping @Sendable () -> Void) {
        feedbackConsumer.withLock { $0 }?.connectFeedback(
            CaptureFeedback(onWants: { [weak self] in self?.updateWants($0) }, onRefresh: onRefresh))
    }

    package func setStopping(_ isStopping: Bool) { queue.setStopping(isStopping) }

    package func discardLive() {
        if queue.policy == .dropOldest { queue.discardWaitingFrames() }
    }

    /// Blocks until the consumer has worked through what waits; not on its own thread, where it returns at once. False
    /// when the consumer is stalled; what waited is then dropped.
    package func awaitRest(since start: MediaTime) -> Bool {
        isOnOwnThread || queue.awaitRest(since: start)
    }

    /// Ends the supply. When it returns, no call of the consumer is running and none will come, unless it was
    /// called from inside one or the consumer is stalled: then its thread ends when the call returns.
    package func end(since start: MediaTime) {
        queue.close(discardingWaitingFrames: queue.policy == .dropOldest)
        immediate.withLock { $0 = nil }
        feedbackConsumer.withLock { $0.take() }?.connectFeedback(nil)
        guard !isOnOwnThread, queue.awaitRest(since: start) else { return }
        _ = delivery.wait { $0.hasEnded ? () : nil }
    }

    /// Whether the caller is the consumer, or something that it calls.
    package var isOnOwnThread: Bool {
        delivery.withLock { $0.thread == CaptureThread.currentIdentifier } || queue.isDeliveringInlineHere
    }
}
