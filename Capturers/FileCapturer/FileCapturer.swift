import MediaContainers
import VideoCapturing

/// A capture of a video or picture file, or of standard input: Y4M, IVF and raw video by itself, and whatever the
/// readers read that are handed in.
///
/// ```swift
/// let capture = FileCapturer(
///     path: "clip.ivf", decoders: [VP8Decoder.factory], playback: FilePlayback(rate: 0.5, plays: nil))
/// ```
/// A restart goes on where the capture was stopped; after the end of the file it begins anew. A pipe cannot begin
/// anew: its restart ends at once. Stop and release end a wait for a pipe that nobody writes to.
///
/// The rate and the size follow what consumers want (`adapt(to:)`): pictures that come too soon are left out, and those
/// that are too large are scaled, before they are delivered.
///
/// A file that is damaged or cut off delivers what is whole, then stops with `corruptData`; damaged packets
/// within an encoded file are left out and counted.
public final class FileCapturer: ForwardingVideoCapture {
    /// When the pictures are delivered.
    public enum Pacing: String, Sendable, Hashable, CaseIterable {
        /// At the file's own times, as a camera would.
        case realTime
        /// As fast as consumers take them. The timestamps keep the file's spacing and so run ahead of the clock.
        case asFastAsPossible
    }

    public let forwardedCapture: SourceCapturer
    /// How the file is played.
    public let playback: FilePlayback

    private let path: String
    private let clock: any CaptureClock
    private let control = FileControl()

    /// Opens nothing yet; `initCapture` does, and throws `deviceNotFound`, `permissionDenied`, `formatUnsupported`,
    /// `corruptData` or `invalidConfiguration` then. It waits for the first picture of a pipe for as long as that takes,
    /// or until `releaseCapture`.
    ///
    /// - Parameters:
    ///   - path: the file; `-` for standard input; for some readers a pattern of numbered files, as in
    ///     `picture%03d.png`.
    ///   - decoders: the codecs that the program links, such as `VP8Decoder.factory`; for IVF.
    ///   - readers: what the program links to read other formats.
    ///   - rawFormat: what a file without a header holds: pixel format, size and rate.
    ///   - playback: how fast, which part and how often.
    ///   - clock: where timestamps and pacing come from.
    public init(
        path: String, decoders: [VideoDecoderFactory] = [], readers: [FrameReaderFactory] = [],
        rawFormat: VideoFormat? = nil, playback: FilePlayback = .realTime, clock: any CaptureClock = MonotonicClock()
    ) {
        self.path = path
        self.playback = playback
        self.clock = clock
        forwardedCapture = SourceCapturer(
            FileSource(
                path: path, opening: FileOpening(decoders: decoders, readers: readers, rawFormat: rawFormat),
                playback: playback, control: control, clock: clock),
            name: "file", clock: clock, openTimeout: .seconds(366 * 86_400))
    }

    /// As ``init(path:decoders:readers:rawFormat:playback:clock:)``, for all of the file at its own speed, or as fast as
    /// possible.
    public convenience init(
        path: String, decoders: [VideoDecoderFactory] = [], readers: [FrameReaderFactory] = [],
        rawFormat: VideoFormat? = nil, pacing: Pacing, clock: any CaptureClock = MonotonicClock()
    ) {
        self.init(
            path: path, decoders: decoders, readers: readers, rawFormat: rawFormat,
            playback: FilePlayback(pacing: pacing), clock: clock)
    }

    /// Goes to the picture that is shown at `time` in the file, with the next frame; in the part of the file that is
    /// played. May be called from any thread, while running or not: the next start then begins there. While paused it
    /// takes effect with ``resume()``.
    ///
    /// The timestamps go on as if nothing had happened: the presentation goes on, with other pictures.
    ///
    /// - Throws: `formatUnsupported` when the input is open and is a pipe. When it is not open yet, a pipe ignores it.
    public func seek(to time: Duration) throws(CaptureError) {
        if control.contents.withLock({ $0.canSeek }) == false {
            throw CaptureError(
                .formatUnsupported, operation: "seek", subject: path,
                message: "There is no going back and forth in a pipe; save it as a file first.")
        }
        control.order { $0.seekTarget = max(.zero, time) }
    }

    /// Delivers nothing more until ``resume()``; at most one frame that is on its way already. The state is
    /// `interrupted(.paused)`. May be called from any thread and in any state: a capture that is started while paused
    /// waits.
    ///
    /// In real time the pause shows in the timestamps, as when a camera pauses; as fast as possible it does not.
    public func pause() {
        control.order { $0.isPaused = true }
    }

    /// Goes on after ``pause()``.
    public func resume() {
        control.order { $0.isPaused = false }
    }

    /// Whether ``pause()`` was called, and not ``resume()`` since.
    public var isPaused: Bool { control.contents.withLock { $0.isPaused } }

    /// The time in the file of the last frame that was delivered; at the end of the file its duration.
    public var position: Duration { control.contents.withLock { $0.position } }

    /// How long the file is; nil before it is open, and where it does not tell. Files may be wrong about it.
    public var duration: Duration? { control.contents.withLock { $0.duration } }

    /// How far the playing is, and how long it will take yet.
    public var progress: FileProgress { control.progress(playback, now: clock.now) }

    /// The format that the file itself states, whatever the playback and the consumers' wants make of it; nil before it
    /// is open.
    public var fileFormat: VideoFormat? { control.contents.withLock { $0.format } }

    /// What the file holds, for people: `VP8 in IVF`; empty before it is open.
    public var sourceDescription: String { control.contents.withLock { $0.sourceDescription } }
}
