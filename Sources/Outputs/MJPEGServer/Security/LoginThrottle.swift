import VideoCapturing

/// Makes those wait who give wrong passwords: after a few of an address, one second, and twice as long with each further
/// one. Remembers a limited number of addresses.
struct LoginThrottle {
    private struct Entry {
        var failures = 0
        var last = MediaTime.zero
        var blockedUntil = MediaTime.zero
    }

    static let longestDelay: Duration = .seconds(32)
    /// How long after its last wrong password an address is forgotten.
    static let memory: Duration = .seconds(600)
    /// The maximum number of addresses that are remembered; of more, the one that has been quiet for the longest time is
    /// forgotten.
    static let capacity = 4096

    private let freeAttempts: Int
    private var entries: [Peer: Entry] = [:]

    /// - Parameter freeAttempts: the number of wrong passwords after which an address has to wait.
    init(freeAttempts: Int) { self.freeAttempts = freeAttempts }

    /// How many addresses are remembered.
    var count: Int { entries.count }

    /// How long a peer has to wait before its next password is looked at; nil when it need not.
    func delay(for peer: Peer, at now: MediaTime) -> Duration? {
        guard let entry = entries[peer], entry.blockedUntil > now else { return nil }
        return entry.blockedUntil - now
    }

    /// A peer has given a wrong password.
    mutating func recordFailure(of peer: Peer, at now: MediaTime) {
        var entry = entries[peer] ?? Entry()
        if now - entry.last > LoginThrottle.memory { entry = Entry() }
        entry.failures += 1
        entry.last = now
        let excess = entry.failures - freeAttempts
        if excess > 0 {
            // 32 seconds after six.
            let delay = Duration.seconds(1 << min(excess - 1, 5))
            entry.blockedUntil = now.advanced(by: min(delay, LoginThrottle.longestDelay))
        }
        entries[peer] = entry
        guard entries.count > LoginThrottle.capacity else { return }
        if let quietest = entries.min(by: { $0.value.last < $1.value.last }) { entries[quietest.key] = nil }
    }
}
