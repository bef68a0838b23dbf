/// A bounded queue of chunks between two threads, with a stated policy and a count of the frames that it drops: what
/// `FrameQueue` is for pictures.
///
/// A chunk states the loss before it: one that follows dropped chunks has the discontinuity `lost`.
///
/// Safe to use from any thread. No allocation once made.
final class AudioQueue: Sendable {
    let policy: QueuePolicy
    private let capacity: Int
    private let timeout: Duration?

    private struct Contents {
        var slots: [AudioChunk?]
        var first = 0
        var count = 0
        var isClosed = false
        /// No producer waits; see ``AudioQueue/setStopping(_:)``.
        var isStopping = false
        /// Chunks that were pushed.
        var received: UInt64 = 0
        /// Frames that were dropped.
        var lost = AudioStatistics.LossCounts()
        /// The chunks dropped since the last chunk that was put in, or for `dropOldest` taken out. The very first chunk
        /// continues none.
        var gap = Gap(discontinuity: .start)
        var waitingProducers = 0
        /// When the consumer has last taken or returned a chunk; only where there is a timeout.
        var lastProgress = MediaTime.zero
        /// The consumer has made no progress for the timeout, and none since.
        var isStalled = false
        /// A chunk was taken for delivery and its consumer has not returned.
        var isDelivering = false

        mutating func append(_ chunk: AudioChunk) {
            slots[(first + count) % slots.count] = chunk
            count += 1
        }

        mutating func removeFirst() -> AudioChunk? {
            guard count > 0 else { return nil }
            let chunk = slots[first].take()
            first = (first + 1) % slots.count
            count -= 1
            return chunk
        }
    }

    /// What dropped chunks leave to say.
    private struct Gap {
        var discontinuity: AudioChunk.Discontinuity?

        mutating func add(_ chunk: AudioChunk) {
            discontinuity = .merge(discontinuity, chunk.discontinuity)
            discontinuity = .merge(discontinuity, .lost(frames: Int64(chunk.frameCount)))
        }

        mutating func flush(into chunk: inout AudioChunk) {
            chunk.discontinuity = .merge(discontinuity.take(), chunk.discontinuity)
        }
    }

    private let contents: Locked<Contents>

    /// - Parameter settings: how many chunks may wait, at least one, and what happens then.
    init(_ settings: QueueSettings) {
        policy = settings.policy
        capacity = max(1, settings.capacity)
        timeout = settings.timeout
        // One more than the capacity, for the chunk that waits when the producer is stopped.
        contents = Locked(Contents(slots: Array(repeating: nil, count: capacity + 1)))
    }

    // MARK: The producer

    /// Puts a chunk in; false when it was dropped. Blocks only with the policy `block`, until there is room, the queue is
    /// closed, `isWanted` is false (call ``wakeWaiters()`` then), or the consumer has made no progress for the timeout.
    @discardableResult
    func push(_ chunk: AudioChunk, isWanted: () -> Bool = { true }) -> Bool {
        // A chunk that is dropped is released after the lock.
        var displaced: AudioChunk?
        var hasArrived = false
        var limit: Limit?
        let frames = UInt64(chunk.frameCount)
        let isTaken = waitWithLimit(&limit) { contents, limit -> Bool? in
            if !hasArrived { contents.received += 1 }
            hasArrived = true
            if contents.isClosed {
                contents.lost.abandoned += frames
                return false
            }
            var chunk = chunk
            if contents.count >= capacity {
                switch policy {
                case .dropOldest:
                    displaced = contents.removeFirst()
                    if let displaced {
                        contents.gap.add(displaced)
                        contents.lost.replaced += UInt64(displaced.frameCount)
                    }
                case .dropNewest:
                    contents.gap.add(chunk)
                    contents.lost.refused += frames
                    return false
                case .block where contents.isStopping:
                    guard contents.count < contents.slots.count else {
                        contents.gap.add(chunk)
                        contents.lost.abandoned += frames
                        return false
                    }
                case .block:
                    guard isWanted(), !isStalled(&contents, &limit) else {
                        contents.gap.add(chunk)
                        contents.lost.refused += frames
                        return false
                    }
                    contents.waitingProducers += 1
                    return nil
                }
            }
            if policy != .dropOldest { contents.gap.flush(into: &chunk) }
            contents.append(chunk)
            return true
        }
        contents.wakeAll()
        _ = displaced
        return isTaken
    }

    // MARK: The consumer

    /// Takes the oldest chunk out; blocks until there is one. Nil once the queue is closed and empty, or `isWanted`, told
    /// whether the queue is empty, is false. The queue is not at rest until ``endDelivery()`` is called.
    func pop(isWanted: (_ isEmpty: Bool) -> Bool = { _ in true }) -> AudioChunk? {
        var mustWake = false
        let chunk = contents.wait { contents -> AudioChunk?? in
            guard isWanted(contents.count == 0) else { return .some(nil) }
            guard var chunk = contents.removeFirst() else { return contents.isClosed ? .some(nil) : nil }
            if policy == .dropOldest { contents.gap.flush(into: &chunk) }
            contents.isDelivering = true
            mustWake = contents.waitingProducers > 0
            contents.waitingProducers = 0
            recordProgress(&contents)
            return chunk
        }
        if mustWake { contents.wakeAll() }
        return chunk ?? nil
    }

    /// The consumer has returned.
    func endDelivery() {
        contents.withLock { contents in
            contents.isDelivering = false
            recordProgress(&contents)
        }
        contents.wakeAll()
    }

    /// Blocks until no chunk waits and none is being delivered. False, with the waiting chunks dropped, when the consumer
    /// makes no progress for the timeout.
    ///
    /// - Parameter start: when the wait has begun, perhaps for another queue.
    func awaitRest(since start: MediaTime) -> Bool {
        var limit: Limit? = (start, MediaTime(nanoseconds: .max))
        let isAtRest = waitWithLimit(&limit) { contents, limit -> Bool? in
            guard contents.isDelivering || contents.count > 0 else { return true }
            return isStalled(&contents, &limit) ? false : nil
        }
        if !isAtRest { discardWaiting() }
        return isAtRest
    }

    // MARK: Ends

    /// Ends the queue: further chunks are turned away, waits end. Chunks that wait can still be taken out, unless they are
    /// discarded, which counts them as abandoned.
    func close(discardingWaiting: Bool = false) {
        contents.withLock { $0.isClosed = true }
        if discardingWaiting { discardWaiting() }
        contents.wakeAll()
    }

    /// Drops all chunks that wait and counts them as abandoned.
    func discardWaiting() {
        while true {
            let chunk = contents.withLock { contents in
                let chunk = contents.removeFirst()
                if let chunk {
                    contents.gap.add(chunk)
                    contents.lost.abandoned += UInt64(chunk.frameCount)
                }
                return chunk
            }
            guard chunk != nil else { break }
        }
        contents.wakeAll()
    }

    /// Releases a producer that waits for room, with its chunk, and rejects later chunks while the queue is full;
    /// false ends that. For stopping a capture without waiting for its slowest consumer.
    func setStopping(_ isStopping: Bool) {
        contents.withLock { $0.isStopping = isStopping }
        contents.wakeAll()
    }

    /// Lets blocked threads look at their conditions again.
    func wakeWaiters() {
        // Through the lock: a thread between its check and its sleep must not miss this.
        contents.withLock { _ in }
        contents.wakeAll()
    }

    // MARK: Counts

    /// The number of chunks that wait now.
    var count: Int { contents.withLock { $0.count } }
    /// Whether the consumer has made no progress for the timeout, and none since.
    var isStalled: Bool { contents.withLock { $0.isStalled } }
    /// Chunks that were pushed.
    var received: UInt64 { contents.withLock { $0.received } }
    /// Frames that were dropped, by reason.
    var lost: AudioStatistics.LossCounts { contents.withLock { $0.lost } }

    // MARK: Stalls

    /// The end of a wait for the consumer: later with each progress that it makes.
    private typealias Limit = (start: MediaTime, deadline: MediaTime)

    /// As `contents.wait`, until the limit that `condition` sets or moves with ``isStalled(_:_:)``.
    private func waitWithLimit<Result>(
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
    private func isStalled(_ contents: inout Contents, _ limit: inout Limit?) -> Bool {
        guard let timeout, !contents.isStalled else { return contents.isStalled }
        let start = limit?.start ?? MonotonicClock().now
        let deadline = max(start, contents.lastProgress).advanced(by: timeout)
        limit = (start, deadline)
        contents.isStalled = MonotonicClock().now >= deadline
        return contents.isStalled
    }

    private func recordProgress(_ contents: inout Contents) {
        guard timeout != nil else { return }
        contents.lastProgress = MonotonicClock().now
        contents.isStalled = false
    }
}
