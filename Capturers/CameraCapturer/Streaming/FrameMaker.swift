import CLibV4L2
import FrameProcessing
import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Makes NV12 frames from a stream's filled buffers: lends the driver's own memory where possible, copies where the
/// driver needs it back, and converts, crops and scales in one pass from the mapping where necessary. JPEG is decoded
/// first. JPEG and other formats are delivered as they are where all consumers accept them.
///
/// Belongs to the capture thread.
final class FrameMaker {
    /// A pixel buffer with its color matrix and range.
    struct Made {
        var buffer: PixelBuffer
        /// The camera's JPEG next to it.
        var compressed: PixelBuffer?
        var color: ColorDescription?
        /// The buffer is the driver's own memory.
        var isLent: Bool
    }

    /// The format of the buffers; nil for formats that only libv4lconvert decodes.
    let pixelFormat: PixelFormat?

    /// The consumers' wants: a smaller size, and the camera's format.
    var wants: CaptureWants { didSet { adapt() } }
    // Derived from `wants`, so that it is not computed for each frame.
    private var size: (width: Int, height: Int) = (0, 0)
    /// Whether frames are neither cropped nor scaled.
    private var isWhole = false
    /// Whether one of the two fields of each frame is interpolated.
    let deinterlaces: Bool
    /// Whether frames are delivered in the camera's format and size.
    private var isUnprocessed = false

    private let stream: CaptureStream
    private let plan: DeliveryPlan
    private let processor: FrameProcessor
    private let pool = PixelBufferPool()
    private let v4lDecoder: V4LDecoder?
    private let jpeg: JPEGReader?

    init(
        _ stream: CaptureStream, plan: DeliveryPlan, processor: FrameProcessor, wants: CaptureWants,
        deinterlaces: Bool
    ) throws(CaptureError) {
        self.stream = stream
        self.plan = plan
        self.processor = processor
        self.wants = wants
        pixelFormat = CaptureFormat.of(stream.format.fourCC)?.pixelFormat
        v4lDecoder = pixelFormat == nil ? try V4LDecoder(stream.node, format: stream.format) : nil
        jpeg = pixelFormat == .mjpeg ? JPEGReader() : nil
        // The fields of JPEG are pictures of their own.
        self.deinterlaces = deinterlaces && stream.format.isInterlaced && pixelFormat != .mjpeg
        adapt()
    }

    /// Makes a frame from a filled buffer, which is requeued or lent to the frame.
    ///
    /// - Throws: `corruptData` when decoding fails; the buffer is requeued even then.
    func make(_ captured: CapturedBuffer) throws(CaptureError) -> Made {
        let format = stream.format
        if isUnprocessed, let pixelFormat {
            let pixels = try stream.pixelBuffer(in: captured, as: pixelFormat)
            if stream.queuedCount >= 2 {
                stream.lend(captured.index)
                return Made(buffer: pixels, color: format.color, isLent: true)
            }
            defer { requeue(captured.index) }
            return Made(
                buffer: try pool.makeCopy(of: pixels, as: pixelFormat),
                color: format.color, isLent: false)
        }
        defer { requeue(captured.index) }
        if pixelFormat == .mjpeg, wants.acceptsCompressed, isWhole {
            return Made(buffer: try copyJPEG(in: captured), color: .jpeg, isLent: false)
        }
        var pixels = try pixelBuffer(in: captured, as: pixelFormat)
        if let isTopFirst = format.isTopFieldFirst { pixels = try processor.weave(pixels, isTopFirst: isTopFirst) }
        if deinterlaces { pixels = try processor.deinterlace(pixels) }
        // JPEG is of full range whatever the driver says of it.
        let color = pixelFormat == .mjpeg ? .jpeg : format.color
        if pixelFormat == .mjpeg, isWhole {
            // Read whole above, so this cannot find damage that was not found there.
            let compressed = wants.usesCompressed ? try copyJPEG(in: captured) : nil
            return Made(buffer: pixels, compressed: compressed, color: color, isLent: false)
        }
        let transform = FrameTransform(
            crop: plan.crop, size: PixelSize(width: size.width, height: size.height), pixelFormat: .nv12)
        let (buffer, made) = try processor.apply(transform, to: pixels, color: color)
        return Made(buffer: buffer, color: made, isLent: false)
    }

    /// Whether frames of this format are delivered unconverted. RGB never: its fourth byte may be unused.
    private func acceptsUnconverted(_ pixelFormat: PixelFormat) -> Bool {
        pixelFormat == .nv12 || wants.acceptsNativeFormat && !pixelFormat.isCompressed && !pixelFormat.isRGB
    }

    private func adapt() {
        size = wants.adaptedSize(width: plan.size.width, height: plan.size.height)
        isWhole = plan.crop == nil && size == (stream.format.width, stream.format.height)
        isUnprocessed =
            isWhole && !deinterlaces && stream.format.isTopFieldFirst == nil
            && pixelFormat.map(acceptsUnconverted) ?? false
    }

    private func pixelBuffer(in captured: CapturedBuffer, as pixelFormat: PixelFormat?) throws(CaptureError)
        -> PixelBuffer
    {
        guard let pixelFormat else { return try v4lDecoder!.decode(captured, in: stream) }
        guard pixelFormat.isCompressed else { return try stream.pixelBuffer(in: captured, as: pixelFormat) }
        return try decodeJPEG(in: captured)
    }

    private func decodeJPEG(in captured: CapturedBuffer) throws(CaptureError) -> PixelBuffer {
        let format = stream.format
        let decoded: PixelBuffer
        do throws(CodecError) {
            decoded = try jpeg!.decode(stream.bytes(of: captured))
        } catch {
            // One damaged frame may be a fault of the cable; the next may be intact.
            let isMemory = error.code == .outOfMemory
            throw CaptureError(
                isMemory ? .outOfMemory : .corruptData, operation: error.operation,
                subject: "MJPEG \(format.width)x\(format.height)", message: error.message)
        }
        try check(decoded.width, decoded.height)
        return decoded
    }

    /// A copy for consumers that accept JPEG: only its header is read.
    private func copyJPEG(in captured: CapturedBuffer) throws(CaptureError) -> PixelBuffer {
        let bytes = stream.bytes(of: captured)
        let header: JPEGHeader
        do throws(CodecError) { header = try JPEGHeader(bytes) } catch { throw damage(error.message) }
        try check(header.width, header.height)
        return try PixelBuffer.compressed(bytes, as: .mjpeg, width: stream.format.width, height: stream.format.height)
    }

    private func check(_ width: Int, _ height: Int) throws(CaptureError) {
        guard width == stream.format.width, height == stream.format.height else {
            throw damage("The JPEG picture has \(width)x\(height) pixels; drop the frame and go on with the next.")
        }
    }

    private func damage(_ message: String) -> CaptureError {
        CaptureError(
            .corruptData, operation: "decode a picture",
            subject: "MJPEG \(stream.format.width)x\(stream.format.height)",
            message: message)
    }

    /// Requeues a buffer. After a refusal ``CaptureStream/reclaim()`` tries again.
    private func requeue(_ index: Int) { try? stream.queue(index) }
}

/// Decodes with libv4lconvert into a separate I420 pixel buffer.
private final class V4LDecoder {
    private let converter: V4LConverter
    private let memory: UnsafeMutableRawBufferPointer
    private let pixels: PixelBuffer

    init(_ node: DeviceNode, format: StreamFormat) throws(CaptureError) {
        converter = try V4LConverter(node, format: format)
        let (width, height) = (format.width, format.height)
        memory = .allocate(
            byteCount: PixelFormat.i420.packedByteCount(width: width, height: height) + 64, alignment: 64)
        var planes = PlaneList<PixelBuffer.PlaneMemory>()
        var offset = 0
        for plane in 0..<3 {
            let stride = PixelFormat.i420.rowBytes(ofPlane: plane, width: width)
            let byteCount = stride * PixelFormat.i420.rows(ofPlane: plane, height: height)
            planes.append(
                PixelBuffer.PlaneMemory(base: memory.baseAddress! + offset, byteCount: byteCount, bytesPerRow: stride))
            offset += byteCount
        }
        // Freed with this object: the pixel buffer never leaves the frame maker.
        pixels = try PixelBuffer(wrapping: planes, as: .i420, width: width, height: height, release: {})
    }

    deinit { memory.deallocate() }

    func decode(_ captured: CapturedBuffer, in stream: CaptureStream) throws(CaptureError) -> PixelBuffer {
        let mapping = stream.buffers[captured.index].mappings[0]
        let start = Int(captured.dataOffsets[0])
        let end = min(Int(captured.bytesUsed[0]), mapping.byteCount)
        try converter.convert(
            UnsafeMutableRawBufferPointer(start: mapping.address + start, count: max(0, end - start)), into: memory)
        return pixels
    }
}

/// Decodes the formats that only libv4lconvert reads (raw sensors, old vendors' formats) into I420.
///
/// Belongs to the capture thread.
final class V4LConverter {
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

    /// - Throws: `formatUnsupported` when the library cannot be set up for the camera.
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

    /// Decodes the bytes of one buffer into `frame`, whose stride is its width.
    ///
    /// - Throws: `corruptData` when decoding fails.
    func convert(_ bytes: UnsafeMutableRawBufferPointer, into frame: UnsafeMutableRawBufferPointer)
        throws(CaptureError)
    {
        let written = v4lconvert_convert(
            context, &source, &target, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(bytes.count),
            frame.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(frame.count))
        guard written >= 0 else {
            throw CaptureError(
                .corruptData, operation: "decode \(FourCC(rawValue: source.fmt.pix.pixelformat))",
                message: String(cString: v4lconvert_get_error_message(context)))
        }
    }
}
