import VideoCapturing

/// Gives the pictures of a file, one after the other. Not to be used from two threads at once.
public protocol FrameReader: AnyObject {
    /// Pixel format, size and rate of the pictures. The pictures of an encoded file may change their size
    /// midway: then this is the first one's.
    var format: VideoFormat { get }

    /// How the numbers map to light.
    var color: ColorDescription { get }

    /// How many pictures there should be, counted from the file's size or header; nil when unknown. Files
    /// may be wrong about it.
    var estimatedFrameCount: Int64? { get }

    /// How many damaged packets have been left out so far.
    var damagedPackets: UInt64 { get }

    /// Whether ``rewind()`` works.
    var canRewind: Bool { get }

    /// The next picture and its time from the start of the file's time scale; nil at the end.
    ///
    /// - Throws: `MediaFileError` with `corruptData` when the file is damaged or ends within a picture; the
    ///   pictures before have been delivered, and what follows is nil. With `interrupted` when
    ///   ``InputFile/interruptDescriptor`` has ended a wait; the next call goes on where this one was.
    func nextFrame() throws -> (buffer: PixelBuffer, timestamp: Duration)?

    /// Goes back to the first picture. Throws `formatUnsupported` when the file is a pipe.
    func rewind() throws

    /// The clockwise turn that makes the pictures upright; `.up` unless the file states another.
    var orientation: VideoOrientation { get }

    /// Whether the pictures are to be shown mirrored.
    var isMirrored: Bool { get }

    /// How long the file plays, its last picture's own time included; nil when unknown. Files may be wrong about it.
    var duration: Duration? { get }

    /// Whether ``seek(to:)`` works.
    var canSeek: Bool { get }

    /// Goes to the picture that is shown at `time`: the next one is the last that is at or before it, or the first
    /// where there is none. Throws `formatUnsupported` when the file is a pipe.
    func seek(to time: Duration) throws

    /// What the file holds, for people: `H.264 in MP4`; empty when there is nothing to say.
    var sourceDescription: String { get }
}

extension FrameReader {
    public var damagedPackets: UInt64 { 0 }
    public var orientation: VideoOrientation { .up }
    public var isMirrored: Bool { false }
    public var canSeek: Bool { canRewind }
    public var sourceDescription: String { "" }

    /// The time of so many pictures at the format's rate.
    public var duration: Duration? {
        guard let count = estimatedFrameCount, let rate = format.estimatedFramesPerSecond else { return nil }
        return rate.time(ofFrame: count)
    }

    /// Reads from the beginning: once to find the picture, and once more up to it.
    public func seek(to time: Duration) throws {
        try rewind()
        var before = 0
        while let next = try nextFrame(), next.timestamp <= time { before += 1 }
        try rewind()
        for _ in 0..<max(0, before - 1) { _ = try nextFrame() }
    }
}
