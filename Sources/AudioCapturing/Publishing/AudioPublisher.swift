/// Owns one sound capture and spreads its chunks to any number of consumers, each behind a queue and a thread of its
/// own, so that a slow one delays neither the capture nor another (unless its policy is to block). A consumer that does
/// not return at all holds up the others, and ``stop()``, ``close()`` and ``remove(_:)``, for no longer than
/// `QueueSettings.timeout`. What `VideoPublisher` is for pictures.
///
/// ```swift
/// let publisher = AudioPublisher(ToneCapturer())
/// try publisher.add(LevelMeter(), name: "meter")
/// try publisher.start()
/// …
/// try publisher.stop()
/// ```
/// Safe to use from any thread; start, stop, add, remove and replace must not be called from a consumer's
/// `consumeAudio` of another publisher that waits for this one. Closed when it is destroyed.
public final class AudioPublisher: Sendable {
    private let fanOut: AudioFanOut
    private let current: Locked<Current>

    private struct Current {
        var capture: any AudioCapture
        /// Held here, since a capture holds its consumer weakly.
        var inlet: AudioInlet
        var isReplacing = false
        /// The one that is to take over.
        var incoming: (any AudioCapture)?
        /// Between start and stop, even when the capture has ended on its own account.
        var isStarted = false
        var isClosed = false
    }

    /// A queue for a live listener: about a second of chunks of 20 ms, of which the oldest are dropped.
    public static let liveQueue = QueueSettings(capacity: 50, policy: .dropOldest)

    /// A publisher of a capture.
    ///
    /// - Parameters:
    ///   - capture: the source of the sound; the publisher sets its consumer, and releases it in the end.
    ///   - clock: the clock for ages.
    public init(_ capture: any AudioCapture, clock: any CaptureClock = MonotonicClock()) {
        fanOut = AudioFanOut(clock: clock)
        let inlet = AudioInlet(fanOut)
        fanOut.setInlet(inlet)
        capture.audioCaptureConsumer = inlet
        current = Locked(Current(capture: capture, inlet: inlet))
    }

    deinit {
        close()
    }

    /// The capture that is published now.
    public var capture: any AudioCapture { current.withLock { $0.capture } }

    // MARK: Life

    /// Initializes the capture if need be, and starts it.
    ///
    /// - Throws: what the capture throws, and `invalidState` once the publisher is closed.
    public func start() throws(CaptureError) {
        try checkIsOpen("start the publisher")
        let capture = self.capture
        for subscription in fanOut.subscriptions { subscription.queue.setStopping(false) }
        try capture.initCapture()
        fanOut.open(current.withLock { $0.inlet })
        try capture.startCapture()
        current.withLock { $0.isStarted = true }
    }

    /// Stops the capture. When it returns, no call of a consumer is running; queues that wait (files) have been
    /// worked through, what waits in others is dropped and counted as abandoned. Consumers stay for the next
    /// start.
    ///
    /// - Throws: what the capture throws; `stalled` when a consumer has not returned for the timeout of its queue. What
    ///   waited for it is dropped, and its call may still be running.
    public func stop() throws(CaptureError) {
        current.withLock { $0.isStarted = false }
        // The capture may wait for room in a queue whose consumer is the one that calls this.
        for subscription in fanOut.subscriptions { subscription.queue.setStopping(true) }
        let stopped = Result { () throws(CaptureError) in try stopCaptures() }
        let subscriptions = fanOut.subscriptions
        let start = MonotonicClock().now
        // First of all, so that no live queue is worked through while a file is waited for.
        for subscription in subscriptions where subscription.queue.policy == .dropOldest {
            subscription.queue.discardWaiting()
        }
        let stalled = subscriptions.filter { !$0.awaitRest(since: start) }
        try stopped.get()
        guard !stalled.isEmpty else { return }
        throw CaptureError(
            .stalled, operation: "stop", subject: stalled.map(\.name).joined(separator: ", "),
            message: "The consumer has not returned within its timeout, and the waiting chunks were dropped; "
                + "check its destination.")
    }

    /// Stops, releases the capture, and ends every subscription. Harmless when called twice. A consumer that does not
    /// return within the timeout of its queue is left behind: its thread ends when the call returns.
    public func close() {
        current.withLock { current in
            current.isStarted = false
            current.isClosed = true
        }
        for subscription in fanOut.subscriptions { subscription.queue.setStopping(true) }
        try? stopCaptures()
        capture.releaseCapture()
        let start = MonotonicClock().now
        for subscription in fanOut.removeAll() { subscription.end(since: start) }
    }

    /// - Throws: `invalidState` once it is closed: no consumer would get anything.
    private func checkIsOpen(_ operation: String) throws(CaptureError) {
        guard current.withLock({ $0.isClosed }) else { return }
        throw CaptureError(
            .invalidState, operation: operation, message: "The publisher is closed; make another one.")
    }

    /// Stops the capture, and one that is about to take over: then it does not.
    private func stopCaptures() throws(CaptureError) {
        let (capture, incoming) = current.withLock { ($0.capture, $0.incoming) }
        defer {
            fanOut.closeInlet()
            try? incoming?.stopCapture()
        }
        try capture.stopCapture()
    }

    // MARK: Consumers

    /// Adds a consumer, which gets every chunk from now on. It is held until it is removed.
    ///
    /// - Parameters:
    ///   - consumer: takes the chunks, on a separate thread.
    ///   - name: for statistics and the consumer's thread.
    ///   - queue: its queue; the default is a live listener's.
    /// - Returns: the consumer's place, to remove it by.
    /// - Throws: `CaptureError` with the code `system` when no thread can be had, and `invalidState` once it is closed.
    @discardableResult
    public func add(
        _ consumer: any AudioCaptureConsumer, name: String = "consumer", queue: QueueSettings = AudioPublisher.liveQueue
    ) throws(CaptureError) -> AudioSubscription {
        try checkIsOpen("add \(name)")
        let subscription = try AudioSubscription(consumer, name: name, queue: queue, clock: fanOut.clock)
        fanOut.add(subscription)
        return subscription
    }

    /// Removes a consumer. When it returns, no call of the consumer is running and none will come; called from
    /// inside `consumeAudio`, that is so once the call has returned. Chunks that wait are delivered first, or
    /// dropped where the policy is `dropOldest`. A consumer that does not return within the timeout of its queue
    /// is left behind: its thread ends when the call returns.
    public func remove(_ subscription: AudioSubscription) {
        fanOut.remove(subscription)
        subscription.end(since: MonotonicClock().now)
    }

    /// Whether silence is sent in place of the capture's sound; times and numbers go on.
    public var isMuted: Bool {
        get { fanOut.isMuted }
        set { fanOut.isMuted = newValue }
    }

    /// Puts another capture in place of this one: the new one is started, its first chunk takes over, then the old one is
    /// stopped and released. Timestamps and the numbers of the frames go on; the first chunk of the new one has the
    /// discontinuity `start`. Sound of the new one that is older than delivered sound is left out.
    ///
    /// While the publisher is stopped the captures are only exchanged.
    ///
    /// - Parameters:
    ///   - new: the capture that takes over.
    ///   - timeout: how long its first chunk may take.
    /// - Throws: what the new capture throws, `stalled` when it delivers nothing in time, `invalidState` while
    ///   another replacement is under way, and when the publisher is stopped or closed
    ///   meanwhile. The old capture then stays.
    public func replaceCapture(with new: any AudioCapture, timeout: Duration = .seconds(10)) throws(CaptureError) {
        let old = current.withLock { current -> (any AudioCapture)? in
            guard !current.isReplacing else { return nil }
            current.isReplacing = true
            return current.capture
        }
        guard let old else {
            throw CaptureError(
                .invalidState, operation: "replace the capture",
                message: "Another replacement is under way; wait for its end.")
        }
        defer {
            current.withLock { current in
                current.isReplacing = false
                current.incoming = nil
            }
        }
        guard new !== old else { return }
        let inlet = AudioInlet(fanOut)
        new.audioCaptureConsumer = inlet
        let isStarted = current.withLock { current in
            current.incoming = new
            // With the lock held, so that a stop comes before and is seen, or afterwards and ends it.
            if current.isStarted { fanOut.expect(inlet) }
            return current.isStarted
        }
        do {
            if isStarted {
                try new.initCapture()
                try new.startCapture()
                try fanOut.awaitHandOver(to: inlet, timeout: timeout)
            } else {
                fanOut.setInlet(inlet)
            }
            try current.withLock { current throws(CaptureError) in
                guard current.isStarted == isStarted else {
                    throw CaptureError(
                        .invalidState, operation: "replace the capture",
                        message: "The publisher was \(isStarted ? "stopped" : "started") meanwhile; the old one stays.")
                }
                current.capture = new
                current.inlet = inlet
            }
        } catch {
            fanOut.setInlet(current.withLock { $0.inlet })
            if new.isCaptureStarted { try? new.stopCapture() }
            new.releaseCapture()
            throw error
        }
        old.releaseCapture()
    }

    /// Statistics of the capture and of each consumer.
    public var statistics: AudioPublisher.Statistics {
        AudioPublisher.Statistics(capture: capture.statistics, consumers: fanOut.subscriptions.map(\.statistics))
    }
}
