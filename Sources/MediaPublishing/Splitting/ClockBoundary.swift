import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The time to the next multiple of an interval of the local time of day, such as the full hour, or to midnight.
///
/// One that is less than a second away is passed already: clocks differ by so much between two files.
///
/// - Parameters:
///   - interval: above zero.
///   - date: the time since 1970.
func timeToBoundary(_ interval: Duration, from date: Duration) -> Duration {
    let seconds = date.components.seconds
    var clock = time_t(seconds)
    var fields = tm()
    localtime_r(&clock, &fields)
    let ofDay = Int64(fields.tm_hour) * 3600 + Int64(fields.tm_min) * 60 + Int64(fields.tm_sec)
    let passed = ofDay * 1_000_000_000 + (date - .seconds(seconds)).nanoseconds
    let day: Int64 = 86_400 * 1_000_000_000
    let length = max(1, min(interval.nanoseconds, day))
    func next(after time: Int64) -> Int64 { min((time / length + 1) * length, max(day, time + 1)) }
    var boundary = next(after: passed)
    if boundary - passed < min(1_000_000_000, length / 2) {
        boundary = boundary >= day ? day + length : next(after: boundary)
    }
    return .nanoseconds(boundary - passed)
}
