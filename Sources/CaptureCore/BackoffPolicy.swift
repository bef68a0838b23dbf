/// The delays between attempts to reach a peer again: growing, spread by chance so that clients that lost the same server do
/// not return at the same moment, and within a budget.
package struct BackoffPolicy: Sendable, Hashable {
    /// The delay before the first attempt; each further delay is twice the previous one.
    package var initialDelay = Duration.milliseconds(500)
    package var maximumDelay = Duration.seconds(30)
    /// The time from the loss after which there is no further attempt; nil for no limit.
    package var budget: Duration?
    /// The number of attempts after a loss; nil for no limit.
    package var maximumAttempts: Int?
    /// The time for which a connection must have lasted until the next loss begins at the first delay again: a peer that
    /// accepts each attempt and drops it at once is not tried at full speed.
    package var recoveryTime = Duration.seconds(10)

    /// The attempts since the loss.
    package private(set) var attempts = 0
    private var loss: MediaTime?
    private var connected: MediaTime?

    package init(
        initialDelay: Duration = .milliseconds(500), maximumDelay: Duration = .seconds(30), budget: Duration? = nil,
        maximumAttempts: Int? = nil
    ) {
        self.initialDelay = initialDelay
        self.maximumDelay = maximumDelay
        self.budget = budget
        self.maximumAttempts = maximumAttempts
    }

    /// Records that the peer has been reached.
    package mutating func didConnect(at now: MediaTime) { connected = now }

    /// The delay before the next attempt, after the connection was lost or an attempt has failed.
    ///
    /// - Parameters:
    ///   - now: the time of the loss or failure.
    ///   - retryAfter: the delay that the peer asked for; it is kept even where it is longer than ``maximumDelay``.
    ///   - generator: of the part that is left to chance, the upper half of each delay.
    /// - Returns: nil when the budget is spent.
    package mutating func nextDelay(
        at now: MediaTime, retryAfter: Duration? = nil, using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        if let connected {
            if now - connected >= recoveryTime { attempts = 0 }
            self.connected = nil
            loss = attempts == 0 ? nil : loss
        }
        let begin = loss ?? now
        loss = begin
        if let maximumAttempts, attempts >= maximumAttempts { return nil }
        // 2 to the power of 20 times any delay is beyond the maximum.
        let full = min(maximumDelay, initialDelay * (1 << min(attempts, 20)))
        let half = max(0, full.nanoseconds / 2)
        let chance = Int64(generator.next().multipliedFullWidth(by: UInt64(half) + 1).high)
        var delay = Duration.nanoseconds(half + chance)
        if let retryAfter { delay = max(delay, retryAfter) }
        if let budget, now.advanced(by: delay) - begin > budget { return nil }
        attempts += 1
        return delay
    }

    package mutating func nextDelay(at now: MediaTime, retryAfter: Duration? = nil) -> Duration? {
        var generator = SystemRandomNumberGenerator()
        return nextDelay(at: now, retryAfter: retryAfter, using: &generator)
    }
}
