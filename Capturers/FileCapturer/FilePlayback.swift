import VideoCapturing

extension FileCapturer {
    /// The speed, part and repetition with which a file is played.
    public struct Playback: Sendable, Hashable {
        /// The range of speeds.
        public static let rates = 0.01...100.0

        /// At the times of the file.
        public static let realTime = FileCapturer.Playback()
        /// As fast as consumers accept the frames.
        public static let asFastAsPossible = FileCapturer.Playback(pacing: .asFastAsPossible)

        /// When the frames are delivered.
        public var pacing: FileCapturer.Pacing
        /// The speed: 0.5 is half, 2 is twice that of the file. It scales timestamps and the estimated rate, also as fast as
        /// possible. 0.01 to 100.
        public var rate: Double
        /// How often the file is played, without a gap or a jump in the timestamps; nil for indefinitely. A pipe can be played
        /// once.
        public var plays: Int?
        /// The start in the file's time: with the frame that is shown then. Of a pipe, with the first one after.
        public var start: Duration
        /// The end in the file's time: before the first frame at or after it; nil for the end of the file.
        public var end: Duration?
        /// The rate of an image sequence (`picture%03d.png`), which has no timestamps; nil for the reader's default.
        public var frameRate: FrameRate?
        /// Whether frames of two fields are deinterlaced: one field is kept, and the lines between are interpolated. Otherwise
        /// they are delivered as they are, with combs where something moves.
        public var deinterlaces: Bool

        /// Creates a playback; see the properties.
        public init(
            pacing: FileCapturer.Pacing = .realTime, rate: Double = 1, plays: Int? = 1, start: Duration = .zero,
            end: Duration? = nil, frameRate: FrameRate? = nil, deinterlaces: Bool = true
        ) {
            self.pacing = pacing
            self.rate = rate
            self.plays = plays
            self.start = start
            self.end = end
            self.frameRate = frameRate
            self.deinterlaces = deinterlaces
        }

        /// Checks all values.
        ///
        /// - Throws: `invalidConfiguration` for a speed or a part that is out of range.
        public func validate() throws(CaptureError) {
            if !FileCapturer.Playback.rates.contains(rate) {
                throw FileCapturer.Playback.error("The speed \(rate) is out of range; give 0.01 to 100.")
            }
            if let plays, plays < 1 {
                throw FileCapturer.Playback.error("A file is played at least once; give 1 or more.")
            }
            if start < .zero {
                throw FileCapturer.Playback.error("The start is before the beginning of the file; give 0 or more.")
            }
            if let end, end <= start {
                throw FileCapturer.Playback.error("The end is not after the start; give a later one.")
            }
        }

        static func error(_ message: String, subject: String? = nil) -> CaptureError {
            CaptureError(.invalidConfiguration, operation: "play the file", subject: subject, message: message)
        }

        /// A rate at the speed of the playback: exact where it is a ratio of small numbers.
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
}
