import VideoCapturing

/// Writes raw samples, frame after frame: no header, no padding, no timestamps. Files named `.yuv` hold
/// I420, those named `.nv12` NV12.
///
/// Players show the frames at a constant rate, and each is written once. For irregular frames use a
/// ``ConstantRateWriter`` in front.
public final class RawFrameWriter: FrameWriter {
    private let file: OutputFile
    private let shape: Locked<FrameShape>

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - file: the output, which `finish` closes.
    ///   - pixelFormat: the only format that is accepted; convert other frames before.
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

/// Pixel format and size of a file whose frames must all have the same: set by the first one.
struct FrameShape {
    private let pixelFormat: PixelFormat
    private var size: (width: Int, height: Int)?

    init(_ pixelFormat: PixelFormat) {
        self.pixelFormat = pixelFormat
    }

    /// Whether a frame was accepted.
    var isSet: Bool { size != nil }

    /// Throws `formatUnsupported` for a frame of another format or size.
    mutating func check(_ frame: VideoFrame, path: String) throws(MediaFileError) {
        guard frame.pixelFormat == pixelFormat else {
            throw MediaFileError(
                .formatUnsupported, operation: "write a frame", subject: path,
                message: "The file holds \(pixelFormat), but the frame is \(frame.pixelFormat); convert it first.")
        }
        guard let size else {
            size = (frame.width, frame.height)
            return
        }
        guard size == (frame.width, frame.height) else {
            throw MediaFileError(
                .formatUnsupported, operation: "write a frame", subject: path,
                message: "The file began with \(size.width)x\(size.height), but the frame is "
                    + "\(frame.width)x\(frame.height); scale the frames to one size or start a new file.")
        }
    }
}

extension PixelBuffer {
    /// Runs `body` with the samples of the frame, plane after plane and row after row, without the padding: the bytes of a
    /// raw video file, in as few spans as the strides allow.
    func forEachSpan<Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
        try withUnsafePlanes { (bases) throws(Failure) in
            for (base, plane) in zip(bases, planes) {
                if plane.bytesPerRow == plane.rowBytes {
                    try body(UnsafeRawBufferPointer(start: base, count: plane.rowBytes * plane.rows))
                } else {
                    for row in 0..<plane.rows {
                        try body(UnsafeRawBufferPointer(start: base + row * plane.bytesPerRow, count: plane.rowBytes))
                    }
                }
            }
        }
    }
}

extension OutputFile {
    /// Writes the samples of a frame, without padding.
    func writePixels(of buffer: PixelBuffer) throws(MediaFileError) {
        try buffer.forEachSpan { (bytes) throws(MediaFileError) in try write(bytes) }
    }
}
