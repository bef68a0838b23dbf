import VideoCapturing

/// How far a ``FileCapturer`` is.
public struct FileProgress: Sendable, Hashable {
    /// How much has been played of the part that is to be played, in the file's time.
    public var position: Duration
    /// How long that part is; nil when the file does not tell.
    public var duration: Duration?
    /// How long it will take until all is played, by the clock: from the speed, or as fast as possible from the pace up
    /// to now. Nil when unknown, and without end for a file that is played again and again.
    public var timeLeft: Duration?

    public init(position: Duration, duration: Duration? = nil, timeLeft: Duration? = nil) {
        self.position = position
        self.duration = duration
        self.timeLeft = timeLeft
    }

    /// The position as a part of the duration, 0 to 1; nil when unknown.
    public var fraction: Double? {
        guard let duration, duration > .zero else { return nil }
        return min(1, max(0, position.seconds / duration.seconds))
    }
}
