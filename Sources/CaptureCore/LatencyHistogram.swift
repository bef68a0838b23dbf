/// Counts durations in bins whose width grows with the value, so that quantiles of any number of samples
/// come from a fixed amount of memory, right to within 3 %.
///
/// A bin spans 1/32 of a power of two. Not thread-safe; keep it behind a lock.
package struct LatencyHistogram: Sendable {
    private static let subBinBits = 5
    private var counts: [UInt64]
    /// The number of samples.
    package private(set) var count: UInt64 = 0
    /// The largest sample, in nanoseconds.
    package private(set) var maximum: Int64 = 0

    package init() {
        counts = [UInt64](repeating: 0, count: (64 - LatencyHistogram.subBinBits + 1) << LatencyHistogram.subBinBits)
    }

    /// Counts one sample; negative ones count as zero.
    package mutating func record(nanoseconds: Int64) {
        let value = UInt64(max(0, nanoseconds))
        counts[LatencyHistogram.bin(of: value)] += 1
        count += 1
        maximum = max(maximum, nanoseconds)
    }

    /// Adds the samples of another histogram.
    package mutating func merge(_ other: LatencyHistogram) {
        for bin in counts.indices { counts[bin] += other.counts[bin] }
        count += other.count
        maximum = max(maximum, other.maximum)
    }

    /// The duration that the given part (0 to 1) of the samples does not exceed; nil without samples.
    package func quantile(_ part: Double) -> Duration? {
        guard count > 0 else { return nil }
        let rank = max(1, UInt64((Double(count) * min(max(part, 0), 1)).rounded(.up)))
        var seen: UInt64 = 0
        for (bin, number) in counts.enumerated() {
            seen += number
            if seen >= rank {
                return .nanoseconds(min(maximum, LatencyHistogram.upperBound(ofBin: bin)))
            }
        }
        return .nanoseconds(maximum)
    }

    private static func bin(of value: UInt64) -> Int {
        let highestBit = 63 - (value | 1).leadingZeroBitCount
        guard highestBit >= subBinBits else { return Int(value) }
        let shift = highestBit - subBinBits
        return ((shift + 1) << subBinBits) + Int((value >> UInt64(shift)) & ((1 << UInt64(subBinBits)) - 1))
    }

    private static func upperBound(ofBin bin: Int) -> Int64 {
        let group = bin >> subBinBits
        let offset = UInt64(bin & ((1 << subBinBits) - 1))
        guard group > 0 else { return Int64(offset) }
        let shift = UInt64(group - 1)
        let base = ((1 << UInt64(subBinBits)) + offset) << shift
        return Int64(clamping: base + (1 << shift) - 1)
    }
}
