import VideoCapturing

/// Computes when each frame of a file is due: the file's times, at the speed of the playback, from the start of the
/// capture on. A repetition and a seek continue at the end of the previous frame.
struct FileTimeline {
    /// The file's and the capture's time of the same frame; all others are relative to it, so nothing drifts.
    struct Anchor: Hashable {
        var file: Duration
        var due: MediaTime
        /// The number of jumps in the file's time before it: the start, repetitions and seeks.
        var jumps: Int
    }

    private(set) var anchor: Anchor?
    private var jumps = 0
    /// When the next frame is due, whatever its time in the file.
    private var nextDue: MediaTime?
    /// The last frame that was placed.
    private(set) var last: (file: Duration, due: MediaTime)?
    /// The time between the last two frames in the file's time.
    private var interval: Duration?

    private let rate: Double

    init(rate: Double) {
        self.rate = rate
    }

    /// Makes the next frame due at `time`.
    mutating func begin(at time: MediaTime) {
        nextDue = time
    }

    /// Whether the time of the next frame is fixed already.
    var isBeginning: Bool { nextDue != nil }

    /// When the frame with this time in the file is due. The same frame may be placed again.
    mutating func place(_ position: Duration) -> MediaTime {
        if let due = nextDue {
            jumps += 1
            anchor = Anchor(file: position, due: due, jumps: jumps)
            nextDue = nil
            interval = nil
        } else if let last, position > last.file {
            interval = position - last.file
        }
        let anchor = anchor ?? Anchor(file: position, due: .zero, jumps: 0)
        let due = anchor.due.advanced(by: scaled(position - anchor.file))
        last = (position, due)
        return due
    }

    /// The duration of the last frame, in the file's time.
    ///
    /// - Parameters:
    ///   - nominal: the file's rate. It is used where the measured interval differs only by rounding, as in Matroska.
    ///   - end: the end of the part that is played; nil for the end of the file.
    ///   - stated: what the file says; nil where it says nothing.
    func lastDuration(nominal: FrameRate?, end: Duration?, stated: Duration?) -> Duration {
        if let end, let last { return max(.zero, end - last.file) }
        if let stated, stated > .zero { return stated }
        guard let interval else { return nominal?.frameInterval ?? FileTimeline.stillDuration }
        if let stated = nominal?.frameInterval, (stated - interval).nanoseconds.magnitude < 1_000_000 { return stated }
        return interval
    }

    /// When the last frame ends; nil without one.
    func end(after lastDuration: Duration) -> MediaTime? { last?.due.advanced(by: scaled(lastDuration)) }

    /// Makes the next frame due at the end of the last one.
    mutating func advance(by lastDuration: Duration) { nextDue = end(after: lastDuration) ?? nextDue }

    /// Delays all later frames.
    mutating func shift(by time: Duration) {
        if let due = anchor?.due { anchor?.due = due.advanced(by: time) }
        nextDue = nextDue?.advanced(by: time)
    }

    func scaled(_ time: Duration) -> Duration {
        rate == 1 ? time : Duration(clampingNanoseconds: Double(time.nanoseconds) / rate)
    }

    /// The duration of a single image without a rate.
    private static let stillDuration = Duration.milliseconds(40)
}
