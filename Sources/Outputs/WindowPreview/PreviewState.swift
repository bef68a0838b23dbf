import VideoCapturing

/// What the window's thread shares with those of captures and programs. Safe to use from any thread.
package final class PreviewState: Sendable {
    /// Woken by frames, by feedback and by the end.
    package let waiter = CaptureWaiter(clock: MonotonicClock())

    private let slot = Locked(Slot())
    private let counts = Locked(Counts())
    private let links = Locked(Links())
    private let onEvent: @Sendable (WindowPreview.Event) -> Void
    /// The window's thread; nil before it runs and after its end.
    private let thread = Locked<UInt?>(nil)
    /// Called when the waiter is woken, for a thread that waits for several windows.
    private let wakeHandler = Locked<(@Sendable () -> Void)?>(nil)

    /// The newest frame that is not drawn yet.
    private struct Slot {
        var isOpen = true
        var frame: VideoFrame?
        var accumulator = DamageAccumulator.unseen
        var received: UInt64 = 0
        var replaced: UInt64 = 0
    }

    private struct Counts {
        var statistics = WindowPreview.Statistics()
        var latency = LatencyHistogram()
    }

    private struct Links {
        var feedback: CaptureFeedback?
        var isNew = false
        var attachments: [Attachment] = []
    }

    /// Weak, since the publisher holds the preview through the subscription.
    private struct Attachment {
        weak var publisher: VideoPublisher?
        weak var subscription: PublisherSubscription?
    }

    init(onEvent: @escaping @Sendable (WindowPreview.Event) -> Void) {
        self.onEvent = onEvent
        waiter.beginSession()
    }

    // MARK: Frames

    /// Puts a frame in the place of one that is still waiting.
    func offer(_ frame: VideoFrame) {
        // The old one is released after the lock, since its end may run code of others.
        let old = slot.withLock { slot -> VideoFrame? in
            guard slot.isOpen else { return nil }
            let old = slot.frame
            if let old {
                slot.accumulator.add(old)
                slot.replaced += 1
            }
            slot.received += 1
            slot.frame = frame
            return old
        }
        if old == nil { wake() }
    }

    /// The newest frame, with the damage of those that it has replaced; nil when none has come since.
    func take() -> VideoFrame? {
        slot.withLock { slot in
            guard var frame = slot.frame.take() else { return nil }
            slot.accumulator.flush(into: &frame)
            return frame
        }
    }

    // MARK: Statistics

    var statistics: WindowPreview.Statistics {
        var result = counts.withLock { counts in
            counts.statistics.p50Latency = counts.latency.quantile(0.5)
            counts.statistics.p99Latency = counts.latency.quantile(0.99)
            return counts.statistics
        }
        (result.framesReceived, result.framesReplaced) = slot.withLock { ($0.received, $0.replaced) }
        return result
    }

    func count(_ change: (inout WindowPreview.Statistics) -> Void) { counts.withLock { change(&$0.statistics) } }

    func recordShown(latency: Int64) {
        counts.withLock { counts in
            counts.statistics.framesShown += 1
            counts.latency.record(nanoseconds: latency)
        }
    }

    // MARK: Feedback

    func connectFeedback(_ feedback: CaptureFeedback?) {
        links.withLock { links in
            links.feedback = feedback
            links.isNew = feedback != nil
        }
        wake()
    }

    /// Where wants go, and whether it has heard none yet.
    func currentFeedback() -> (feedback: CaptureFeedback?, isNew: Bool) {
        links.withLock { links in
            defer { links.isNew = false }
            return (links.feedback, links.isNew)
        }
    }

    // MARK: Life

    /// Sets a handler that is also called when the waiter is woken.
    package func setWakeHandler(_ handler: @escaping @Sendable () -> Void) { wakeHandler.withLock { $0 = handler } }

    private func wake() {
        waiter.wakeUp()
        wakeHandler.withLock { $0 }?()
    }

    var isOpen: Bool { slot.withLock { $0.isOpen } }

    func report(_ event: WindowPreview.Event) { onEvent(event) }

    func attach(_ publisher: VideoPublisher, _ subscription: PublisherSubscription) {
        links.withLock { links in
            links.attachments.removeAll { $0.subscription == nil }
            links.attachments.append(Attachment(publisher: publisher, subscription: subscription))
        }
        // An end that came before has not seen it.
        if !isOpen { detach() }
    }

    /// Called on the window's thread when it begins.
    package func begin() { thread.withLock { $0 = CaptureThread.currentIdentifier } }

    /// Called on the window's thread when the window has gone.
    package func end(with event: WindowPreview.Event?) {
        let rest = slot.withLock { slot in
            slot.isOpen = false
            return slot.frame.take()
        }
        _ = rest
        detach()
        if let event { report(event) }
        thread.withLock { $0 = nil }
        thread.wakeAll()
    }

    /// Ends the thread, and waits for that, unless it is that of the caller.
    package func close() {
        waiter.raiseStop()
        wakeHandler.withLock { $0 }?()
        let deadline = MonotonicClock().now.advanced(by: PreviewStart.timeout)
        _ = thread.wait(until: deadline) { thread in
            thread == nil || thread == CaptureThread.currentIdentifier ? () : nil
        }
    }

    private func detach() {
        let attachments = links.withLock { links in
            defer { links.attachments = [] }
            return links.attachments
        }
        for attachment in attachments {
            guard let publisher = attachment.publisher, let subscription = attachment.subscription else { continue }
            publisher.remove(subscription)
        }
    }
}
