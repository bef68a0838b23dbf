import VideoCapturing

/// How a file is played: how fast, which part of it, and how often.
public struct FilePlayback: Sendable, Hashable {
    /// The speeds that are possible.
    public static let rates = 0.01...100.0

    /// At the file's own times.
    public static let realTime = FilePlayback()
    /// As fast as consumers take the pictures.
    public static let asFastAsPossible = FilePlayback(pacing: .asFastAsPossible)

    /// When the pictures are delivered.
    public var pacing: FileCapturer.Pacing
    /// The speed: 0.5 is half, 2 is twice as fast as the file says. Timestamps and the estimated rate follow it, also
    /// as fast as possible. 0.01 to 100.
    public var rate: Double
    /// How often the file is played, one time after the other without a gap or a jump in the timestamps; nil for
    /// without end. A pipe can be played once.
    public var plays: Int?
    /// Where to begin, in the file's time: with the picture that is shown then. Of a pipe, with the first one after.
    public var start: Duration
    /// Where to end, in the file's time: before the first picture at or after it; nil for the end of the file.
    public var end: Duration?
    /// The rate of pictures in a sequence (`picture%03d.png`), which have no times of their own; nil for the reader's
    /// choice.
    public var frameRate: FrameRate?

    public init(
        pacing: FileCapturer.Pacing = .realTime, rate: Double = 1, plays: Int? = 1, start: Duration = .zero,
        end: Duration? = nil, frameRate: FrameRate? = nil
    ) {
        self.pacing = pacing
        self.rate = rate
        self.plays = plays
        self.start = start
        self.end = end
        self.frameRate = frameRate
    }

    /// Throws `invalidConfiguration` for a speed or a part that cannot be.
    public func validate() throws(CaptureError) {
        if !FilePlayback.rates.contains(rate) {
            throw FilePlayback.error("The speed \(rate) is out of range; give 0.01 to 100.")
        }
        if let plays, plays < 1 { throw FilePlayback.error("A file is played at least once; give 1 or more.") }
        if start < .zero { throw FilePlayback.error("The start is before the beginning of the file; give 0 or more.") }
        if let end, end <= start { throw FilePlayback.error("The end is not after the start; give a later one.") }
    }

    static func error(_ message: String, subject: String? = nil) -> CaptureError {
        CaptureError(.invalidConfiguration, operation: "play the file", subject: subject, message: message)
    }

    /// A rate at the speed of the playback: exact where that is a ratio of small numbers.
    func scaled(_ frameRate: FrameRate) -> FrameRate? {
        guard rate != 1 else { return frameRate }
        let tenThousandths = Int64((rate * 10_000).rounded())
        var frames = Int64(frameRate.frames) * tenThousandths
        var seconds = Int64(frameRate.seconds) * 10_000
        var (larger, smaller) = (frames, seconds)
        while smaller != 0 { (larger, smaller) = (smaller, larger % smaller) }
        frames /= larger
        seconds /= larger
        if let frames = Int32(exactly: frames), let seconds = Int32(exactly: seconds) {
            return FrameRate(frames, per: seconds)
        }
        return FrameRate(interval: frameRate.frameInterval / rate)
    }
}
