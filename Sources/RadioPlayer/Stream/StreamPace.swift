import AudioCapturing

/// How fast the body of a connection comes: a file as fast as the network and its player allow, a station at the speed of
/// sound after a burst.
struct StreamPace: Sendable {
    private var begin: MediaTime?
    private var lastUpdate: MediaTime?
    /// How long bytes were left with the server, since there was no room for them.
    private var held = Duration.zero
    private var bytes = 0

    /// One and a half times the highest bitrate of MP3, in bytes per second.
    private static let soundSpeed = 60_000.0
    /// What Icecast sends to a new listener at once, unless it is configured otherwise.
    private static let burst = 64.0 * 1024
    /// Before that much time nothing is said of a station: its burst takes time, too.
    private static let shortestLook = Duration.seconds(3)

    /// Bytes have come.
    mutating func add(_ count: Int, at time: MediaTime) {
        begin = begin ?? time
        bytes += count
    }

    /// To be called often: the time until the next call counts as held or not.
    mutating func update(at time: MediaTime, isHeld: Bool) {
        if isHeld, let lastUpdate { held += time - lastUpdate }
        lastUpdate = time
    }

    /// Whether all that has come is of a file: it came faster than it is played.
    func isOfFile(at time: MediaTime) -> Bool {
        guard let begin else { return false }
        return Double(bytes) > StreamPace.burst + StreamPace.soundSpeed * (time - begin - held).seconds
    }

    /// Whether it comes at the speed of sound.
    func isOfStation(at time: MediaTime) -> Bool {
        guard let begin, time - begin - held >= StreamPace.shortestLook else { return false }
        return !isOfFile(at: time)
    }
}
