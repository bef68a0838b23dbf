import CJPEG
import VideoCapturing

/// A decoder of libjpeg-turbo, used again for every picture. For one thread at a time.
final class JPEGContext {
    private let handle: OpaquePointer

    /// Throws `outOfMemory`.
    init() throws(CodecError) {
        guard let handle = cjpeg_decoder_create() else { throw .noJPEGContext(JPEGContext.operation) }
        self.handle = handle
    }

    deinit { cjpeg_decoder_destroy(handle) }

    /// Reads the head of a picture, which must stay where it is until it is decoded.
    func begin(_ jpeg: UnsafeRawBufferPointer) throws(CodecError) -> PixelSize {
        guard let bytes = jpeg.baseAddress, jpeg.count > 0 else {
            throw JPEGContext.failure(CJPEG_DAMAGED, "it has no bytes")
        }
        var size = cjpeg_size()
        try check(cjpeg_decoder_begin(handle, bytes, jpeg.count, &size))
        return PixelSize(width: Int(size.width), height: Int(size.height))
    }

    /// Decodes the picture begun, once, into a picture of 4:2:0 from a pool, whose rows have room for whole blocks.
    func decode(into target: MutablePicture) throws(CodecError) {
        let chroma: (MutablePicturePlane, MutablePicturePlane)
        let layout: cjpeg_chroma
        switch target.pixelFormat {
        case .i420, .yv12: (layout, chroma) = (CJPEG_PLANAR, (target.u, target.v))
        case .nv12: (layout, chroma) = (CJPEG_UV, (target.chroma, target.chroma))
        case .nv21: (layout, chroma) = (CJPEG_VU, (target.chroma, target.chroma))
        default: preconditionFailure("JPEG is decoded to 4:2:0, not to \(target.pixelFormat)")
        }
        var planes = cjpeg_target(
            luma: target.y.base, luma_stride: Int(target.y.stride), layout: layout,
            chroma: (chroma.0.base, chroma.1.base), chroma_stride: (Int(chroma.0.stride), Int(chroma.1.stride)))
        try check(cjpeg_decoder_decode(handle, &planes))
    }

    private func check(_ result: cjpeg_result) throws(CodecError) {
        if result != CJPEG_OK {
            throw JPEGContext.failure(result, String(cString: cjpeg_decoder_message(handle)))
        }
    }

    static func failure(_ result: cjpeg_result, _ detail: String) -> CodecError {
        CodecError(
            jpeg: result, detail: detail, operation: operation,
            nextStep: "have it sent as baseline JPEG of 8 bits in Y, Cb and Cr, or smaller")
    }

    static let operation = "decode a picture"
}
