import CJPEG
import VideoCapturing

/// Decodes JPEG pictures, for the capturers that receive them and for `JPEGDecoder`, which lists the supported kinds.
///
/// Not to be used from two threads at once.
package final class JPEGReader {
    /// 8192 × 8192.
    package static let defaultMaximumPixelCount = 1 << 26

    /// The format of the pictures made.
    package let pixelFormat: PixelFormat

    private let maximumPixelCount: Int
    private let pool = PixelBufferPool()
    private var context: JPEGContext?

    /// - Parameters:
    ///   - pixelFormat: NV12 or I420; with another, decoding throws `invalidConfiguration`.
    ///   - maximumPixelCount: larger pictures are refused with `formatUnsupported` before memory is taken for them.
    package init(
        pixelFormat: PixelFormat = .nv12, maximumPixelCount: Int = JPEGReader.defaultMaximumPixelCount
    ) {
        self.pixelFormat = pixelFormat
        self.maximumPixelCount = maximumPixelCount
    }

    /// The picture, of the size that it says itself.
    ///
    /// - Throws: `corruptData`, `formatUnsupported`, `invalidConfiguration`, `outOfMemory`.
    package func decode(_ jpeg: UnsafeRawBufferPointer) throws(CodecError) -> PixelBuffer {
        guard pixelFormat == .nv12 || pixelFormat == .i420 else {
            throw CodecError(
                .invalidConfiguration, operation: JPEGContext.operation, subject: "JPEG",
                message: "JPEG is decoded to NV12 or I420, not to \(pixelFormat); make the decoder with one of these.")
        }
        let context = try usableContext()
        let size = try context.begin(jpeg)
        guard size.pixelCount <= maximumPixelCount else {
            throw JPEGContext.failure(
                CJPEG_UNSUPPORTED,
                "it has \(size.width)x\(size.height) pixels, and at most \(maximumPixelCount) are decoded")
        }
        do throws(CaptureError) {
            return try pool.makePicture(pixelFormat, size) { (target) throws(CaptureError) in
                do throws(CodecError) { try context.decode(into: target) } catch {
                    throw CaptureError(error, subject: "JPEG")
                }
            }
        } catch {
            throw CodecError(error)
        }
    }

    private func usableContext() throws(CodecError) -> JPEGContext {
        if let context { return context }
        let made = try JPEGContext()
        context = made
        return made
    }
}

extension Picture {
    /// Decodes a JPEG into 4:2:0.
    ///
    /// Throws `corruptData` for bytes that are not an intact JPEG of the stated size, `formatUnsupported`, `outOfMemory`.
    func decode(into target: MutablePicture, scratch: inout ScratchMemory) throws(CaptureError) {
        let subject = "MJPEG \(width)x\(height)"
        do throws(CodecError) {
            let context = try scratch.jpegContext()
            let size = try context.begin(UnsafeRawBufferPointer(start: y.base, count: compressedByteCount))
            guard size == PixelSize(width: width, height: height) else {
                throw JPEGContext.failure(CJPEG_DAMAGED, "it has \(size.width)x\(size.height) pixels")
            }
            try context.decode(into: target)
        } catch {
            throw CaptureError(error, subject: subject)
        }
    }
}

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
