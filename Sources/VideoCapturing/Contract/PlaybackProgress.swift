/// The progress of a recording that is played.
public struct PlaybackProgress: Sendable, Hashable {
    /// The position in the part that is played, in the recording's time.
    public var position: Duration
    /// The duration of that part; nil when it is unknown.
    public var duration: Duration?
    /// The estimated time until the end, by the clock: from the speed, or as fast as possible from the pace so far. Nil
    /// when unknown, and for a recording that is repeated indefinitely.
    public var timeLeft: Duration?

    /// Creates a progress.
    public init(position: Duration, duration: Duration? = nil, timeLeft: Duration? = nil) {
        self.position = position
        self.duration = duration
        self.timeLeft = timeLeft
    }

    /// The position as a fraction of the duration, 0 to 1; nil when unknown.
    public var fraction: Double? {
        guard let duration, duration > .zero else { return nil }
        return min(1, max(0, position.seconds / duration.seconds))
    }
}
