import VideoCapturing

/// Turns frames into JPEG pictures.
public final class JPEGEncoder: VideoEncoder {
    public init(quality: Int = 80, passesThrough: Bool = true) throws(CodecError) {}

    public func encode(_ frame: VideoFrame, forceKeyFrame: Bool, output: (EncodedPacket) throws -> Void) throws {
        fatalError()
    }

    public func flush(output: (EncodedPacket) throws -> Void) throws {}
}
