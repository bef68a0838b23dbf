/// The treatment of the next frame or chunk of sound when a queue is full.
public enum QueuePolicy: String, Sendable, Hashable, CaseIterable {
    /// The oldest that waits makes room: for live viewers and listeners, who want the present.
    case dropOldest
    /// The new one is turned away: for consumers that must work through what they have begun.
    case dropNewest
    /// The producer waits for room: for files, which want everything. The only policy that can slow a capture down. A queue
    /// with a timeout waits only for a consumer that makes progress.
    case block
}

/// The settings of a consumer's queue: its capacity, its policy when it is full, and timeouts.
public struct QueueSettings: Sendable, Hashable {
    /// How many frames or chunks may wait.
    public var capacity: Int
    /// What happens when it is full.
    public var policy: QueuePolicy
    /// How long the consumer may take over one frame or chunk before it counts as stalled; nil for indefinitely.
    ///
    /// The capture does not wait for a stalled consumer: with the policy ``QueuePolicy/block``, frames that find the queue
    /// full are dropped and counted as refused until the consumer takes one. The publisher's `stop`, `close` and `remove` do
    /// not wait either. A consumer that is slow but returns loses nothing. The timeout does not apply to an `InlineConsumer`
    /// while it is called on the capture's thread.
    public var timeout: Duration?
    /// How long the producer waits for room in a full queue while the consumer makes no progress; then new frames are dropped
    /// and counted as refused until the consumer takes one. Nil for the value of ``timeout``. For a consumer that may wait for
    /// a reader, next to others that must get everything.
    public var blockTimeout: Duration?

    /// The settings of a queue.
    ///
    /// - Parameters:
    ///   - capacity: how many frames or chunks may wait.
    ///   - policy: what happens when it is full.
    ///   - timeout: how long the consumer may take over one before it counts as stalled; nil for indefinitely.
    public init(capacity: Int = 2, policy: QueuePolicy = .dropOldest, timeout: Duration? = .seconds(10)) {
        self.capacity = capacity
        self.policy = policy
        self.timeout = timeout
    }
}
