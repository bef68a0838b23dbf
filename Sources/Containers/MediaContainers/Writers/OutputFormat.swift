import VideoCapturing

/// The formats that can be written, chosen by name or by a file's extension.
public enum OutputFormat: String, Sendable, Hashable, CaseIterable {
    /// VP8 in WebM.
    case webm
    /// VP8 in IVF.
    case ivf
    /// H.264 without a container: annex B.
    case h264
    /// Opus in WebM, without pictures.
    case weba
    /// Samples of 16 bits with a header (RIFF WAVE).
    case wav
    /// I420 with a header: YUV4MPEG2.
    case y4m
    /// Bare I420.
    case yuv
    /// Bare NV12.
    case nv12
    /// Nothing is written.
    case null
    /// A checksum of the samples or packets.
    case md5

    /// The format of that name, which is not case-sensitive.
    ///
    /// - Throws: `formatUnsupported`, with the most similar name and the list of all.
    public init(name: String) throws(MediaFileError) {
        guard let format = OutputFormat.allCases.first(where: { $0.name == name.lowercased() }) else {
            throw OutputFormat.unknown(name, what: "format", path: nil, known: OutputFormat.allCases.map(\.name))
        }
        self = format
    }

    /// The format of a file's extension, which is not case-sensitive.
    ///
    /// - Throws: `formatUnsupported` for an unknown extension or none.
    public init(path: String) throws(MediaFileError) {
        let known = OutputFormat.allCases.flatMap(\.extensions)
        guard let ending = fileExtension(of: path) else {
            throw MediaFileError(
                .formatUnsupported, operation: "choose a format", subject: path,
                message: "The name has no extension that says what to write; use one of "
                    + "\(known.map { ".\($0)" }.joined(separator: ", ")), or name the format.")
        }
        guard let format = OutputFormat.allCases.first(where: { $0.extensions.contains(ending) }) else {
            throw OutputFormat.unknown(ending, what: "extension", path: path, known: known)
        }
        self = format
    }

    /// The name by which the format is chosen.
    public var name: String { rawValue }

    /// The file extensions of the format, without the dot; the usual one first.
    public var extensions: [String] {
        switch self {
        case .yuv: ["yuv", "i420"]
        case .null: []
        case .h264: ["h264", "264"]
        case .webm, .ivf, .y4m, .nv12, .md5, .weba, .wav: [rawValue]
        }
    }

    /// A short description for display.
    public var description: String {
        switch self {
        case .webm: "VP8 and Opus in WebM, for browsers and players"
        case .weba: "Opus in WebM, sound alone"
        case .wav: "16-bit samples (WAV), sound alone"
        case .ivf: "VP8 in IVF, with timestamps to the microsecond"
        case .h264: "H.264 without a container and without timestamps"
        case .y4m: "I420 pictures with a header (YUV4MPEG2)"
        case .yuv: "bare I420 pictures"
        case .nv12: "bare NV12 pictures"
        case .null: "discards everything, for measurements"
        case .md5: "the MD5 checksum of the pictures"
        }
    }

    /// Whether it accepts encoded packets; see ``makePacketWriter(path:overwrite:)``.
    public var acceptsPackets: Bool {
        switch self {
        case .webm, .weba, .wav, .ivf, .h264, .null, .md5: true
        case .y4m, .yuv, .nv12: false
        }
    }

    /// Whether it is for sound alone.
    public var isSoundOnly: Bool { self == .weba || self == .wav }

    /// Whether it accepts frames; see ``makeFrameWriter(path:overwrite:timing:maximumDuration:)``. ``null``
    /// and ``md5`` accept frames and packets.
    public var acceptsFrames: Bool {
        switch self {
        case .y4m, .yuv, .nv12, .null, .md5: true
        case .webm, .weba, .wav, .ivf, .h264: false
        }
    }

    /// Whether its frames have one rate and no timestamps, so that irregular frames must be repeated and dropped; see
    /// ``OutputFormat/Timing``.
    public var hasConstantRate: Bool {
        switch self {
        case .y4m, .yuv, .nv12: true
        case .webm, .weba, .wav, .ivf, .h264, .null, .md5: false
        }
    }

    /// The only pixel format of frames that it accepts; nil when it accepts any, or only packets.
    public var pixelFormat: PixelFormat? {
        switch self {
        case .y4m, .yuv: .i420
        case .nv12: .nv12
        case .webm, .weba, .wav, .ivf, .h264, .null, .md5: nil
        }
    }

    private static func unknown(_ name: String, what: String, path: String?, known: [String]) -> MediaFileError {
        let guess = nearestName(to: name, in: known).map { " Did you mean \($0)?" } ?? ""
        let others = ["mp4", "m4v", "mov", "mkv", "ts", "m3u8"]
        let hint = others.contains(name) ? " FFmpegOutput of FFmpegMuxing writes it." : guess
        return MediaFileError(
            .formatUnsupported, operation: "choose a format", subject: path,
            message: "No format has the \(what) \(name).\(hint) There are \(known.joined(separator: ", ")).")
    }
}

extension OutputFormat: CustomStringConvertible {}

/// The extension of the path's last component, in lower case; nil without one. The dot of a hidden file does not
/// count.
func fileExtension(of path: String) -> String? {
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return nil }
    let ending = name[name.index(after: dot)...]
    return ending.isEmpty ? nil : ending.lowercased()
}

extension OutputFormat {
    /// The conversion of the timestamped frames of a capture to a format that has one frame rate and no timestamps; see
    /// ``OutputFormat/hasConstantRate``.
    public enum Timing: Sendable, Hashable {
        /// Each frame is written once, whatever its timestamp, and the header states this rate: for frames that are generated
        /// as fast as possible, whose timestamps have no meaning.
        case everyFrame(rate: FrameRate)
        /// Frames are repeated and dropped by their timestamps, so that the output plays at this rate as long as the capture
        /// lasted.
        case constant(FrameRate)
        /// As ``constant(_:)``, at the measured rate of the first frames.
        ///
        /// Up to 32 frames, 2 s or 128 MiB are held for the measurement. `stated` is the rate that the source states: it is
        /// used unless the frames are faster, as in a video of variable rate that states its mean, and immediately when the
        /// first three frames have it; nil when the source states none, as a network camera.
        case measured(stated: FrameRate?)
    }
}

extension OutputFormat {
    /// Opens the output and creates the writer for frames. ``null`` opens nothing.
    ///
    /// - Parameters:
    ///   - path: the file, or `-` for standard output.
    ///   - overwrite: whether to replace an existing file, which is an error otherwise.
    ///   - timing: the timing of a format with ``hasConstantRate``; the others write each frame as it arrives.
    ///   - maximumDuration: the time after the first frame from which nothing is written to such a format; nil for no
    ///     limit.
    /// - Returns: the writer; a ``ConstantRateWriter`` where frames are repeated and dropped.
    /// - Throws: `MediaFileError`; `formatUnsupported` for a format that accepts only packets.
    public func makeFrameWriter(
        path: String, overwrite: Bool = false, timing: OutputFormat.Timing, maximumDuration: Duration? = nil
    ) throws(MediaFileError) -> any FrameWriter {
        if self == .null { return NullWriter() }
        guard acceptsFrames else { throw unaccepted(path: path) }
        return try makeFrameWriter(
            to: OutputFile(path: path, overwrite: overwrite), timing: timing, maximumDuration: maximumDuration)
    }

    /// As ``makeFrameWriter(path:overwrite:timing:maximumDuration:)``, to an open output.
    ///
    /// - Parameters:
    ///   - file: the output; ``null`` does not use it.
    ///   - timing: the timing of a format with ``hasConstantRate``; the others write each frame as it arrives.
    ///   - maximumDuration: the time after the first frame from which nothing is written to such a format; nil for no
    ///     limit.
    /// - Returns: the writer; a ``ConstantRateWriter`` where frames are repeated and dropped.
    /// - Throws: `formatUnsupported` for a format that accepts only packets.
    public func makeFrameWriter(
        to file: OutputFile, timing: OutputFormat.Timing, maximumDuration: Duration? = nil
    ) throws(MediaFileError) -> any FrameWriter {
        let makeWriter: @Sendable (FrameRate) -> any FrameWriter
        switch self {
        case .y4m: makeWriter = { Y4MWriter(file, rate: $0) }
        case .yuv, .nv12:
            makeWriter = { [pixelFormat = self == .yuv ? PixelFormat.i420 : .nv12] _ in
                RawFrameWriter(file, pixelFormat: pixelFormat)
            }
        case .null: return NullWriter()
        case .md5: return MD5Writer(file)
        case .webm, .weba, .wav, .ivf, .h264: throw unaccepted(path: file.path)
        }
        switch timing {
        case .everyFrame(let rate): return makeWriter(rate)
        case .constant(let rate):
            return ConstantRateWriter(rate: rate, maximumDuration: maximumDuration, makeWriter: makeWriter)
        case .measured(let stated):
            return ConstantRateWriter(
                measuringWithStatedRate: stated, maximumDuration: maximumDuration, makeWriter: makeWriter)
        }
    }

    /// Opens the output and creates the writer for packets. ``null`` opens nothing.
    ///
    /// - Parameters:
    ///   - path: the file, or `-` for standard output.
    ///   - overwrite: whether to replace an existing file, which is an error otherwise.
    /// - Returns: the writer.
    /// - Throws: `MediaFileError`; `formatUnsupported` for a format that accepts only frames.
    public func makePacketWriter(path: String, overwrite: Bool = false) throws(MediaFileError) -> any PacketWriter {
        if self == .null { return NullPacketWriter() }
        guard acceptsPackets else { throw unaccepted(path: path) }
        return try makePacketWriter(to: OutputFile(path: path, overwrite: overwrite))
    }

    /// As ``makePacketWriter(path:overwrite:)``, to an open output.
    ///
    /// - Parameter file: the output; ``null`` does not use it.
    /// - Returns: the writer.
    /// - Throws: `formatUnsupported` for a format that accepts only frames.
    public func makePacketWriter(to file: OutputFile) throws(MediaFileError) -> any PacketWriter {
        switch self {
        case .webm, .weba: return WebMWriter(file)
        case .wav: return WAVWriter(file)
        case .ivf: return IVFWriter(file)
        case .h264: return AnnexBWriter(file)
        case .null: return NullPacketWriter()
        case .md5: return MD5PacketWriter(file)
        case .y4m, .yuv, .nv12: throw unaccepted(path: file.path)
        }
    }

    /// Thrown before a file is created.
    private func unaccepted(path: String) -> MediaFileError {
        MediaFileError(
            .formatUnsupported, operation: "open the output", subject: path,
            message: acceptsPackets
                ? "\(name) holds encoded packets; encode the frames, or choose y4m."
                : "\(name) holds pictures, not encoded packets; choose webm or ivf.")
    }
}
