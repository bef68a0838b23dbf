#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Where a capture takes its time from: the machine's monotonic clock, or a test's virtual one.
///
/// Safe to use from any thread.
public protocol CaptureClock: Sendable {
    /// The time now.
    var now: MediaTime { get }

    /// Blocks the calling thread until `deadline`, or until `wake` is raised, whichever comes first.
    func wait(until deadline: MediaTime, or wake: ManualResetEvent)
}

/// `CLOCK_MONOTONIC`: never set back, not slewed by a change of the date, stops while suspended.
public struct MonotonicClock: CaptureClock {
    public init() {}

    public var now: MediaTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MediaTime(nanoseconds: nanoseconds(of: time))
    }

    public func wait(until deadline: MediaTime, or wake: ManualResetEvent) {
        wake.wait(until: deadline)
    }
}

/// The time since 1970 by the machine's wall clock, which may be set and is not for timestamps: for comparisons with
/// the clocks of others.
package func wallClockTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return .nanoseconds(nanoseconds(of: time))
}

/// All of a time of the system in nanoseconds.
package func nanoseconds(of time: timespec) -> Int64 { Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) }
