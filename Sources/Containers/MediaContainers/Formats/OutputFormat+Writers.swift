import VideoCapturing

extension OutputFormat {
    /// Opens the output and makes the writer for frames. ``null`` opens nothing.
    ///
    /// - Parameters:
    ///   - path: the file, or `-` for standard output.
    ///   - overwrite: whether to replace a file that exists, which is an error otherwise.
    ///   - rate: what a header with a rate says.
    ///   - keepsConstantRate: see ``Y4MWriter``; the other formats write what comes.
    /// - Throws: `MediaFileError`; `formatUnsupported` for a format that takes packets only.
    public func makeFrameWriter(
        path: String, overwrite: Bool = false, rate: FrameRate, keepsConstantRate: Bool = false
    ) throws(MediaFileError) -> any FrameWriter {
        switch self {
        case .y4m:
            return Y4MWriter(
                try OutputFile(path: path, overwrite: overwrite), rate: rate, keepsConstantRate: keepsConstantRate)
        case .yuv: return RawFrameWriter(try OutputFile(path: path, overwrite: overwrite), pixelFormat: .i420)
        case .nv12: return RawFrameWriter(try OutputFile(path: path, overwrite: overwrite), pixelFormat: .nv12)
        case .null: return NullWriter()
        case .md5: return MD5Writer(try OutputFile(path: path, overwrite: overwrite))
        case .webm, .ivf:
            throw MediaFileError(
                .formatUnsupported, operation: "open the output", path: path,
                message: "\(name) holds encoded packets; encode the frames, or choose y4m.")
        }
    }

    /// Opens the output and makes the writer for packets. ``null`` opens nothing.
    ///
    /// - Throws: `MediaFileError`; `formatUnsupported` for a format that takes frames only.
    public func makePacketWriter(path: String, overwrite: Bool = false) throws(MediaFileError) -> any PacketWriter {
        switch self {
        case .webm: return WebMWriter(try OutputFile(path: path, overwrite: overwrite))
        case .ivf: return IVFWriter(try OutputFile(path: path, overwrite: overwrite))
        case .null: return NullPacketWriter()
        case .md5: return MD5PacketWriter(try OutputFile(path: path, overwrite: overwrite))
        case .y4m, .yuv, .nv12:
            throw MediaFileError(
                .formatUnsupported, operation: "open the output", path: path,
                message: "\(name) holds pictures, not encoded packets; choose webm or ivf.")
        }
    }
}
