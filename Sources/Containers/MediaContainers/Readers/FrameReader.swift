import VideoCapturing

/// Reads the frames of a file, one after the other. Not thread-safe.
public protocol FrameReader: AnyObject {
    /// Pixel format, size and rate of the frames. The frames of an encoded file may change their size: then this is the
    /// size of the first one.
    var format: VideoFormat { get }

    /// Color matrix and range of the last frame.
    var color: ColorDescription { get }

    /// The shape of the pixels of the last frame; that of the ``format`` unless the file changes it.
    var pixelAspect: PixelAspect { get }

    /// Whether the last frame has two fields of different times, whose lines alternate.
    var isInterlaced: Bool { get }

    /// The number of frames by the file's size or header; nil when unknown. Headers may be wrong.
    var estimatedFrameCount: Int64? { get }

    /// The number of damaged packets that were skipped so far.
    var damagedPackets: UInt64 { get }

    /// How often the file's times have gone back or jumped so far, as where recordings were joined. The frames' times go on
    /// there.
    var discontinuities: Int { get }

    /// Whether ``rewind()`` works.
    var canRewind: Bool { get }

    /// Returns the next frame and its time on the file's time scale; nil at the end.
    ///
    /// - Throws: `MediaFileError` with `corruptData` when the file is damaged or ends within a frame; the
    ///   frames before it have been returned, and later calls return nil. With `interrupted` when
    ///   ``InputFile/interruptDescriptor`` has ended a wait; the next call resumes where this one was.
    func nextFrame() throws -> (buffer: PixelBuffer, timestamp: Duration)?

    /// How long the last frame that was returned is shown, where the file states it: for the end of the file, and formats
    /// such as GIF. Nil for one frame interval.
    var statedFrameLength: Duration? { get }

    /// Goes back to the first frame.
    ///
    /// - Throws: `MediaFileError`; `formatUnsupported` when the file is a pipe.
    func rewind() throws

    /// The clockwise rotation to apply for display; `.up` unless the file states another.
    var orientation: VideoOrientation { get }

    /// Whether to mirror the frames for display, after the rotation.
    var isMirrored: Bool { get }

    /// The playing time, including the duration of the last frame; nil when unknown. Headers may be wrong.
    var duration: Duration? { get }

    /// Whether ``seek(to:)`` works.
    var canSeek: Bool { get }

    /// Goes to the frame that is shown at `time`: the next one returned is the last one at or before `time`, or the first
    /// one otherwise.
    ///
    /// - Throws: `MediaFileError`; `formatUnsupported` when the file is a pipe.
    func seek(to time: Duration) throws

    /// Codec and container for display, as in `H.264 in MP4`; may be empty.
    var sourceDescription: String { get }

    /// Whether the file has sound, which is not read.
    var hasSound: Bool { get }
}

extension FrameReader {
    public var damagedPackets: UInt64 { 0 }
    public var discontinuities: Int { 0 }
    public var statedFrameLength: Duration? { nil }
    public var orientation: VideoOrientation { .up }
    public var isMirrored: Bool { false }
    public var pixelAspect: PixelAspect { format.pixelAspect }
    public var isInterlaced: Bool { false }
    public var canSeek: Bool { canRewind }
    public var sourceDescription: String { "" }
    public var hasSound: Bool { false }

    /// The time of the estimated number of frames at the format's rate.
    public var duration: Duration? {
        guard let count = estimatedFrameCount, let rate = format.estimatedFramesPerSecond else { return nil }
        return rate.time(ofFrame: count)
    }

    /// Reads from the beginning: once to find the frame, and again up to it.
    public func seek(to time: Duration) throws {
        try rewind()
        var before = 0
        while let next = try nextFrame(), next.timestamp <= time { before += 1 }
        try rewind()
        for _ in 0..<max(0, before - 1) { _ = try nextFrame() }
    }
}
