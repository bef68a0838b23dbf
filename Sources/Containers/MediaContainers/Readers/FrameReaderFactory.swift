import VideoCapturing

/// A way to read files that ``MediaFileReader`` itself cannot: what a program links beside it.
///
/// ```swift
/// let reader = try MediaFileReader.open(path: "clip.mp4", decoders: [], readers: [.ffmpeg])
/// ```
public struct FrameReaderFactory: Sendable {
    /// What people call it, as in `FFmpeg`.
    public let name: String

    private let make: @Sendable (FrameReaderRequest) throws -> (any FrameReader)?

    /// - Parameters:
    ///   - name: what people call it.
    ///   - open: makes the reader; gives nil for files that it does not know, whose bytes it need not have left
    ///     alone. What it throws ends the search.
    public init(name: String, open: @escaping @Sendable (_ request: FrameReaderRequest) throws -> (any FrameReader)?) {
        self.name = name
        make = open
    }

    /// A reader for the file; nil when it is not of a kind that this one reads.
    public func open(_ request: FrameReaderRequest) throws -> (any FrameReader)? { try make(request) }
}

/// The file for which a ``FrameReaderFactory`` is asked.
public struct FrameReaderRequest {
    /// The file's path; `-` for standard input. Without a ``file`` a pattern of numbered files, as in
    /// `picture%03d.png`.
    public var path: String
    /// The file, open and at its beginning. A reader that is made reads and seeks through it and keeps it.
    public var file: InputFile?
    /// The rate of pictures in a sequence, which have no times of their own; nil for the reader's choice.
    public var frameRate: FrameRate?
    /// How many threads may decode; nil for as many as suit.
    public var threads: Int?

    public init(path: String, file: InputFile? = nil, frameRate: FrameRate? = nil, threads: Int? = nil) {
        self.path = path
        self.file = file
        self.frameRate = frameRate
        self.threads = threads
    }
}
