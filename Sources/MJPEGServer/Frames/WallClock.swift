import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The date, in nanoseconds since 1970.
enum WallClock {
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The date at a moment of the monotonic clock, on which it is `monotonic` now.
    static func date(of moment: MediaTime, monotonic: MediaTime) -> Int64 {
        let (date, overflow) = now.subtractingReportingOverflow((monotonic - moment).nanoseconds)
        return overflow ? now : date
    }
}
