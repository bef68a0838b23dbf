/// A bounded queue of frames between two threads, with a stated policy and a count of what it drops.
///
/// The damage of what it hands out is true for the consumer that takes it out: what a dropped frame has changed is
/// added to the next one, and of the first frame of all it is unknown.
///
/// Safe to use from any thread. No allocation once made.
package final class FrameQueue: Sendable {
    /// What became of a frame that was pushed.
    package enum PushResult: Sendable, Hashable {
        /// It waits in the queue.
        case accepted
        /// It waits in the queue; the oldest frame was dropped for it.
        case replacedOldest
        /// The queue was full; the frame was dropped.
        case refused
        /// The queue is closed; the frame was dropped.
        case closed
    }

    /// The most frames that wait.
    package let capacity: Int
    /// What happens when it is full.
    package let policy: QueuePolicy
    /// How long a consumer may make no progress before it counts as stalled; nil for indefinitely. Its producer then
    /// no longer waits for room until the consumer takes a frame.
    package let timeout: Duration?
    /// How long a producer waits for room while the consumer makes no progress; nil for ``timeout``.
    private let blockTimeout: Duration?
    private let numbersFrames: Bool

    struct Contents {
        var slots: [VideoFrame?]
        var first = 0
        var count = 0
        var isClosed = false
        /// No producer waits; see ``FrameQueue/setStopping(_:)``.
        var isStopping = false
        var received: UInt64 = 0
        /// The number of frames that were put in or turned away.
        var nextNumber: UInt64 = 0
        var dropped = CaptureStatistics.DropCounts()
        /// What dropped frames have changed: owed to the frame at the front when the newest wins, to the next that
        /// is put in otherwise.
        var accumulator = DamageAccumulator.unseen
        var waitingProducers = 0
        var waitingConsumers = 0
        /// When the consumer has last taken or returned a frame; only where there is a timeout of either kind.
        var lastProgress = MediaTime.zero
        /// The consumer has made no progress for the timeout, and none since.
        var isStalled = false
        /// A frame was taken for delivery and its consumer has not returned.
        var isDelivering = false
        /// Where that is not the consumer's own thread: the one that delivers.
        var inlineThread: UInt?
        /// Someone waits for a delivery to end, or for the queue to be empty as well.
        var isRestAwaited = false
        /// After how long without a frame the consumer wants the last one again; nil for never.
        var repeatInterval: Duration?
        /// Whether there ever was a `repeatInterval`. Repeats are timed on the consumer's thread, which must see all.
        var mayHaveRepeated = false
        /// Whether a frame has been handed out since the last stop.
        var mayRepeat = false
        /// `repeatInterval`, but nil while there is nothing to repeat.
        var activeRepeatInterval: Duration? { mayRepeat ? repeatInterval : nil }

        mutating func append(_ frame: consuming VideoFrame) {
            slots[(first + count) % slots.count] = frame
            count += 1
        }

        mutating func removeFirst() -> VideoFrame? {
            guard count > 0 else { return nil }
            let frame = slots[first].take()
            first = (first + 1) % slots.count
            count -= 1
            return frame
        }
    }

    let contents: Locked<Contents>

    /// - Parameters:
    ///   - capacity: the most frames that wait; at least 1.
    ///   - policy: what happens to a frame that finds the queue full.
    ///   - timeout: how long a full queue is waited for while its consumer makes no progress; nil for indefinitely.
    package convenience init(capacity: Int, policy: QueuePolicy, timeout: Duration? = nil) {
        self.init(capacity: capacity, policy: policy, timeout: timeout, numbersFrames: false)
    }

    /// - Parameter settings: as a publisher's consumer has them.
    package convenience init(_ settings: QueueSettings) {
        self.init(
            capacity: settings.capacity, policy: settings.policy, timeout: settings.timeout,
            blockTimeout: settings.blockTimeout, numbersFrames: false)
    }

    /// - Parameter numbersFrames: whether a frame's sequence number becomes the number of frames that were put in or turned
    ///   away before it, so that the reader sees the number dropped before it, whatever happens to later frames.
    init(
        capacity: Int, policy: QueuePolicy, timeout: Duration? = nil, blockTimeout: Duration? = nil,
        numbersFrames: Bool
    ) {
        self.blockTimeout = blockTimeout
        self.numbersFrames = numbersFrames
        self.capacity = max(1, capacity)
        self.policy = policy
        self.timeout = timeout
        // One more than the capacity, for the frame that waits when the producer is stopped.
        contents = Locked(Contents(slots: Array(repeating: nil, count: self.capacity + 1)))
    }

    /// Puts a frame in. Blocks only with the policy `QueuePolicy.block`, until there is room, the queue is closed, or
    /// the consumer has made no progress for the ``timeout``: then the frame is refused.
    @discardableResult
    package func push(_ frame: VideoFrame) -> PushResult {
        push(frame, isWanted: { true })
    }

    /// As ``push(_:)``, but a wait for room also ends, with `refused`, when `isWanted` is false; call
    /// ``wakeWaiters()`` when it has become so. It is called with the queue locked.
    package func push(_ frame: VideoFrame, isWanted: () -> Bool) -> PushResult {
        // A frame that is dropped is released after the lock, since its release may run a driver's code.
        var displaced: VideoFrame?
        var hasArrived = false
        var mustWake = false
        var limit: Limit?
        let result = waitWithLimit(&limit) { contents, limit -> PushResult? in
            if !hasArrived {
                contents.received += 1
                hasArrived = true
            }
            let number = contents.nextNumber
            contents.nextNumber += 1
            if contents.isClosed {
                contents.dropped.abandoned += 1
                return .closed
            }
            var result = PushResult.accepted
            if contents.count >= capacity {
                switch policy {
                case .dropOldest:
                    displaced = contents.removeFirst()
                    if let displaced { contents.accumulator.add(displaced) }
                    contents.dropped.replaced += 1
                    result = .replacedOldest
                case .dropNewest:
                    contents.accumulator.add(frame)
                    contents.dropped.refused += 1
                    return .refused
                case .block where contents.isStopping:
                    guard contents.count < contents.slots.count else {
                        contents.accumulator.add(frame)
                        contents.dropped.abandoned += 1
                        return .refused
                    }
                case .block:
                    guard isWanted(), !isStalled(&contents, &limit), !isPassedBy(&contents, &limit) else {
                        contents.accumulator.add(frame)
                        contents.dropped.refused += 1
                        return .refused
                    }
                    contents.waitingProducers += 1
                    contents.nextNumber = number
                    return nil
                }
            }
            var frame = frame
            if policy != .dropOldest { contents.accumulator.flush(into: &frame) }
            if numbersFrames { frame.sequenceNumber = number }
            contents.append(consume frame)
            mustWake = contents.waitingConsumers > 0
            return result
        }
        if mustWake { contents.wakeAll() }
        _ = displaced
        return result
    }

    /// Takes the oldest frame out; blocks until there is one. Nil once the queue is closed and empty.
    package func pop() -> VideoFrame? {
        pop(isWanted: { _ in true })
    }

    /// As ``pop()``, but the wait also ends, with nil, when `isWanted`, told whether the queue is empty, is
    /// false; call ``wakeWaiters()`` when it has become so. It is called with the queue locked.
    package func pop(isWanted: (_ isEmpty: Bool) -> Bool) -> VideoFrame? {
        var mustWake = false
        let frame: VideoFrame?? = contents.wait { contents -> VideoFrame?? in
            guard isWanted(contents.count == 0) else { return .some(nil) }
            if let frame = takeFirst(&contents, mustWake: &mustWake) { return .some(frame) }
            guard !contents.isClosed else { return .some(nil) }
            contents.waitingConsumers = 1
            return nil
        }
        if mustWake { contents.wakeAll() }
        return frame!
    }

    func takeFirst(_ contents: inout Contents, mustWake: inout Bool) -> VideoFrame? {
        guard var frame = contents.removeFirst() else { return nil }
        if policy == .dropOldest { contents.accumulator.flush(into: &frame) }
        mustWake = contents.waitingProducers > 0
        contents.waitingProducers = 0
        contents.waitingConsumers = 0
        recordProgress(&contents)
        return frame
    }

    // MARK: Stalls

    /// The end of a wait for the consumer: later with each progress that it makes.
    typealias Limit = (start: MediaTime, deadline: MediaTime)

    /// As `contents.wait`, until the limit that `condition` sets or moves with ``isStalled(_:_:)``.
    func waitWithLimit<Result>(
        _ limit: inout Limit?, for condition: (inout Contents, inout Limit?) -> Result?
    ) -> Result {
        while true {
            let deadline = limit?.deadline
            let result = contents.wait(until: deadline) { contents -> Result?? in
                if let result = condition(&contents, &limit) { return result }
                // A new limit: waits again, until that.
                return limit?.deadline == deadline ? nil : .some(nil)
            }
            if let result, let result { return result }
        }
    }

    /// Whether the consumer, for which something waits, is stalled. Begins or moves the limit of the wait.
    func isStalled(_ contents: inout Contents, _ limit: inout Limit?) -> Bool {
        guard let timeout, !contents.isStalled else { return contents.isStalled }
        let start = limit?.start ?? MonotonicClock().now
        let deadline = max(start, contents.lastProgress).advanced(by: timeout)
        limit = (start, deadline)
        contents.isStalled = MonotonicClock().now >= deadline
        return contents.isStalled
    }

    /// Whether a producer waits no longer for room, since the consumer has made no progress.
    private func isPassedBy(_ contents: inout Contents, _ limit: inout Limit?) -> Bool {
        guard let blockTimeout else { return false }
        let deadline = contents.lastProgress.advanced(by: blockTimeout)
        // That of the other timeout was set in this pass.
        let other = timeout == nil ? deadline : limit?.deadline ?? deadline
        limit = (limit?.start ?? MonotonicClock().now, min(other, deadline))
        return MonotonicClock().now >= deadline
    }

    func recordProgress(_ contents: inout Contents) {
        guard timeout != nil || blockTimeout != nil else { return }
        contents.lastProgress = MonotonicClock().now
        contents.isStalled = false
    }

    /// Ends the queue: further frames are turned away, waits end. Frames that wait can still be taken out,
    /// unless they are discarded, which counts them as abandoned.
    package func close(discardingWaitingFrames: Bool = false) {
        contents.withLock { $0.isClosed = true }
        if discardingWaitingFrames { discardWaitingFrames() }
        contents.wakeAll()
    }

    /// Drops all frames that wait and counts them as abandoned.
    package func discardWaitingFrames() {
        while true {
            let frame = contents.withLock { contents in
                let frame = contents.removeFirst()
                if let frame {
                    contents.accumulator.add(frame)
                    contents.dropped.abandoned += 1
                }
                return frame
            }
            guard frame != nil else { break }
        }
        contents.wakeAll()
    }

    /// Makes a producer that waits for room return with its frame, and rejects later frames while the queue is
    /// full; false ends that. For stopping a capture without waiting for its slowest consumer. The frame shown up
    /// to now will not be repeated.
    func setStopping(_ isStopping: Bool) {
        contents.withLock { contents in
            contents.isStopping = isStopping
            if isStopping { contents.mayRepeat = false }
        }
        contents.wakeAll()
    }

    /// Lets blocked threads look at their conditions again.
    package func wakeWaiters() {
        // Through the lock: a thread between its check and its sleep must not miss this.
        contents.withLock { _ in }
        contents.wakeAll()
    }

    /// The number of frames that wait now.
    package var count: Int { contents.withLock { $0.count } }

    /// Whether the consumer counts as stalled; see ``timeout``.
    package var isStalled: Bool { contents.withLock { $0.isStalled } }

    /// Frames that were pushed.
    package var received: UInt64 { contents.withLock { $0.received } }

    /// Frames that were dropped, by reason.
    package var dropped: CaptureStatistics.DropCounts { contents.withLock { $0.dropped } }
}
