import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The date, in nanoseconds since 1970, at moments of the monotonic clock.
///
/// The system is asked for it once a second at most; that somebody has set the date shows a second later.
struct WallClock {
    /// The date at zero of the monotonic clock, and when that was found.
    private var origin: (date: Int64, foundAt: MediaTime)?

    /// The date now, asked for.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The date at a moment of the monotonic clock, on which it is `now`; the present date where the moment is absurd.
    mutating func date(of moment: MediaTime, now: MediaTime) -> Int64 {
        if let origin, now >= origin.foundAt, now - origin.foundAt < .seconds(1) {
            return WallClock.date(origin.date, at: moment) ?? WallClock.now
        }
        let date = WallClock.now
        let found = date - now.nanoseconds
        origin = (found, now)
        return WallClock.date(found, at: moment) ?? date
    }

    private static func date(_ origin: Int64, at moment: MediaTime) -> Int64? {
        let (date, overflow) = origin.addingReportingOverflow(moment.nanoseconds)
        return overflow ? nil : date
    }
}
