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
    private let core: PublisherCore<AudioFanOut>

    /// A queue for a live listener: about a second of chunks of 20 ms, of which the oldest are dropped.
    public static let liveQueue = QueueSettings(capacity: 50, policy: .dropOldest)

    /// A publisher of a capture.
    ///
    /// - Parameters:
    ///   - capture: the source of the sound; the publisher sets its consumer, and releases it in the end.
    ///   - clock: the clock for ages.
    public init(_ capture: any AudioCapture, clock: any CaptureClock = MonotonicClock()) {
        core = PublisherCore(capture, AudioFanOut(clock: clock))
    }

    deinit {
        close()
    }

    /// The capture that is published now.
    public var capture: any AudioCapture { core.capture }

    // MARK: Life

    /// Initializes the capture if need be, and starts it.
    ///
    /// - Throws: what the capture throws, and `invalidState` once the publisher is closed.
    public func start() throws(CaptureError) { try core.start() }

    /// Stops the capture. When it returns, no call of a consumer is running; queues that wait (files) have been
    /// worked through, what waits in others is dropped and counted as abandoned. Consumers stay for the next
    /// start.
    ///
    /// - Throws: what the capture throws; `stalled` when a consumer has not returned for the timeout of its queue. What
    ///   waited for it is dropped, and its call may still be running.
    public func stop() throws(CaptureError) { try core.stop() }

    /// Stops, releases the capture, and ends every subscription. Harmless when called twice. A consumer that does not
    /// return within the timeout of its queue is left behind: its thread ends when the call returns.
    public func close() { core.close() }

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
        try core.checkIsOpen("add \(name)")
        let subscription = try AudioSubscription(consumer, name: name, queue: queue, clock: core.fanOut.clock)
        core.fanOut.add(subscription)
        return subscription
    }

    /// Removes a consumer. When it returns, no call of the consumer is running and none will come; called from
    /// inside `consumeAudio`, that is so once the call has returned. Chunks that wait are delivered first, or
    /// dropped where the policy is `dropOldest`. A consumer that does not return within the timeout of its queue
    /// is left behind: its thread ends when the call returns.
    public func remove(_ subscription: AudioSubscription) {
        core.fanOut.remove(subscription)
        subscription.end(since: MonotonicClock().now)
    }

    /// Whether silence is sent in place of the capture's sound; times and numbers go on.
    public var isMuted: Bool {
        get { core.fanOut.isMuted }
        set { core.fanOut.isMuted = newValue }
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
        try core.replaceCapture(with: new, timeout: timeout)
    }

    /// Statistics of the capture and of each consumer.
    public var statistics: AudioPublisher.Statistics {
        AudioPublisher.Statistics(capture: capture.statistics, consumers: core.fanOut.places.map(\.statistics))
    }
}
