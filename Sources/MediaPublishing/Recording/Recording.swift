public import VideoCapturing

/// A file of a recorder, and the time that it shows.
public struct Recording: Sendable, Hashable {
    /// The path of the file.
    public var path: String
    /// When its pictures begin, by the wall clock: the time since 1970. Of a file that only its own contents describe, the
    /// time of its last change less its length.
    public var start: Duration
    /// How much time it shows; of a file that is being written, until now.
    public var duration: Duration
    /// The bytes of the file.
    public var bytes: Int64
    /// Why it was recorded; empty for a recording without triggers, and where that is unknown.
    public var reasons: [RecordingTrigger.Reason]
    /// What the first trigger has found; nil for nothing.
    public var detail: String?
    /// Whether it is being written.
    public var isOngoing: Bool

    /// A recording; see the properties.
    public init(
        path: String, start: Duration, duration: Duration, bytes: Int64 = 0,
        reasons: [RecordingTrigger.Reason] = [], detail: String? = nil, isOngoing: Bool = false
    ) {
        self.path = path
        self.start = start
        self.duration = duration
        self.bytes = bytes
        self.reasons = reasons
        self.detail = detail
        self.isOngoing = isOngoing
    }

    /// When its pictures end, by the wall clock.
    public var end: Duration { start + duration }
}

/// An error of playing recordings.
public typealias RecordingError = MediaError<RecordingErrorCode>

/// What can fail when recordings are played. Cases may be added.
public enum RecordingErrorCode: String, MediaErrorCode {
    /// The times make no sense.
    case invalidRange
    /// Nothing was recorded then, or it has been deleted.
    case notRecorded
    /// The files of that time cannot be read.
    case unreadable

    public var category: ErrorCategory {
        switch self {
        case .invalidRange: .usage
        case .notRecorded: .notFound
        case .unreadable: .invalidData
        }
    }
}

/// Reads the packets of a file. `PacketFileReader` of `FFmpegContainers` is one. Used by one thread at a time.
public protocol RecordingReader: AnyObject {
    /// The tracks, complete.
    var tracks: [TrackDescription] { get }
    /// When the pictures begin, or the sound of a file without pictures, on the time line of the packets.
    var start: MediaTime { get }
    /// How much time the file shows.
    ///
    /// - Throws: an error of reading, where that takes reading it all.
    func measureDuration() throws -> Duration
    /// Goes to the last key frame not later than a time, or to one before it.
    func seek(to time: MediaTime)
    /// The next packet; nil at the end.
    ///
    /// - Throws: where the file is damaged or cut off, after the packets of before.
    func next() throws -> MediaPacket?
}

/// How recordings are read, and clips of them written: by the libraries that a program has chosen.
///
/// ```swift
/// let access = RecordingAccess(
///     open: { try PacketFileReader(path: $0) },
///     makeWriter: { try FFmpegMuxer($0, .init(format: $1, makesIndex: false)) })
/// ```
public struct RecordingAccess: Sendable {
    /// Opens a file for reading.
    public var open: @Sendable (_ path: String) throws -> any RecordingReader
    /// Makes the writer for a path, which may be that of a pipe, and a container: `webm`, `mp4` in fragments or `matroska`.
    public var makeWriter: @Sendable (_ path: String, _ container: String) throws -> any PacketSink

    /// Access by a reader and a writer.
    public init(
        open: @escaping @Sendable (_ path: String) throws -> any RecordingReader,
        makeWriter: @escaping @Sendable (_ path: String, _ container: String) throws -> any PacketSink
    ) {
        self.open = open
        self.makeWriter = makeWriter
    }
}
