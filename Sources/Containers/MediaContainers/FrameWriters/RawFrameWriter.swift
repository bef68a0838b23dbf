import VideoCapturing

/// Writes bare samples, frame after frame: no header, no padding, no timestamps. Files named `.yuv` hold
/// I420, those named `.nv12` NV12.
///
/// Players show the frames at a constant rate, and each is written once. For frames that may come irregularly put a
/// ``ConstantRateWriter`` in front.
public final class RawFrameWriter: FrameWriter {
    private let file: OutputFile
    private let shape: Locked<FrameShape>

    /// - Parameters:
    ///   - file: where the samples go; `finish` closes it.
    ///   - pixelFormat: the only format that is taken; frames in another are to be converted before.
    public init(_ file: OutputFile, pixelFormat: PixelFormat) {
        self.file = file
        shape = Locked(FrameShape(pixelFormat))
    }

    public var bytesWritten: Int64 { file.bytesWritten }

    public func writeFrame(_ frame: VideoFrame) throws {
        try shape.withLock { shape in try shape.check(frame, path: file.path) }
        try file.writePixels(of: frame.buffer)
        try file.endRecord()
    }

    public func finish() throws { try file.close() }
}
