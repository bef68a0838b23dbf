import VideoCapturing

/// Decides when damaged frames are worth telling of: at more than five in a hundred over a second, and then not again
/// for ten seconds.
struct DamageReport {
    private var windowStart: MediaTime?
    private var quietUntil: MediaTime?
    private var damaged: UInt64 = 0
    private var total: UInt64 = 0

    /// Takes one buffer; what is to be told, if anything.
    mutating func note(isDamaged: Bool, at now: MediaTime) -> (damaged: UInt64, total: UInt64)? {
        let start = windowStart ?? now
        windowStart = start
        total += 1
        if isDamaged { damaged += 1 }
        guard now.nanoseconds(since: start) >= 1_000_000_000 else { return nil }
        defer {
            windowStart = now
            damaged = 0
            total = 0
        }
        guard damaged * 20 > total, quietUntil.map({ now >= $0 }) ?? true else { return nil }
        quietUntil = now.advanced(by: .seconds(10))
        return (damaged, total)
    }
}
