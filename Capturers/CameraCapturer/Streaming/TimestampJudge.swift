import CLibV4L2
import VideoCapturing

/// Decides whether a driver's timestamp can be trusted, frame by frame.
///
/// One that can is of the monotonic clock, not in the future, not before the last one and not older than ten
/// seconds; else the time of arrival stands in for it.
struct TimestampJudge {
    /// In nanoseconds.
    private static let longestDelay: Int64 = 10_000_000_000

    private var last: MediaTime?

    /// - Parameters:
    ///   - timestamp: the driver's.
    ///   - flags: `V4L2_BUF_FLAG_…` of the buffer.
    ///   - now: the time of arrival.
    /// - Returns: the time of the frame, and whether it is the driver's.
    mutating func judge(_ timestamp: MediaTime, flags: UInt32, now: MediaTime) -> (time: MediaTime, isTrusted: Bool) {
        let kind = flags & UInt32(V4L2_BUF_FLAG_TIMESTAMP_MASK)
        let isTrusted =
            kind == UInt32(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC) && timestamp <= now
            && now.nanoseconds(since: timestamp) < TimestampJudge.longestDelay && last.map { timestamp > $0 } ?? true
        let time = isTrusted ? timestamp : now
        last = time
        return (time, isTrusted)
    }
}
