import CLibV4L2
import VideoCapturing

/// Decodes what only libv4lconvert knows (raw sensors, the formats of old vendors) into I420.
///
/// Belongs to the capture thread.
final class ExoticConverter {
    private let context: OpaquePointer
    private var source = v4l2_format()
    private var target = v4l2_format()

    /// The formats that libv4lconvert 1.22 decodes and libyuv does not (`supported_src_pixfmts` in
    /// lib/libv4lconvert/libv4lconvert.c); but not RGBP, of which it swaps red and blue.
    private static let known: Set<FourCC> = [
        "GREY", "Y16", "Y16-BE", "Y10B", "Y04", "Y06", "BA81", "GBRG", "GRBG", "RGGB", "YVYU", "YYUV", "M420", "HM12",
        "NV61", "S501", "S505", "S508", "S561", "S910", "S920", "SONX", "P207", "M310", "JL20", "905C", "S680",
        "PJPG", "O511", "O518", "CPIA", "KONI", "S401", "CITV",
    ]

    /// Whether there is a decoder for the format.
    static func knows(_ fourCC: FourCC) -> Bool { known.contains(fourCC) }

    /// Throws `formatUnsupported` when the library cannot be set up for the camera.
    init(_ node: DeviceNode, format: StreamFormat) throws(CaptureError) {
        guard let context = v4lconvert_create(node.descriptor) else {
            throw CaptureError(
                .formatUnsupported, operation: "decode \(format.fourCC)", subject: node.path,
                message: "libv4lconvert cannot be set up for this camera; choose another format.")
        }
        self.context = context
        source.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        source.fmt.pix.width = UInt32(format.width)
        source.fmt.pix.height = UInt32(format.height)
        source.fmt.pix.pixelformat = format.fourCC.rawValue
        source.fmt.pix.bytesperline = UInt32(format.memoryPlanes[0].bytesPerRow)
        source.fmt.pix.sizeimage = UInt32(format.memoryPlanes[0].byteCount)
        target.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        target.fmt.pix.width = source.fmt.pix.width
        target.fmt.pix.height = source.fmt.pix.height
        target.fmt.pix.pixelformat = FourCC.yu12.rawValue
        target.fmt.pix.bytesperline = UInt32(format.width)
        target.fmt.pix.sizeimage = UInt32(PixelFormat.i420.packedByteCount(width: format.width, height: format.height))
    }

    deinit { v4lconvert_destroy(context) }

    /// Decodes the bytes of one buffer into `picture`, which has the stride of its width.
    ///
    /// Throws `corruptData` for bytes that are no picture.
    func convert(_ bytes: UnsafeMutableRawBufferPointer, into picture: UnsafeMutableRawBufferPointer)
        throws(CaptureError)
    {
        let written = v4lconvert_convert(
            context, &source, &target, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(bytes.count),
            picture.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(picture.count))
        guard written >= 0 else {
            throw CaptureError(
                .corruptData, operation: "decode \(FourCC(rawValue: source.fmt.pix.pixelformat))",
                message: String(cString: v4lconvert_get_error_message(context)))
        }
    }
}
