import VideoCapturing

/// A reader of further formats for ``MediaFileReader``, which a program links in addition.
///
/// ```swift
/// let reader = try MediaFileReader.open(path: "clip.mp4", decoders: [], readers: [.ffmpeg])
/// ```
public struct FrameReaderFactory: Sendable {
    /// The display name, as in `FFmpeg`.
    public let name: String

    private let make: @Sendable (FrameReaderFactory.Request) throws -> (any FrameReader)?
    private var makeSound: (@Sendable (FrameReaderFactory.Request) throws -> (any SoundReader)?)?

    /// Creates a factory.
    ///
    /// - Parameters:
    ///   - name: the display name.
    ///   - open: creates the reader; returns nil for files of another format, whose bytes it may have consumed. An error
    ///     ends the search.
    public init(
        name: String, open: @escaping @Sendable (_ request: FrameReaderFactory.Request) throws -> (any FrameReader)?
    ) {
        self.name = name
        make = open
    }

    /// A factory that reads sound, too.
    ///
    /// - Parameter open: creates the reader of sound; returns nil for files without any. Throws as that of frames does.
    /// - Returns: the factory.
    package func withSound(
        _ open: @escaping @Sendable (FrameReaderFactory.Request) throws -> (any SoundReader)?
    ) -> FrameReaderFactory {
        var factory = self
        factory.makeSound = open
        return factory
    }

    /// Creates a reader for the file; returns nil when it is of another format.
    public func open(_ request: FrameReaderFactory.Request) throws -> (any FrameReader)? { try make(request) }

    /// Creates a reader of the file's sound; returns nil when it has none, or this factory reads none.
    package func openSound(_ request: FrameReaderFactory.Request) throws -> (any SoundReader)? {
        try makeSound?(request)
    }
}

extension FrameReaderFactory {
    /// The file for which a ``FrameReaderFactory`` is to create a reader.
    public struct Request {
        /// The file's path; `-` for standard input. Without a ``file`` a pattern of numbered files, as in
        /// `picture%03d.png`.
        public var path: String
        /// The file, open and at its beginning. The reader that is created reads and seeks through it and retains it.
        public var file: InputFile?
        /// The rate of the images of a sequence, which have no timestamps; nil for the reader's default.
        public var frameRate: FrameRate?
        /// The number of decoding threads; nil for the reader's default.
        public var threads: Int?

        /// Creates a request.
        ///
        /// - Parameters:
        ///   - path: the file's path, `-`, or a pattern of numbered files.
        ///   - file: the open file; nil for a pattern.
        ///   - frameRate: the rate of the images of a sequence.
        ///   - threads: the number of decoding threads.
        public init(path: String, file: InputFile? = nil, frameRate: FrameRate? = nil, threads: Int? = nil) {
            self.path = path
            self.file = file
            self.frameRate = frameRate
            self.threads = threads
        }
    }
}
