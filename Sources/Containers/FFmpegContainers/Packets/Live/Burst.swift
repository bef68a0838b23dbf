import PacketCapturing

/// Finds out how old the first packet of a connection was when it came: a server sends the packets at once that it has kept, such as
/// those since its last key frame. The newest of them came when it was live.
///
/// It looks at one track. A read that waits is taken for the end of the burst, unless packets still come faster than they are played,
/// as a slow network brings them.
struct Burst {
    /// From the time of the first packet to the opening of the stream, in nanoseconds; nil before that packet.
    private(set) var firstLag: Int64?
    /// The age of the first packet at the opening, in nanoseconds; negative where the packet came later than that.
    private(set) var age: Int64 = 0
    /// Whether the stream comes as fast as it is taken, and not live.
    private(set) var isFilm = false

    /// When reading began; nil while it has not.
    private var start: MediaTime?
    /// By how much a packet was read sooner after its time than the first one was, at most; and after the last read that waited. A
    /// network brings a burst in pieces, and not each packet gains.
    private var gain: Int64?
    private var lastGain: Int64?
    /// Whether the last packet came about as soon as the soonest.
    private var isAtItsEnd = false
    private var slowReads = 0
    private var byteCount = 0
    private var window: (gain: Int64, begin: MediaTime)?

    /// The longest burst: in nanoseconds, in bytes, and how long it takes to come.
    private static let limits = (age: Int64(20_000_000_000), bytes: 32 << 20, time: Duration.seconds(3))

    /// Begins to read the packets that have come.
    mutating func begin(at now: MediaTime) { start = now }

    /// Notes a packet.
    ///
    /// - Parameters:
    ///   - time: that of the packet, on the stream's scale.
    ///   - opened: when the stream was opened.
    ///   - now: when the packet was read.
    mutating func note(_ time: MediaTime, opened: MediaTime, readAt now: MediaTime) {
        guard let firstLag else {
            firstLag = opened.nanoseconds(since: time)
            return
        }
        guard start != nil else { return }
        let (gained, overflow) = firstLag.subtractingReportingOverflow(now.nanoseconds(since: time))
        // Times that a sender made up; so no sum of gains overflows.
        guard !overflow, gained.magnitude < 3_600_000_000_000 else { return }
        isAtItsEnd = gain.map { abs(gained - $0) < 20_000_000 } ?? false
        gain = max(gain ?? gained, gained)
    }

    /// Whether to read on after a read.
    ///
    /// - Parameters:
    ///   - began: when the read began.
    ///   - now: when it ended.
    ///   - bytes: those that were read.
    mutating func continues(after began: MediaTime, at now: MediaTime, bytes: Int) -> Bool {
        guard let start else { return false }
        byteCount += bytes
        guard byteCount <= Burst.limits.bytes, gain ?? 0 <= Burst.limits.age else {
            isFilm = true
            return false
        }
        let isLate = now - start > Burst.limits.time
        guard let gain else { return !isLate }
        if now - began >= .milliseconds(5) {
            slowReads += 1
            let grows = lastGain.map { gain - $0 > 20_000_000 } ?? true
            lastGain = gain
            if !grows, slowReads >= 3 || isAtItsEnd {
                age = gain
                return false
            }
        }
        guard let last = window else {
            window = (gain, now)
            return !isLate
        }
        guard now - last.begin >= .milliseconds(200) || isLate else { return true }
        window = (gain, now)
        let grows = gain - last.gain > 100_000_000
        guard grows, !isLate else {
            isFilm = grows
            age = grows ? 0 : max(0, gain)
            return false
        }
        return true
    }

    /// Ends with the stream, or with an error. A film never makes its reader wait.
    mutating func end(isEndOfStream: Bool) {
        isFilm = isEndOfStream && slowReads == 0
        age = isFilm ? 0 : max(0, gain ?? 0)
    }
}
