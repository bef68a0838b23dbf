import VideoCapturing

/// Pixel format and size of a file whose frames must all be alike: set by the first one.
struct FrameShape {
    private let pixelFormat: PixelFormat
    private var size: (width: Int, height: Int)?

    init(_ pixelFormat: PixelFormat) {
        self.pixelFormat = pixelFormat
    }

    /// Whether a frame has been taken.
    var isSet: Bool { size != nil }

    /// Throws `formatUnsupported` for a frame that does not fit into the file.
    mutating func check(_ frame: VideoFrame, path: String) throws(MediaFileError) {
        guard frame.pixelFormat == pixelFormat else {
            throw MediaFileError(
                .formatUnsupported, operation: "write a frame", path: path,
                message: "The file holds \(pixelFormat), but the frame is \(frame.pixelFormat); convert it first.")
        }
        guard let size else {
            size = (frame.width, frame.height)
            return
        }
        guard size == (frame.width, frame.height) else {
            throw MediaFileError(
                .formatUnsupported, operation: "write a frame", path: path,
                message: "The file began with \(size.width)x\(size.height), but the frame is "
                    + "\(frame.width)x\(frame.height); scale the frames to one size or start a new file.")
        }
    }
}
