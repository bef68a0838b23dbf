import CaptureCore

/// Wall-clock time in the form of the Network Time Protocol, for times of the monotonic clock.
///
/// The wall clock is looked at once, when the value is made: all streams of a session share one, so that their sender
/// reports agree with each other, and a change of the date breaks nothing.
package struct NTPClock: Sendable, Hashable {
    /// The wall-clock time less the monotonic one, in nanoseconds since 1970.
    private let offset: Int64

    /// Seconds from 1900, the epoch of the protocol, to 1970.
    private static let secondsTo1970: UInt64 = 2_208_988_800

    /// - Parameters:
    ///   - wallClock: the time since 1970 at `time`.
    ///   - time: on the monotonic clock.
    package init(wallClock: Duration = wallClockTime(), at time: MediaTime = MonotonicClock().now) {
        offset = wallClock.nanoseconds &- time.nanoseconds
    }

    /// The seconds since 1900 in 32 bits, and their fraction in 32 (RFC 3550, 4).
    package func time(at time: MediaTime) -> UInt64 {
        let total = max(0, time.nanoseconds &+ offset)
        let (seconds, rest) = UInt64(total).quotientAndRemainder(dividingBy: 1_000_000_000)
        return (seconds &+ NTPClock.secondsTo1970) << 32 | rest << 32 / 1_000_000_000
    }

    /// The middle 32 bits, of which reports and their delays are made: 65536 for each second.
    package func shortTime(at time: MediaTime) -> UInt32 { UInt32(truncatingIfNeeded: self.time(at: time) >> 16) }
}

/// The RTP timestamps of a stream, for times of the monotonic clock.
package struct RTPTimeline: Sendable, Hashable {
    /// Ticks per second: 90,000 for video, 48,000 for Opus.
    package let rate: Int
    /// The timestamp of the clock's epoch.
    package let offset: UInt32

    /// - Parameters:
    ///   - rate: ticks per second.
    ///   - offset: random, as RFC 3550, 5.1 asks for.
    package init(rate: Int, offset: UInt32 = .random(in: 0 ... .max)) {
        self.rate = rate
        self.offset = offset
    }

    /// The nearest timestamp.
    package func timestamp(at time: MediaTime) -> UInt32 {
        let (seconds, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        // Half a tick away from zero, since the division rounds toward it.
        let half: Int64 = rest < 0 ? -500_000_000 : 500_000_000
        let ticks = seconds &* Int64(rate) &+ (rest * Int64(rate) + half) / 1_000_000_000
        return offset &+ UInt32(truncatingIfNeeded: ticks)
    }
}
