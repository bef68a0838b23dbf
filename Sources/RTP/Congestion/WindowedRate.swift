/// The rate of the bytes in the last half second, of a clock of milliseconds.
struct WindowedRate {
    private static let slot = 10.0
    private static let slotCount = 50
    private static let shortestCount = 20

    private var bytes = [Int](repeating: 0, count: slotCount)
    /// The newest slot.
    private var last: Int?
    private var first = 0

    /// In bits per second, of the last half second or what there is of it; nil in the first fifth of a second.
    var bitrate: Double? { rate(ofSlots: min(age, WindowedRate.slotCount)) }

    /// Of the newest fifth of a second: soon after a change, and less exact.
    var recentBitrate: Double? { rate(ofSlots: WindowedRate.shortestCount) }

    private var age: Int { last.map { $0 - first } ?? 0 }

    mutating func add(_ count: Int, at time: Double) {
        let slot = Int(clamping: time / WindowedRate.slot)
        guard let newest = last, abs(slot - newest) < WindowedRate.slotCount * 2 else {
            // The first, or the first after a pause or a leap of the clock.
            bytes.withUnsafeMutableBufferPointer { $0.update(repeating: 0) }
            (first, last) = (slot, slot)
            bytes[index(slot)] = count
            return
        }
        if slot > newest {
            for skipped in (newest + 1)...slot { bytes[index(skipped)] = 0 }
            last = slot
        } else if newest - slot >= WindowedRate.slotCount {
            return
        }
        bytes[index(slot)] += count
    }

    private func rate(ofSlots count: Int) -> Double? {
        guard let last, age >= WindowedRate.shortestCount else { return nil }
        // The newest slot is not over yet; what it has belongs to the window all the same.
        var sum = 0
        for slot in (last - count + 1)...last { sum += bytes[index(slot)] }
        return Double(sum) * 8000 / (WindowedRate.slot * Double(count))
    }

    private func index(_ slot: Int) -> Int {
        let rest = slot % WindowedRate.slotCount
        return rest < 0 ? rest + WindowedRate.slotCount : rest
    }
}

extension Int {
    /// The nearest integer; 0 for NaN.
    fileprivate init(clamping value: Double) {
        self = value.isNaN ? 0 : Int(Swift.max(-0x1p52, Swift.min(value, 0x1p52)).rounded(.down))
    }
}
