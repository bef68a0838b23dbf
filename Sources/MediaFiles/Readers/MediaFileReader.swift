import VideoCapturing

/// Opens a file of any format that can be read.
public enum MediaFileReader {
    /// Opens a file and chooses its reader: by its first bytes, and for raw video, which has no mark of its
    /// own, by `rawFormat` or the extension.
    ///
    /// - Parameters:
    ///   - path: the file, or `-` for standard input.
    ///   - decoders: the codecs that the program links.
    ///   - rawFormat: what a file without a header holds: pixel format, size and rate.
    /// - Throws: `MediaFileError`, and what a decoder throws.
    public static func open(
        path: String, decoders: [VideoDecoderFactory], rawFormat: VideoFormat? = nil
    ) throws -> any FrameReader {
        try open(InputFile(path: path), decoders: decoders, rawFormat: rawFormat)
    }

    /// As ``open(path:decoders:rawFormat:)``, for a file that is open already.
    public static func open(
        _ file: InputFile, decoders: [VideoDecoderFactory], rawFormat: VideoFormat? = nil
    ) throws -> any FrameReader {
        switch try file.peek(16, contents(of:)) {
        case .y4m: return try Y4MReader(file)
        case .ivf: return try DecodingFrameReader(IVFReader(file), decoders: decoders)
        case .matroska:
            throw unsupported(
                file,
                "WebM and Matroska files are written but not read; convert with "
                    + "`ffmpeg -i in.webm -c copy out.ivf`.")
        case .empty:
            throw MediaFileError(
                .corruptData, operation: "open the file", path: file.path,
                message: "The file is empty; check that it was written to its end.")
        case .other:
            if let rawFormat { return try RawFrameReader(file, format: rawFormat) }
            if let ending = fileExtension(of: file.path), ["yuv", "i420", "nv12"].contains(ending) {
                throw unsupported(file, "Raw video does not tell its size; state pixel format, size and rate.")
            }
            throw unsupported(
                file,
                "The file is neither Y4M nor IVF; convert it with `ffmpeg -i in -pix_fmt yuv420p out.y4m`, or "
                    + "state pixel format, size and rate if it is raw video.")
        }
    }

    private enum Contents { case y4m, ivf, matroska, empty, other }

    private static func contents(of bytes: UnsafeRawBufferPointer) -> Contents {
        if bytes.isEmpty { return .empty }
        if bytes.starts(with: Y4MHeader.magic.utf8) { return .y4m }
        if bytes.starts(with: IVFHeader.magic.utf8) { return .ivf }
        if bytes.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) { return .matroska }
        return .other
    }

    private static func unsupported(_ file: InputFile, _ message: String) -> MediaFileError {
        MediaFileError(.formatUnsupported, operation: "open the file", path: file.path, message: message)
    }
}
