import VideoCapturing

/// Latencies: all of them, and those of the last seconds. Not thread-safe; kept behind a lock.
struct RecentLatency {
    /// All of them.
    private(set) var total = LatencyHistogram()
    /// Their sum, in nanoseconds.
    private(set) var sum: Int64 = 0
    private var current = LatencyHistogram()
    private var previous = LatencyHistogram()
    private var currentSince = MediaTime.zero

    private static let length: Duration = .seconds(2)

    mutating func record(nanoseconds: Int64, at now: MediaTime) {
        if now - currentSince > RecentLatency.length {
            previous = now - currentSince > RecentLatency.length * 2 ? LatencyHistogram() : current
            current = LatencyHistogram()
            currentSince = now
        }
        total.record(nanoseconds: nanoseconds)
        current.record(nanoseconds: nanoseconds)
        sum = sum.addingReportingOverflow(max(0, nanoseconds)).partialValue
    }

    /// The samples of the last two to four seconds.
    func recent(at now: MediaTime) -> LatencyHistogram {
        guard now - currentSince <= RecentLatency.length * 2 else { return LatencyHistogram() }
        var result = current
        result.merge(previous)
        return result
    }
}
