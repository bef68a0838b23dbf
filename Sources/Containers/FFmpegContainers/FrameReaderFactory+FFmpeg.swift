import MediaContainers

extension FrameReaderFactory {
    /// Opens whatever FFmpeg can read; see ``FFmpegReader``. Says nil, and takes nothing, where the first bytes are of
    /// no kind that it knows.
    public static let ffmpeg = FrameReaderFactory(name: "FFmpeg") { request in
        if let file = request.file, try file.peek(1, { $0.count }) > 0, try InputProbe.demuxer(for: file) == nil {
            return nil
        }
        return try FFmpegReader(request)
    }
}
