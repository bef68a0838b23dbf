import VideoCapturing

/// Turns JPEG pictures into NV12 or I420.
public final class JPEGDecoder: VideoDecoder {
    public init(pixelFormat: PixelFormat = .nv12, maximumPixelCount: Int = 1 << 26) {}

    public func decode(_ jpeg: UnsafeRawBufferPointer) throws(CodecError) -> PixelBuffer { fatalError() }

    public func decode(_ packet: UnsafeRawBufferPointer, output: (PixelBuffer) throws -> Void) throws {
        try output(try decode(packet))
    }
}
