import CLibYUV
import VideoCapturing

extension Picture {
    /// Decodes a JPEG into 4:2:0. libyuv catches libjpeg's errors inside, so that no jump leaves it.
    ///
    /// Throws `corruptData` for what is no JPEG of the stated size, or is sampled in a way that libyuv does not
    /// know: all but the factors of cameras, so FFmpeg's 4:2:2 and 4:4:4 (2x2 and 1x2 to 1x2) are refused. As
    /// with all decoders, damage inside the entropy-coded data may show in the picture only.
    func decode(into target: MutablePicture) throws(CaptureError) {
        let (width, height) = (Int32(width), Int32(height))
        let result: Int32
        switch target.pixelFormat {
        case .nv12:
            result = MJPGToNV12(
                y.base, compressedByteCount, target.y.base, target.y.stride, target.chroma.base, target.chroma.stride,
                width, height, width, height)
        case .nv21:
            result = MJPGToNV21(
                y.base, compressedByteCount, target.y.base, target.y.stride, target.chroma.base, target.chroma.stride,
                width, height, width, height)
        case .i420, .yv12:
            result = MJPGToI420(
                y.base, compressedByteCount, target.y.base, target.y.stride, target.u.base, target.u.stride,
                target.v.base, target.v.stride, width, height, width, height)
        default:
            preconditionFailure("JPEG is decoded to 4:2:0, not to \(target.pixelFormat)")
        }
        if result != 0 { throw decodingError() }
    }

    private func decodingError() -> CaptureError {
        var size: (width: Int32, height: Int32) = (0, 0)
        let reason =
            if MJPGSize(y.base, compressedByteCount, &size.width, &size.height) != 0 {
                "The \(compressedByteCount) bytes are not a whole JPEG picture"
            } else if size != (Int32(width), Int32(height)) {
                "The JPEG picture has \(size.width)x\(size.height) pixels"
            } else {
                "The JPEG picture is damaged, or sampled otherwise than cameras do (2x2, 2x1 or 1x1 to 1x1, or grey)"
            }
        return CaptureError(
            .corruptData, operation: "decode a picture", subject: "MJPEG \(width)x\(height)",
            message: "\(reason); drop the frame and go on with the next.")
    }
}
