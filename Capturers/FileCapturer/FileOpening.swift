import MediaContainers
import VideoCapturing

/// With what a file is opened.
struct FileOpening: Sendable {
    var decoders: [VideoDecoderFactory]
    var readers: [FrameReaderFactory]
    var rawFormat: VideoFormat?

    func open(_ path: String, _ frameRate: FrameRate?, interruptDescriptor: Int32) throws -> any FrameReader {
        try MediaFileReader.open(
            path: path, decoders: decoders, readers: readers, rawFormat: rawFormat, frameRate: frameRate,
            interruptDescriptor: interruptDescriptor)
    }
}
