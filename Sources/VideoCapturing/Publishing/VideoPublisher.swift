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

    private let fanOut: FrameFanOut
    private let current: Locked<Current>

    private struct Current {
        var capture: any VideoCapture
        /// Held here, since a capture holds its consumer weakly.
        var inlet: CaptureInlet
        var isReplacing = false
        /// The one that is to take over.
        var incoming: (any VideoCapture)?
        /// Between start and stop, even when the capture has ended on its own account.
        var isStarted = false
        var isClosed = false
    }

    /// - Parameters:
    ///   - capture: the source of the frames; the publisher sets its consumer, and releases it in the end.
    ///   - clock: the clock for ages and repeats.
    public init(_ capture: any VideoCapture, clock: any CaptureClock = MonotonicClock()) {
        fanOut = FrameFanOut(clock: clock)
        let inlet = CaptureInlet(fanOut)
        fanOut.setInlet(inlet)
        capture.videoCaptureConsumer = inlet
        current = Locked(Current(capture: capture, inlet: inlet))
    }

    deinit {
        close()
    }

    /// The capture that is published now.
    public var capture: any VideoCapture { current.withLock { $0.capture } }

    // MARK: Life

    /// Initializes the capture if necessary, and starts it.
    ///
    /// - Throws: the capture's errors, and `invalidState` once the publisher is closed.
    public func start() throws(CaptureError) {
        try checkIsOpen("start the publisher")
        let capture = self.capture
        for subscription in fanOut.subscriptions { subscription.queue.setStopping(false) }
        try capture.initCapture()
        fanOut.open(current.withLock { $0.inlet })
        try capture.startCapture()
        current.withLock { $0.isStarted = true }
        fanOut.startRepeating()
    }

    /// Stops the capture. When it returns, no call of a consumer is running. The frames in queues with the policy
    /// `block` (files) have been delivered; those in other queues are dropped and counted as abandoned. Consumers stay
    /// for the next start.
    ///
    /// - Throws: the capture's errors; `stalled` when a consumer has not returned within the timeout of its queue. The
    ///   frames that waited for it are dropped, and its call may still be running.
    public func stop() throws(CaptureError) {
        current.withLock { $0.isStarted = false }
        // The capture may wait for room in a queue whose consumer is the one that calls this.
        for subscription in fanOut.subscriptions { subscription.queue.setStopping(true) }
        fanOut.stopRepeating()
        let stopped = Result { () throws(CaptureError) in try stopCaptures() }
        let subscriptions = fanOut.subscriptions
        let start = MonotonicClock().now
        // First of all, so that no live queue is worked through while a file is waited for.
        for subscription in subscriptions where subscription.queue.policy == .dropOldest {
            subscription.queue.discardWaitingFrames()
        }
        let stalled = subscriptions.filter { !$0.awaitRest(since: start) }
        try stopped.get()
        guard !stalled.isEmpty else { return }
        throw CaptureError(
            .stalled, operation: "stop", subject: stalled.map(\.name).joined(separator: ", "),
            message: "The consumer has not returned within its timeout, and the waiting frames were dropped; "
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
        fanOut.stopRepeating()
        try? stopCaptures()
        capture.releaseCapture()
        let start = MonotonicClock().now
        for subscription in fanOut.removeAll() {
            subscription.end(discardingWaitingFrames: subscription.queue.policy == .dropOldest, since: start)
        }
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
        try checkIsOpen("add \(name)")
        let subscription = try PublisherSubscription(
            consumer, name: name,
            queue: FrameQueue(queue),
            clock: fanOut.clock,
            onWants: { [weak self] in self?.passWantsOn() })
        subscription.connectFeedback { [weak self] in self?.requestRefreshFrame() }
        fanOut.add(subscription)
        passWantsOn()
        return subscription
    }

    /// Removes a consumer. When it returns, no call of the consumer is running and none will come. If it is called from
    /// inside `consumeFrame`, that holds once that call has returned. Waiting frames are delivered first, or dropped
    /// with the policy `dropOldest`. A consumer that does not return within the timeout of its queue
    /// is left behind: its thread ends when the call returns.
    public func remove(_ subscription: PublisherSubscription) {
        fanOut.remove(subscription)
        subscription.end(
            discardingWaitingFrames: subscription.queue.policy == .dropOldest, since: MonotonicClock().now)
        passWantsOn()
    }

    /// Asks the capture for a complete fresh frame; see ``VideoCapture/requestRefreshFrame()``.
    public func requestRefreshFrame() { capture.requestRefreshFrame() }

    private func passWantsOn() {
        capture.adapt(to: fanOut.mergedWants)
    }

    // MARK: Pictures

    /// Sends other pictures in place of the capture's until ``unmute()``; timestamps go on.
    public func mute(_ mode: VideoPublisher.MuteMode = .black) { fanOut.setMute(mode) }

    /// Ends ``mute(_:)``.
    public func unmute() { fanOut.setMute(nil) }

    /// The rate below which the last picture is sent again, so that viewers of a static source keep getting
    /// frames; nil, the default, for never.
    public var minimumFrameRate: FrameRate? {
        get { fanOut.minimumFrameRate }
        set { fanOut.setMinimumFrameRate(newValue, isRunning: capture.isCaptureStarted) }
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
        let old = current.withLock { current -> (any VideoCapture)? in
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
        let inlet = CaptureInlet(fanOut)
        new.videoCaptureConsumer = inlet
        new.adapt(to: fanOut.mergedWants)
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
    public var statistics: VideoPublisher.Statistics {
        VideoPublisher.Statistics(
            capture: capture.statistics, consumers: fanOut.subscriptions.map(\.statistics), repeats: fanOut.repeats)
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
