/// A point on the monotonic clock, in nanoseconds.
///
/// Zero is the epoch of `CLOCK_MONOTONIC` (on Linux: about the time of boot), so values of one
/// boot can be compared with each other and with the timestamps of V4L2 and ALSA drivers, but not
/// with wall-clock time. 64 bits last for 292 years.
public struct MediaTime: Sendable, Hashable, Comparable, InstantProtocol {
    /// Nanoseconds since the epoch of the clock.
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The epoch of the clock.
    public static let zero = MediaTime(nanoseconds: 0)

    public static func < (left: MediaTime, right: MediaTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Saturates instead of overflowing: a timestamp from a damaged file never traps.
    public func advanced(by duration: Duration) -> MediaTime {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.nanoseconds)
        guard overflow else { return MediaTime(nanoseconds: sum) }
        return MediaTime(nanoseconds: nanoseconds < 0 ? .min : .max)
    }

    /// Saturates instead of overflowing.
    public func duration(to other: MediaTime) -> Duration {
        .nanoseconds(other.nanoseconds(since: self))
    }

    /// The time from the right one to the left one; saturates instead of overflowing.
    public static func - (left: MediaTime, right: MediaTime) -> Duration {
        right.duration(to: left)
    }

    /// The time that is a duration later; saturates instead of overflowing.
    public static func + (time: MediaTime, duration: Duration) -> MediaTime { time.advanced(by: duration) }

    /// The time that is a duration earlier; saturates instead of overflowing.
    public static func - (time: MediaTime, duration: Duration) -> MediaTime { time.advanced(by: .zero - duration) }

    /// Moves the time on by a duration.
    public static func += (time: inout MediaTime, duration: Duration) { time = time + duration }

    /// Moves the time back by a duration.
    public static func -= (time: inout MediaTime, duration: Duration) { time = time - duration }

    /// The time itself, or a nanosecond after `last` when it is not later than that: how a line of timestamps is kept
    /// strictly increasing.
    @inlinable package func increasing(after last: MediaTime?) -> MediaTime {
        guard let last, self <= last else { return self }
        return last.advanced(by: .nanoseconds(1))
    }

    /// As the difference, in nanoseconds and without a `Duration`, whose 128 bits cost a hundred instructions: for what
    /// is done with each frame.
    @inlinable package func nanoseconds(since other: MediaTime) -> Int64 {
        let (difference, overflow) = nanoseconds.subtractingReportingOverflow(other.nanoseconds)
        return overflow ? (nanoseconds < 0 ? .min : .max) : difference
    }
}

extension MediaTime: CustomStringConvertible {
    /// The seconds with all nine decimals, as in `12.345678901 s`.
    public var description: String {
        let magnitude = nanoseconds.magnitude
        let fraction = String(magnitude % 1_000_000_000)
        let padding = String(repeating: "0", count: 9 - fraction.count)
        return "\(nanoseconds < 0 ? "-" : "")\(magnitude / 1_000_000_000).\(padding)\(fraction) s"
    }
}

extension Duration {
    /// The duration in whole nanoseconds, rounded toward zero and clamped to 64 bits.
    public var nanoseconds: Int64 {
        // 10⁹ is 2⁹ · 5⁹: without the nine bits an hour fits into 64, where a division costs a tenth of that in 128.
        guard attoseconds >= 0, attoseconds < 1 << 72 else { return Int64(clamping: attoseconds / 1_000_000_000) }
        return Int64(truncatingIfNeeded: attoseconds >> 9) / 1_953_125
    }

    /// The duration in seconds, for display and for ratios; not exact.
    public var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }

    /// The nearest whole nanoseconds, clamped to 64 bits; zero for NaN. For times computed from numbers
    /// that files and peers state: `Duration.seconds` and `Int64` trap on values out of range.
    package init(clampingNanoseconds nanoseconds: Double) {
        let rounded = nanoseconds.rounded()
        // 2⁶³ itself is too large already.
        let limit = 0x1p63
        self = .nanoseconds(rounded.isNaN ? 0 : rounded >= limit ? .max : rounded < -limit ? .min : Int64(rounded))
    }
}
