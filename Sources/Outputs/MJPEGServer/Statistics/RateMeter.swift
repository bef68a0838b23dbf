import VideoCapturing

/// An amount per second, over the last two seconds. Fixed memory.
struct RateMeter {
    private static let slotLength: Int64 = 250_000_000

    /// The slot that is being filled and the eight before it, without an allocation.
    private var amounts: (Int64, Int64, Int64, Int64, Int64, Int64, Int64, Int64, Int64) = (0, 0, 0, 0, 0, 0, 0, 0, 0)
    /// The number of the newest slot since the epoch of the clock.
    private var newest: Int64 = .min
    /// The number of the slot in which counting began.
    private var first: Int64 = .min

    mutating func add(_ amount: Int64, at time: MediaTime) {
        advance(to: time.nanoseconds / RateMeter.slotLength)
        withUnsafeMutableBytes(of: &amounts) { bytes in
            bytes.bindMemory(to: Int64.self)[Int(newest % 9)] += amount
        }
    }

    /// Over the slots that have ended; zero until the first has.
    func perSecond(at time: MediaTime) -> Double {
        guard newest != .min else { return 0 }
        let now = time.nanoseconds / RateMeter.slotLength
        var sum: Int64 = 0
        withUnsafeBytes(of: amounts) { bytes in
            let slots = bytes.bindMemory(to: Int64.self)
            let oldest = max(now - 8, newest - 8, 0)
            // Empty where the clock has gone back.
            for slot in oldest..<max(oldest, now) where slot <= newest { sum += slots[Int(slot % 9)] }
        }
        let span = min(8, now - first)
        return span > 0 ? Double(sum) / (Double(span) * 0.25) : 0
    }

    private mutating func advance(to slot: Int64) {
        if newest == .min {
            first = slot
            newest = slot
            return
        }
        guard slot > newest else { return }
        withUnsafeMutableBytes(of: &amounts) { bytes in
            let slots = bytes.bindMemory(to: Int64.self)
            for skipped in max(newest + 1, slot - 8)...slot { slots[Int(skipped % 9)] = 0 }
        }
        newest = slot
    }
}
