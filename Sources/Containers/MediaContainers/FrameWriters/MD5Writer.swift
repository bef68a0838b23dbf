import VideoCapturing

/// The MD5 of the samples of all frames, without padding: the same for the same pictures, whatever their
/// strides. Gives the line that `ffmpeg -f md5` gives for raw video.
public final class MD5Writer: FrameWriter {
    private let report: MD5Report

    /// - Parameter file: where ``finish()`` writes the line `MD5=…`; nil to keep only ``digest``.
    public init(_ file: OutputFile? = nil) {
        report = MD5Report(file)
    }

    /// The 32 hexadecimal digits, in lower case; nil until ``finish()``.
    public var digest: String? { report.digest }

    /// The bytes that went in.
    public var bytesWritten: Int64 { report.byteCount }

    public func writeFrame(_ frame: VideoFrame) { report.add(frame.buffer) }

    public func finish() throws { try report.finish() }
}
