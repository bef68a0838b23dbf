import VideoCapturing

/// Says at what time each picture of a file is due: the file's times, at the speed of the playback, from the start of
/// the capture on. A new play and a seek go on where the picture before ends.
struct FileTimeline {
    /// The file's and the capture's time of the same picture; all others are counted from it, so nothing drifts.
    private var anchor: (file: Duration, due: MediaTime)?
    /// When the next picture is due, whatever its time in the file.
    private var nextDue: MediaTime?
    /// The last picture that was placed.
    private(set) var last: (file: Duration, due: MediaTime)?
    /// Between the last two pictures in the file's time.
    private var interval: Duration?

    private let rate: Double

    init(rate: Double) {
        self.rate = rate
    }

    /// The next picture is due at `time`.
    mutating func begin(at time: MediaTime) {
        nextDue = time
    }

    /// Whether the next picture's time is settled already.
    var isBeginning: Bool { nextDue != nil }

    /// When the picture with this time in the file is due. The same picture may be placed again.
    mutating func place(_ position: Duration) -> MediaTime {
        if let due = nextDue {
            anchor = (position, due)
            nextDue = nil
            interval = nil
        } else if let last, position > last.file {
            interval = position - last.file
        }
        let anchor = anchor ?? (position, .zero)
        let due = anchor.due.advanced(by: scaled(position - anchor.file))
        last = (position, due)
        return due
    }

    /// The time for which the last picture is shown, by the file's time.
    ///
    /// - Parameters:
    ///   - nominal: the file's rate. It is taken where the measured time is the same but for rounding, as in Matroska.
    ///   - end: where the part ends that is played; nil for the end of the file.
    func lastDuration(nominal: FrameRate?, end: Duration?) -> Duration {
        if let end, let last { return max(.zero, end - last.file) }
        guard let interval else { return nominal?.frameInterval ?? FileTimeline.stillDuration }
        if let stated = nominal?.frameInterval, (stated - interval).nanoseconds.magnitude < 1_000_000 { return stated }
        return interval
    }

    /// The next picture is due when the last one has had its time.
    mutating func goOn(after lastDuration: Duration) {
        guard let last else { return }
        nextDue = last.due.advanced(by: scaled(lastDuration))
    }

    /// Moves all that is to come to later.
    mutating func shift(by time: Duration) {
        if let due = anchor?.due { anchor?.due = due.advanced(by: time) }
        nextDue = nextDue?.advanced(by: time)
    }

    func scaled(_ time: Duration) -> Duration {
        rate == 1 ? time : Duration(clampingNanoseconds: Double(time.nanoseconds) / rate)
    }

    /// Of a single picture without a rate.
    private static let stillDuration = Duration.milliseconds(40)
}
