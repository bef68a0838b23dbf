import VideoCapturing

/// Limits the notices of a run, so that a peer that connects and leaves thousands of times fills neither the log nor the
/// statistics file: 20 at once, and then one per second.
struct NoticeLimiter {
    private static let burst: Int64 = 20
    private static let interval: Int64 = 1_000_000_000

    /// The time from which on all of the burst is available again.
    private var debtEnd = MediaTime(nanoseconds: .min)
    private var leftOut = 0

    /// Takes a notice.
    ///
    /// - Returns: the lines to show: none after too many notices, the notice, or before it the number of left-out ones.
    mutating func admit(_ notice: String, at now: MediaTime) -> [String] {
        let begin = max(debtEnd, now)
        guard begin.nanoseconds(since: now) <= (NoticeLimiter.burst - 1) * NoticeLimiter.interval else {
            leftOut += 1
            return []
        }
        debtEnd = begin.advanced(by: .nanoseconds(NoticeLimiter.interval))
        defer { leftOut = 0 }
        switch leftOut {
        case 0: return [notice]
        case 1: return ["1 more notice like these was left out.", notice]
        default: return ["\(leftOut) more notices like these were left out.", notice]
        }
    }
}
