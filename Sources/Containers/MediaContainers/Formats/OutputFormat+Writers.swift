import VideoCapturing

extension OutputFormat {
    /// Opens the output and makes the writer for frames. ``null`` opens nothing.
    ///
    /// - Parameters:
    ///   - path: the file, or `-` for standard output.
    ///   - overwrite: whether to replace a file that exists, which is an error otherwise.
    ///   - timing: how a format with ``hasConstantRate`` gets its frames; the others take each frame as it comes.
    ///   - maximumDuration: the time after the first frame from which nothing is written to such a format; nil for no
    ///     limit.
    /// - Returns: the writer; a ``ConstantRateWriter`` where frames are repeated and dropped.
    /// - Throws: `MediaFileError`; `formatUnsupported` for a format that takes packets only.
    public func makeFrameWriter(
        path: String, overwrite: Bool = false, timing: FrameTiming, maximumDuration: Duration? = nil
    ) throws(MediaFileError) -> any FrameWriter {
        if self == .null { return NullWriter() }
        guard acceptsFrames else { throw unaccepted(path: path) }
        return try makeFrameWriter(
            to: OutputFile(path: path, overwrite: overwrite), timing: timing, maximumDuration: maximumDuration)
    }

    /// As ``makeFrameWriter(path:overwrite:timing:maximumDuration:)``, to an output that is open.
    ///
    /// - Parameters:
    ///   - file: where the frames go; ``null`` leaves it unused.
    ///   - timing: how a format with ``hasConstantRate`` gets its frames; the others take each frame as it comes.
    ///   - maximumDuration: the time after the first frame from which nothing is written to such a format; nil for no
    ///     limit.
    /// - Returns: the writer; a ``ConstantRateWriter`` where frames are repeated and dropped.
    /// - Throws: `formatUnsupported` for a format that takes packets only.
    public func makeFrameWriter(
        to file: OutputFile, timing: FrameTiming, maximumDuration: Duration? = nil
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
        case .webm, .ivf: throw unaccepted(path: file.path)
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

    /// Opens the output and makes the writer for packets. ``null`` opens nothing.
    ///
    /// - Parameters:
    ///   - path: the file, or `-` for standard output.
    ///   - overwrite: whether to replace a file that exists, which is an error otherwise.
    /// - Throws: `MediaFileError`; `formatUnsupported` for a format that takes frames only.
    public func makePacketWriter(path: String, overwrite: Bool = false) throws(MediaFileError) -> any PacketWriter {
        if self == .null { return NullPacketWriter() }
        guard acceptsPackets else { throw unaccepted(path: path) }
        return try makePacketWriter(to: OutputFile(path: path, overwrite: overwrite))
    }

    /// As ``makePacketWriter(path:overwrite:)``, to an output that is open.
    ///
    /// - Parameter file: where the packets go; ``null`` leaves it unused.
    /// - Throws: `formatUnsupported` for a format that takes frames only.
    public func makePacketWriter(to file: OutputFile) throws(MediaFileError) -> any PacketWriter {
        switch self {
        case .webm: return WebMWriter(file)
        case .ivf: return IVFWriter(file)
        case .null: return NullPacketWriter()
        case .md5: return MD5PacketWriter(file)
        case .y4m, .yuv, .nv12: throw unaccepted(path: file.path)
        }
    }

    /// Thrown before a file is made for nothing.
    private func unaccepted(path: String) -> MediaFileError {
        MediaFileError(
            .formatUnsupported, operation: "open the output", path: path,
            message: acceptsPackets
                ? "\(name) holds encoded packets; encode the frames, or choose y4m."
                : "\(name) holds pictures, not encoded packets; choose webm or ivf.")
    }
}
