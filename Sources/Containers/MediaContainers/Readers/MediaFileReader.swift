import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Opens files of any format that can be read.
public enum MediaFileReader {
    /// Opens a file and chooses its reader: Y4M or IVF by its first bytes; otherwise the first of `readers` that accepts
    /// it; and for raw video, which has no signature, a ``RawFrameReader`` for `rawFormat`.
    ///
    /// - Parameters:
    ///   - path: the file, or `-` for standard input; a pattern of numbered files, as in `picture%03d.png`, goes to
    ///     `readers`, unless there is a file of exactly that name.
    ///   - decoders: the codecs that the program links, for IVF.
    ///   - readers: the readers of other formats that the program links, in the order in which they are tried.
    ///   - rawFormat: pixel format, size and rate of a file without a header.
    ///   - frameRate: the rate of the images of a sequence, for `readers`.
    ///   - interruptDescriptor: interrupts waits for a pipe; see ``InputFile/interruptDescriptor``.
    /// - Returns: the reader.
    /// - Throws: `MediaFileError`, and errors of a decoder or reader.
    public static func open(
        path: String, decoders: [VideoDecoderFactory], readers: [FrameReaderFactory] = [],
        rawFormat: VideoFormat? = nil, frameRate: FrameRate? = nil, interruptDescriptor: Int32 = -1
    ) throws -> any FrameReader {
        if isPattern(path), !exists(path) { return try openSequence(path, readers, frameRate) }
        let file = try InputFile(path: path)
        file.interruptDescriptor = interruptDescriptor
        return try open(file, decoders: decoders, readers: readers, rawFormat: rawFormat, frameRate: frameRate)
    }

    /// As ``open(path:decoders:readers:rawFormat:frameRate:interruptDescriptor:)``, for an open file.
    public static func open(
        _ file: InputFile, decoders: [VideoDecoderFactory], readers: [FrameReaderFactory] = [],
        rawFormat: VideoFormat? = nil, frameRate: FrameRate? = nil
    ) throws -> any FrameReader {
        let contents = try file.peek(16, contents(of:))
        if contents == .empty {
            throw MediaFileError(
                .corruptData, operation: "open the file", subject: file.path,
                message: "The file is empty; check that it was written to its end.")
        }
        // Other readers would occasionally mistake raw samples for their format.
        if let rawFormat, contents == .other, file.path == standardInput || hasRawName(file.path) {
            return try RawFrameReader(file, format: rawFormat)
        }
        defer { file.forgetMark() }
        file.mark()
        var refusal: MediaFileError?
        do {
            switch contents {
            case .y4m: return try Y4MReader(file)
            case .ivf: return try DecodingFrameReader(IVFReader(file), decoders: decoders)
            case .matroska, .other, .empty: break
            }
        } catch let error as MediaFileError where error.code == .formatUnsupported {
            // A variant of Y4M or IVF that is not read here.
            refusal = error
        }
        for reader in readers {
            try file.returnToMark()
            let path = file.path == standardInput ? "-" : file.path
            if let made = try reader.open(FrameReaderFactory.Request(path: path, file: file, frameRate: frameRate)) {
                return made
            }
        }
        if let rawFormat, contents == .other {
            try file.returnToMark()
            return try RawFrameReader(file, format: rawFormat)
        }
        throw refusal ?? unsupported(file, contents, readers)
    }

    private enum Contents { case y4m, ivf, matroska, empty, other }

    private static func contents(of bytes: UnsafeRawBufferPointer) -> Contents {
        if bytes.isEmpty { return .empty }
        if bytes.starts(with: Y4MHeader.magic.utf8) { return .y4m }
        if bytes.starts(with: IVFHeader.magic.utf8) { return .ivf }
        if bytes.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) { return .matroska }
        return .other
    }

    private static func openSequence(
        _ path: String, _ readers: [FrameReaderFactory], _ frameRate: FrameRate?
    ) throws -> any FrameReader {
        for reader in readers {
            if let made = try reader.open(FrameReaderFactory.Request(path: path, frameRate: frameRate)) { return made }
        }
        throw MediaFileError(
            .notFound, operation: "open the files", subject: path,
            message: readers.isEmpty
                ? "Numbered pictures are read by other readers than this program's own; \(linkHint)."
                : "No pictures have such names; check the pattern and the folder.")
    }

    private static func unsupported(
        _ file: InputFile, _ contents: Contents, _ readers: [FrameReaderFactory]
    ) -> MediaFileError {
        let message: String
        if hasRawName(file.path) {
            message = "Raw video does not state its size; state pixel format, size and rate."
        } else if !readers.isEmpty {
            let names = readers.map(\.name).joined(separator: " and ")
            message =
                "The file is not a video or picture that \(names) or this program can read; check its kind with "
                + "`file`, or state pixel format, size and rate if it is raw video."
        } else if contents == .matroska {
            message =
                "WebM and Matroska files are written but not read; \(linkHint), or convert with "
                + "`ffmpeg -i in.webm -c copy out.ivf`."
        } else {
            message =
                "The file is neither Y4M nor IVF; \(linkHint), convert it with "
                + "`ffmpeg -i in -pix_fmt yuv420p out.y4m`, or state pixel format, size and rate if it is raw video."
        }
        return MediaFileError(.formatUnsupported, operation: "open the file", subject: file.path, message: message)
    }

    private static let linkHint = "link FFmpegContainers and hand in FrameReaderFactory.ffmpeg for other formats"
    private static let standardInput = "standard input"

    private static func hasRawName(_ path: String) -> Bool {
        fileExtension(of: path).map { ["yuv", "i420", "nv12", "raw"].contains($0) } ?? false
    }

    private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Whether there is a number to be filled in, as `%d` or `%03d`.
    private static func isPattern(_ path: String) -> Bool {
        path.split(separator: "%", omittingEmptySubsequences: false).dropFirst().contains { part in
            part.drop { ("0"..."9").contains($0) }.first == "d"
        }
    }
}
