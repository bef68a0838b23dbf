import CJPEG
import VideoCapturing

/// Decodes JPEG pictures to NV12 or I420 with libjpeg-turbo, straight into the planes of pooled buffers.
///
/// Takes baseline, extended and progressive pictures of 8 bits, grey or in Y, Cb and Cr, with chroma of all, half or a
/// quarter of luma's samples either way, whichever factors say so. Chroma is brought to 4:2:0 by the rounded average of
/// the samples, or by repetition where there are fewer. Pictures without Huffman tables, as many webcams send them,
/// are decoded with the standard ones. Each picture stands for itself: no table is taken from the one before.
///
/// The colour of the result is `ColorDescription.jpeg`: BT.601 of full range.
///
/// What libjpeg warns of counts as damage, and no half picture is handed out; but up to 16 bytes too many before a
/// marker are let pass, since cheap webcams leave them in sound pictures. What follows the end of the picture is not
/// looked at.
///
/// Not to be used from two threads at once.
public final class JPEGDecoder: VideoDecoder {
    /// For readers that are given the codecs a program links; the code is `MJPG`.
    public static let factory = VideoDecoderFactory(fourCC: "MJPG") { JPEGDecoder() }

    /// The most pixels of a picture that are decoded unless told otherwise: 8192 × 8192.
    public static let defaultMaximumPixelCount = 1 << 26

    /// The format of the pictures made.
    public let pixelFormat: PixelFormat

    private let maximumPixelCount: Int
    private let pool = PixelBufferPool()
    private let context: OpaquePointer?

    /// - Parameters:
    ///   - pixelFormat: NV12 or I420; with another, decoding throws `invalidConfiguration`.
    ///   - maximumPixelCount: larger pictures are refused with `formatUnsupported` before memory is taken for them.
    public init(
        pixelFormat: PixelFormat = .nv12, maximumPixelCount: Int = JPEGDecoder.defaultMaximumPixelCount
    ) {
        self.pixelFormat = pixelFormat
        self.maximumPixelCount = maximumPixelCount
        context = cjpeg_decoder_create()
    }

    deinit {
        if let context { cjpeg_decoder_destroy(context) }
    }

    /// Decodes one picture.
    ///
    /// - Throws: `corruptData` for damaged or cut pictures; `formatUnsupported` for RGB, CMYK, arithmetic coding, other
    ///   than 8 bits, and pictures that are too large; `invalidConfiguration`, `outOfMemory`.
    public func decode(_ jpeg: UnsafeRawBufferPointer) throws(CodecError) -> PixelBuffer {
        guard let context else { throw .noJPEGContext(JPEGDecoder.operation) }
        guard pixelFormat == .nv12 || pixelFormat == .i420 else {
            throw CodecError(
                .invalidConfiguration, operation: JPEGDecoder.operation, subject: "JPEG",
                message: "JPEG is decoded to NV12 or I420, not to \(pixelFormat); make the decoder with one of these.")
        }
        guard let bytes = jpeg.baseAddress, jpeg.count > 0 else {
            throw failure(CJPEG_DAMAGED, detail: "it has no bytes")
        }
        var size = cjpeg_size()
        let result = cjpeg_decoder_begin(context, bytes, jpeg.count, &size)
        guard result == CJPEG_OK else { throw failure(result, context) }
        let (width, height) = (Int(size.width), Int(size.height))
        guard width * height <= maximumPixelCount else {
            throw failure(
                CJPEG_UNSUPPORTED,
                detail: "it has \(width)x\(height) pixels, and at most \(maximumPixelCount) are decoded")
        }
        do {
            return try pool.makeBuffer(pixelFormat, width: width, height: height) { pixels in
                let result = decodeBegun(context, into: pixels)
                guard result == CJPEG_OK else { throw failure(result, context) }
            }
        } catch {
            throw CodecError(error, makingPictureFor: JPEGDecoder.operation)
        }
    }

    public func decode(_ packet: UnsafeRawBufferPointer, output: (PixelBuffer) throws -> Void) throws {
        try output(try decode(packet))
    }

    private func decodeBegun(_ context: OpaquePointer, into pixels: borrowing PixelWriter) -> cjpeg_result {
        let planes = pixels.planes
        return pixels.withUnsafePlanes { bases in
            func plane(_ index: Int) -> UnsafeMutablePointer<UInt8> {
                bases[index].assumingMemoryBound(to: UInt8.self)
            }
            let last = planes.count - 1
            var target = cjpeg_target(
                luma: plane(0), luma_stride: planes[0].bytesPerRow, chroma: (plane(1), plane(last)),
                chroma_stride: (planes[1].bytesPerRow, planes[last].bytesPerRow), is_interleaved: last == 1)
            return cjpeg_decoder_decode(context, &target)
        }
    }

    private func failure(_ result: cjpeg_result, _ context: OpaquePointer) -> CodecError {
        failure(result, detail: String(cString: cjpeg_decoder_message(context)))
    }

    private func failure(_ result: cjpeg_result, detail: String) -> CodecError {
        CodecError(
            jpeg: result, detail: detail, operation: JPEGDecoder.operation,
            nextStep: "have it sent as baseline JPEG of 8 bits in Y, Cb and Cr, or smaller")
    }

    private static let operation = "decode a picture"
}
