import FrameProcessing
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
    public static let defaultMaximumPixelCount = JPEGReader.defaultMaximumPixelCount

    /// The format of the pictures made.
    public var pixelFormat: PixelFormat { reader.pixelFormat }

    /// The capturers of JPEG use the same, and no codec.
    private let reader: JPEGReader

    /// - Parameters:
    ///   - pixelFormat: NV12 or I420; with another, decoding throws `invalidConfiguration`.
    ///   - maximumPixelCount: larger pictures are refused with `formatUnsupported` before memory is taken for them.
    public init(
        pixelFormat: PixelFormat = .nv12, maximumPixelCount: Int = JPEGDecoder.defaultMaximumPixelCount
    ) {
        reader = JPEGReader(pixelFormat: pixelFormat, maximumPixelCount: maximumPixelCount)
    }

    /// Decodes one picture.
    ///
    /// - Throws: `corruptData` for damaged or cut pictures; `formatUnsupported` for RGB, CMYK, arithmetic coding, other
    ///   than 8 bits, and pictures that are too large; `invalidConfiguration`, `outOfMemory`.
    public func decode(_ jpeg: UnsafeRawBufferPointer) throws(CodecError) -> PixelBuffer { try reader.decode(jpeg) }

    public func decode(_ packet: UnsafeRawBufferPointer, output: (PixelBuffer) throws -> Void) throws {
        try output(try decode(packet))
    }
}
