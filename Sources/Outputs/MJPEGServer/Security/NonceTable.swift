import VideoCapturing

/// Which answers to Digest challenges have been used: each counts once (RFC 7616, 5.5), so that who has read one along
/// cannot use it again.
///
/// Entered only by clients that know the password, and limited all the same. A nonce is known by the time at which it was
/// given out.
struct NonceTable {
    private struct Uses {
        var highest: UInt32
        /// Bit n: the count `highest - n` was used. Requests on several connections overtake each other.
        var seen: UInt64
    }

    /// The maximum number of nonces; of more, the oldest one is good no longer.
    static let capacity = 1024

    private let lifetime: Duration
    private var uses: [MediaTime: Uses] = [:]
    /// Nonces up to this one are good no longer.
    private var forgottenUntil = MediaTime(nanoseconds: .min)

    init(lifetime: Duration) { self.lifetime = lifetime }

    /// How many nonces are remembered.
    var count: Int { uses.count }

    /// Whether the nonce is in use by someone who knows the password.
    func isProven(_ nonce: MediaTime) -> Bool { uses[nonce] != nil }

    /// Marks a count of a nonce as used.
    ///
    /// - Returns: false when it has been used, or may have been.
    mutating func use(_ nonce: MediaTime, count: UInt32, at now: MediaTime) -> Bool {
        guard nonce > forgottenUntil, nonce <= now, now - nonce <= lifetime, count > 0 else { return false }
        guard var uses = uses[nonce] else {
            forgetOld(at: now)
            self.uses[nonce] = Uses(highest: count, seen: 1)
            return true
        }
        if count > uses.highest {
            let step = count - uses.highest
            uses.seen = step < 64 ? uses.seen << step | 1 : 1
            uses.highest = count
        } else {
            let age = uses.highest - count
            guard age < 64, uses.seen & 1 << age == 0 else { return false }
            uses.seen |= 1 << age
        }
        self.uses[nonce] = uses
        return true
    }

    private mutating func forgetOld(at now: MediaTime) {
        guard uses.count >= NonceTable.capacity else { return }
        uses = uses.filter { now - $0.key <= lifetime }
        guard uses.count >= NonceTable.capacity, let oldest = uses.keys.min() else { return }
        uses[oldest] = nil
        forgottenUntil = max(forgottenUntil, oldest)
    }
}
