/// What a full queue does with the next frame or chunk of sound.
public enum QueuePolicy: String, Sendable, Hashable, CaseIterable {
    /// The oldest that waits makes room: for live viewers and listeners, who want the present.
    case dropOldest
    /// The new one is turned away: for consumers that must work through what they have begun.
    case dropNewest
    /// The producer waits for room: for files, which want everything. The only policy that can slow a capture down. A queue
    /// with a timeout waits only for a consumer that makes progress.
    case block
}

/// A consumer's queue: how much may wait, and what happens when it is full.
public struct QueueSettings: Sendable, Hashable {
    /// How many frames or chunks may wait.
    public var capacity: Int
    /// What happens when it is full.
    public var policy: QueuePolicy
    /// How long the consumer may take over one frame or chunk before it counts as stalled; nil for indefinitely.
    ///
    /// A stalled consumer is waited for neither by the capture (with the policy ``QueuePolicy/block``: what finds the queue
    /// full is dropped and counted as refused until it takes one) nor by the publisher's `stop`, `close` and `remove`. One
    /// that is slow but returns loses nothing. An `InlineConsumer` is outside this while it is called on the capture's
    /// thread.
    public var timeout: Duration?
    /// How long the producer waits for room in a full queue while the consumer makes no progress; then new frames are dropped
    /// and counted as refused until the consumer takes one. Nil for as long as ``timeout``. For a consumer that may wait for
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
