import VideoCapturing

/// Decides when damaged frames are worth telling of: at more than five in a hundred over the second that follows a
/// damaged one, and then not again for ten seconds.
struct DamageReport {
    /// Nil while no frame is damaged, so that a camera without faults costs nothing.
    private var windowStart: MediaTime?
    private var quietUntil: MediaTime?
    private var damaged: UInt64 = 0
    private var total: UInt64 = 0

    /// Whether a buffer that is not damaged is to be noted as well.
    var isCounting: Bool { windowStart != nil }

    /// Takes one buffer; what is to be told, if anything.
    mutating func note(isDamaged: Bool, at now: MediaTime) -> (damaged: UInt64, total: UInt64)? {
        guard let start = windowStart else {
            // The one that begins it is not counted: there would be one too many otherwise.
            if isDamaged { windowStart = now }
            return nil
        }
        total += 1
        if isDamaged { damaged += 1 }
        guard now.nanoseconds(since: start) >= 1_000_000_000 else { return nil }
        defer {
            windowStart = nil
            damaged = 0
            total = 0
        }
        guard damaged * 20 > total, quietUntil.map({ now >= $0 }) ?? true else { return nil }
        quietUntil = now.advanced(by: .seconds(10))
        return (damaged, total)
    }
}
