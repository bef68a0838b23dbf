import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Turns the times of a camera into times of the monotonic clock.
///
/// libcamera states the start of the exposure on the clock that counts while the machine sleeps too. But some of its handlers
/// pass on the monotonic time of V4L2. The two differ after the machine has slept; the one that gives a plausible age is right.
package struct LibcameraClock {
    /// The oldest age that a frame may have, in nanoseconds.
    private static let oldest: Int64 = 10_000_000_000

    /// How far the clock that counts sleep is ahead, in nanoseconds.
    private var difference: Int64 = 0
    private var nextMeasurement = MediaTime.zero

    /// The time of a frame; nil when none of its times is plausible.
    ///
    /// - Parameters:
    ///   - sensor: the start of the exposure in nanoseconds; 0 without one.
    ///   - buffer: the buffer's time in nanoseconds; 0 without one.
    ///   - now: the time of arrival, on the monotonic clock.
    mutating func time(sensor: Int64, buffer: Int64, now: MediaTime) -> MediaTime? {
        if now >= nextMeasurement {
            nextMeasurement = now.advanced(by: .seconds(1))
            difference = LibcameraClock.measure()
        }
        return LibcameraClock.time(sensor: sensor, buffer: buffer, difference: difference, now: now)
    }

    package static func time(sensor: Int64, buffer: Int64, difference: Int64, now: MediaTime) -> MediaTime? {
        for time in [sensor, buffer] where time > 0 {
            for candidate in [time &- difference, time] {
                let age = now.nanoseconds &- candidate
                if age >= 0, age < oldest { return MediaTime(nanoseconds: candidate) }
            }
        }
        return nil
    }

    private static func measure() -> Int64 {
        func read(_ clock: clockid_t) -> Int64 {
            var time = timespec()
            clock_gettime(clock, &time)
            return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        }
        // Read in between, so that the time of the calls does not count. The rest is noise without sleep: taken as none.
        let before = read(CLOCK_MONOTONIC)
        let boot = read(CLOCK_BOOTTIME)
        let after = read(CLOCK_MONOTONIC)
        let difference = boot - (before + after) / 2
        return difference < 1_000_000 ? 0 : difference
    }
}
