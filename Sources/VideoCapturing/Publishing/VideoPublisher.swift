/// Owns one capture and delivers its frames to any number of consumers.
///
/// Each consumer has a separate queue and thread. So a slow consumer delays neither the capture nor the others, unless its
/// policy is to wait. A consumer that does not return (a write to a pipe that is not read) delays the others, and
/// ``stop()``, ``close()`` and ``remove(_:)``, by at most `QueueSettings.timeout`.
///
/// ```swift
/// let publisher = VideoPublisher(NoiseCapturer())
/// try publisher.add(encoder, name: "vp8", queue: .init(capacity: 4, policy: .block))
/// try publisher.start()
/// …
/// try publisher.stop()
/// ```
/// Safe to use from any thread; start, stop, add, remove and replace must not be called from a consumer's
/// `consumeFrame` of another publisher that waits for this one. Closed when it is destroyed.
public final class VideoPublisher: Sendable {
    /// A consumer's queue: how many frames may wait, and what happens when it is full.
    public typealias QueueSettings = CaptureCore.QueueSettings

    private let core: PublisherCore<FrameFanOut>
    /// Whether a thread hands the wants of all consumers to the capture, and whether they have changed meanwhile.
    private let passing = Locked((isUnderWay: false, isOutdated: false))

    /// - Parameters:
    ///   - capture: the source of the frames; the publisher sets its consumer, and releases it in the end.
    ///   - clock: the clock for ages and repeats.
    public init(_ capture: any VideoCapture, clock: any CaptureClock = MonotonicClock()) {
        core = PublisherCore(capture, FrameFanOut(clock: clock))
    }

    deinit {
        close()
    }

    /// The capture that is published now.
    public var capture: any VideoCapture { core.capture }

    // MARK: Life

    /// Initializes the capture if necessary, and starts it.
    ///
    /// - Throws: the capture's errors, and `invalidState` once the publisher is closed.
    public func start() throws(CaptureError) { try core.start() }

    /// Stops the capture. When it returns, no call of a consumer is running. The frames in queues with the policy
    /// `block` (files) have been delivered; those in other queues are dropped and counted as abandoned. Consumers stay
    /// for the next start.
    ///
    /// - Throws: the capture's errors; `stalled` when a consumer has not returned within the timeout of its queue. The
    ///   frames that waited for it are dropped, and its call may still be running.
    public func stop() throws(CaptureError) { try core.stop() }

    /// Stops, releases the capture, and ends every subscription. Harmless when called twice. A consumer that does not
    /// return within the timeout of its queue is left behind: its thread ends when the call returns.
    public func close() { core.close() }

    // MARK: Consumers

    /// Adds a consumer, which gets every frame from now on. It is held until it is removed.
    ///
    /// - Parameters:
    ///   - consumer: takes the frames, on a separate thread; an ``InlineConsumer`` on the capture's, where it can.
    ///   - name: for statistics and the consumer's thread.
    ///   - queue: its queue; the default is a live viewer's.
    /// - Throws: `CaptureError` with the code `system` when no thread can be had, and `invalidState` once it is closed.
    @discardableResult
    public func add(
        _ consumer: any VideoCaptureConsumer, name: String = "consumer", queue: QueueSettings = QueueSettings()
    ) throws(CaptureError) -> PublisherSubscription {
        try core.checkIsOpen("add \(name)")
        let subscription = try PublisherSubscription(
            consumer, name: name,
            queue: FrameQueue(queue),
            clock: core.fanOut.clock,
            onWants: { [weak self] in self?.passWantsOn() })
        subscription.connectFeedback { [weak self] in self?.requestRefreshFrame() }
        core.fanOut.add(subscription)
        passWantsOn()
        return subscription
    }

    /// Removes a consumer. When it returns, no call of the consumer is running and none will come. If it is called from
    /// inside `consumeFrame`, that holds once that call has returned. Waiting frames are delivered first, or dropped
    /// with the policy `dropOldest`. A consumer that does not return within the timeout of its queue
    /// is left behind: its thread ends when the call returns.
    public func remove(_ subscription: PublisherSubscription) {
        core.fanOut.remove(subscription)
        subscription.end(since: MonotonicClock().now)
        passWantsOn()
    }

    /// Asks the capture for a complete fresh frame; see ``VideoCapture/requestRefreshFrame()``.
    public func requestRefreshFrame() { capture.requestRefreshFrame() }

    /// Hands the wants of all consumers to the capture: one thread at a time, so that older ones never replace newer ones.
    private func passWantsOn() {
        let isFirst = passing.withLock { passing in
            defer { passing = (isUnderWay: true, isOutdated: passing.isUnderWay) }
            return !passing.isUnderWay
        }
        guard isFirst else { return }
        repeat {
            capture.adapt(to: core.fanOut.mergedWants)
        } while passing.withLock { passing in
            defer { passing = (isUnderWay: passing.isOutdated, isOutdated: false) }
            return passing.isOutdated
        }
    }

    // MARK: Pictures

    /// Sends other pictures in place of the capture's until ``unmute()``; timestamps go on.
    public func mute(_ mode: VideoPublisher.MuteMode = .black) { core.fanOut.setMute(mode) }

    /// Ends ``mute(_:)``.
    public func unmute() { core.fanOut.setMute(nil) }

    /// The rate below which the last picture is sent again, so that viewers of a static source keep getting
    /// frames; nil, the default, for never.
    public var minimumFrameRate: FrameRate? {
        get { core.fanOut.minimumFrameRate }
        set { core.fanOut.setMinimumFrameRate(newValue, isRunning: capture.isCaptureStarted) }
    }

    /// Replaces the capture by another one, without a gap: the new one is started, its first frame takes over, then the
    /// old one is stopped and released. Timestamps and sequence numbers continue.
    ///
    /// While the publisher is stopped the captures are only exchanged.
    ///
    /// - Parameters:
    ///   - new: the capture that takes over.
    ///   - timeout: how long its first frame may take.
    /// - Throws: the errors of the new capture, `stalled` when it delivers no frame in time, `invalidState` while
    ///   another replacement is under way, and when the publisher is stopped or closed
    ///   meanwhile. The old capture then stays.
    public func replaceCapture(with new: any VideoCapture, timeout: Duration = .seconds(10)) throws(CaptureError) {
        try core.replaceCapture(with: new, timeout: timeout)
        // They may have changed meanwhile, and reached the old one.
        if !core.fanOut.places.isEmpty { passWantsOn() }
    }

    /// Statistics of the capture and of each consumer.
    public var statistics: VideoPublisher.Statistics {
        VideoPublisher.Statistics(
            capture: capture.statistics, consumers: core.fanOut.places.map(\.statistics), repeats: core.fanOut.repeats)
    }
}

extension VideoPublisher {
    /// What a muted publisher sends in place of the pictures.
    public enum MuteMode: String, Sendable, Hashable, CaseIterable {
        /// Black pictures of the same size, format, colour and timestamps.
        case black
        /// The last picture before the mute, again and again; black when there was none.
        case holdLast
    }
}
