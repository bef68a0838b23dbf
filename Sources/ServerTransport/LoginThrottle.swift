import CaptureCore

/// Delays clients that give wrong passwords: after a few from one address by one second, and twice as long with each one more.
/// Remembers a limited number of addresses.
package struct LoginThrottle {
    private struct Entry {
        var failures = 0
        var last = MediaTime.zero
        var blockedUntil = MediaTime.zero
    }

    package static let maximumDelay: Duration = .seconds(32)
    /// The time after its last wrong password until an address is forgotten.
    package static let memory: Duration = .seconds(600)
    /// The maximum number of addresses that are remembered; of more, the one whose last wrong password is the oldest is
    /// forgotten.
    package static let capacity = 4096

    private let freeAttempts: Int
    private var entries: [Peer: Entry] = [:]

    /// - Parameter freeAttempts: the number of wrong passwords after which an address has to wait.
    package init(freeAttempts: Int) { self.freeAttempts = freeAttempts }

    /// The number of addresses that are remembered.
    package var count: Int { entries.count }

    /// The time that a peer has to wait before its next password is checked; nil when it need not.
    package func delay(for peer: Peer, at now: MediaTime) -> Duration? {
        guard let entry = entries[peer], entry.blockedUntil > now else { return nil }
        return entry.blockedUntil - now
    }

    /// Counts a wrong password of a peer.
    package mutating func recordFailure(of peer: Peer, at now: MediaTime) {
        var entry = entries[peer] ?? Entry()
        if now - entry.last > LoginThrottle.memory { entry = Entry() }
        entry.failures += 1
        entry.last = now
        let excess = entry.failures - freeAttempts
        if excess > 0 {
            // 32 seconds after six.
            let delay = Duration.seconds(1 << min(excess - 1, 5))
            entry.blockedUntil = now.advanced(by: min(delay, LoginThrottle.maximumDelay))
        }
        entries[peer] = entry
        guard entries.count > LoginThrottle.capacity else { return }
        if let oldest = entries.min(by: { $0.value.last < $1.value.last }) { entries[oldest.key] = nil }
    }
}
