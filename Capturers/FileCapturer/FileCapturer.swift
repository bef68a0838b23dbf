import MediaContainers
import VideoCapturing

/// A capture of a video or image file, or of standard input: Y4M, IVF and raw video, and the formats of the readers that
/// are passed in.
///
/// ```swift
/// let capture = FileCapturer(
///     path: "clip.ivf", decoders: [VP8Decoder.factory], playback: FileCapturer.Playback(rate: 0.5, plays: nil))
/// ```
/// A restart resumes where the capture was stopped; after the end of the file it restarts from the beginning. A pipe
/// cannot be restarted: it ends at once. Stop and release end a wait for a pipe without a writer, and the search in a file
/// without an index; the next start goes on. WebM and Matroska in a pipe cannot go on after a stop in such a wait: that
/// start ends with `corruptData`.
///
/// The rate and the size follow what consumers want (`adapt(to:)`): frames are dropped and scaled before they are
/// delivered.
///
/// A damaged or truncated file delivers its complete frames, then stops with `corruptData`; damaged packets within an
/// encoded file are skipped and counted.
public final class FileCapturer: ForwardingVideoCapture {
    /// When the frames are delivered.
    public enum Pacing: String, Sendable, Hashable, CaseIterable {
        /// At the times of the file, as by a camera.
        case realTime
        /// As fast as consumers accept them. The timestamps keep the intervals of the file and so run ahead of the clock.
        case asFastAsPossible
    }

    public let forwardedCapture: SourceCapturer
    /// The speed, part and repetition of the playback.
    public let playback: FileCapturer.Playback

    let path: String
    let readers: [FrameReaderFactory]
    let clock: any CaptureClock
    let control = FileControl()

    /// Creates a capture without opening the file; `initCapture` opens it, and throws `deviceNotFound`,
    /// `permissionDenied`, `formatUnsupported`, `corruptData` or `invalidConfiguration` then. It waits for the first frame
    /// of a pipe indefinitely, or until `releaseCapture`.
    ///
    /// - Parameters:
    ///   - path: the file; `-` for standard input; for some readers a pattern of numbered files, as in
    ///     `picture%03d.png`.
    ///   - decoders: the codecs that the program links, such as `VP8Decoder.factory`; for IVF.
    ///   - readers: the readers of other formats that the program links.
    ///   - rawFormat: pixel format, size and rate of a file without a header.
    ///   - playback: speed, part and repetition.
    ///   - clock: the clock of timestamps and pacing.
    public init(
        path: String, decoders: [VideoDecoderFactory] = [], readers: [FrameReaderFactory] = [],
        rawFormat: VideoFormat? = nil, playback: FileCapturer.Playback = .realTime,
        clock: any CaptureClock = MonotonicClock()
    ) {
        self.path = path
        self.readers = readers
        self.playback = playback
        self.clock = clock
        forwardedCapture = SourceCapturer(
            FileSource(
                path: path, opening: FileOpening(decoders: decoders, readers: readers, rawFormat: rawFormat),
                playback: playback, control: control, clock: clock),
            name: "file", clock: clock, openTimeout: .seconds(366 * 86_400))
    }

    /// As ``init(path:decoders:readers:rawFormat:playback:clock:)``, for the whole file at its speed, or as fast as
    /// possible.
    public convenience init(
        path: String, decoders: [VideoDecoderFactory] = [], readers: [FrameReaderFactory] = [],
        rawFormat: VideoFormat? = nil, pacing: Pacing, clock: any CaptureClock = MonotonicClock()
    ) {
        self.init(
            path: path, decoders: decoders, readers: readers, rawFormat: rawFormat,
            playback: FileCapturer.Playback(pacing: pacing), clock: clock)
    }

    /// Continues with the frame that is shown at `time` in the file, within the part that is played. Thread-safe; while not
    /// running, the next start begins there. While paused it takes effect with ``resume()``.
    ///
    /// The timestamps continue without a gap.
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

    /// Pauses the delivery until ``resume()``, except for at most one frame in flight. The state is
    /// `interrupted(.paused)`. Thread-safe, in any state: a capture that is started while paused waits.
    ///
    /// In real time the timestamps include the pause, as of a camera; as fast as possible they do not.
    public func pause() {
        control.order { $0.isPaused = true }
    }

    /// Resumes after ``pause()``.
    public func resume() {
        control.order { $0.isPaused = false }
    }

    /// Whether ``pause()`` was called, and not ``resume()`` since.
    public var isPaused: Bool { control.contents.withLock { $0.isPaused } }

    /// The time in the file of the last frame that was delivered; at the end of the file its duration.
    public var position: Duration { control.contents.withLock { $0.position } }

    public var endOfLastFrame: MediaTime? { control.contents.withLock { $0.endOfLastFrame } }

    /// The duration of the file; nil before it is open, and when it is unknown. Headers may be wrong.
    public var duration: Duration? { control.contents.withLock { $0.duration } }

    /// The progress of the playback, and the time left.
    public var progress: PlaybackProgress { control.progress(playback, now: clock.now) }

    /// The format of the file, before the changes by the playback and the wants of consumers; nil before it is open.
    public var fileFormat: VideoFormat? { control.contents.withLock { $0.format } }

    /// Codec and container for display, as in `VP8 in IVF`; empty before the file is open.
    public var sourceDescription: String { control.contents.withLock { $0.sourceDescription } }

    /// Whether the first frame of the open file has two fields; see ``Playback/deinterlaces``.
    public var isInterlaced: Bool { control.contents.withLock { $0.isInterlaced } }

    /// Whether the open file has sound, which is not captured.
    public var hasSound: Bool { control.contents.withLock { $0.hasSound } }

    /// Whether ``makeSound(isAlone:)`` has made a capture of its sound.
    var isSoundTaken: Bool { control.contents.withLock { $0.isSoundTaken } }
}

/// The decoders, readers and format with which a file is opened.
struct FileOpening: Sendable {
    var decoders: [VideoDecoderFactory]
    var readers: [FrameReaderFactory]
    var rawFormat: VideoFormat?

    func open(_ path: String, _ frameRate: FrameRate?, interruptDescriptor: Int32) throws -> any FrameReader {
        try MediaFileReader.open(
            path: path, decoders: decoders, readers: readers, rawFormat: rawFormat, frameRate: frameRate,
            interruptDescriptor: interruptDescriptor)
    }
}
