import VideoCapturing

/// A file of raw frames, and what to make of it.
struct Clip {
    var input: String
    var output: String
    var format: VideoFormat
    /// Frames per second.
    var rate: Int32
    /// Thousands of bits per second.
    var bitrate: Int

    init(_ arguments: inout Arguments) throws {
        input = try arguments.required("input")
        output = try arguments.required("output")
        let name = try arguments.required("format")
        guard let pixelFormat = [PixelFormat.nv12, .i420].first(where: { "\($0)".lowercased() == name.lowercased() })
        else { throw UsageError("--format is nv12 or i420") }
        let (width, height) = try arguments.size()
        rate = Int32(clamping: try arguments.count("fps", default: 30))
        bitrate = try arguments.count("bitrate", default: 1000)
        format = VideoFormat(
            pixelFormat, width: width, height: height, estimatedFramesPerSecond: FrameRate(rate, per: 1))
    }
}
