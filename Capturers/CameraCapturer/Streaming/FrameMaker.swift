import FrameProcessing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Makes NV12 pictures of a stream's filled buffers: lends the driver's own memory where it can, copies where the
/// driver needs it back, and converts, cuts and scales in one pass from the mapping where it must. JPEG is decoded first,
/// or handed on as it is where that is enough; so are other formats.
///
/// Belongs to the capture thread.
final class FrameMaker {
    /// A picture, and how its numbers map to light.
    struct Made {
        var buffer: PixelBuffer
        var color: ColorDescription?
        /// The buffer is the driver's own memory.
        var isLent: Bool
    }

    /// What is in the buffers; nil for what only libv4lconvert knows.
    let pixelFormat: PixelFormat?

    /// What consumers can use: makes pictures smaller, and leaves them in the camera's format.
    var wants: CaptureWants { didSet { adapt() } }
    // What follows from them, so that no frame asks again.
    private var size: (width: Int, height: Int) = (0, 0)
    /// Frames are the camera's whole pictures.
    private var isWhole = false
    /// Frames are the camera's pictures as they lie in its memory.
    private var isAsItLies = false

    private let stream: CaptureStream
    private let plan: DeliveryPlan
    private let processor: FrameProcessor
    private let pool = PixelBufferPool()
    private let exotic: ExoticPicture?
    private let jpeg: JPEGReader?

    init(
        _ stream: CaptureStream, plan: DeliveryPlan, processor: FrameProcessor, wants: CaptureWants
    ) throws(CaptureError) {
        self.stream = stream
        self.plan = plan
        self.processor = processor
        self.wants = wants
        pixelFormat = CaptureFormat.of(stream.format.fourCC)?.pixelFormat
        exotic = pixelFormat == nil ? try ExoticPicture(stream.node, format: stream.format) : nil
        jpeg = pixelFormat == .mjpeg ? JPEGReader() : nil
        adapt()
    }

    /// The picture in a filled buffer, which is given back to the driver or lent to the picture.
    ///
    /// - Throws: `corruptData` for what cannot be decoded; the buffer is given back even then.
    func make(_ captured: CapturedBuffer) throws(CaptureError) -> Made {
        let format = stream.format
        if isAsItLies, let pixelFormat {
            let picture = try stream.picture(in: captured, as: pixelFormat)
            if stream.queuedCount >= 2 {
                stream.lend(captured.index)
                return Made(buffer: picture, color: format.color, isLent: true)
            }
            defer { giveBack(captured.index) }
            return Made(
                buffer: try copy(picture, as: pixelFormat),
                color: format.color, isLent: false)
        }
        defer { giveBack(captured.index) }
        if pixelFormat == .mjpeg, wants.acceptsCompressed, isWhole {
            return Made(buffer: try copyJPEG(in: captured), color: .jpeg, isLent: false)
        }
        let picture = try picture(in: captured, as: pixelFormat)
        // JPEG is of full range whatever the driver says of it.
        let color = pixelFormat == .mjpeg ? .jpeg : format.color
        if pixelFormat == .mjpeg, isWhole {
            return Made(buffer: picture, color: color, isLent: false)
        }
        let transform = FrameTransform(
            crop: plan.crop, size: PixelSize(width: size.width, height: size.height), pixelFormat: .nv12)
        let (buffer, made) = try processor.apply(transform, to: picture, color: color)
        return Made(buffer: buffer, color: made, isLent: false)
    }

    /// Whether pictures of this format are delivered as they lie. RGB never: its fourth byte may be without meaning.
    private func isWanted(_ pixelFormat: PixelFormat) -> Bool {
        pixelFormat == .nv12 || wants.acceptsNativeFormat && !pixelFormat.isCompressed && !pixelFormat.isRGB
    }

    private func adapt() {
        size = wants.adaptedSize(width: plan.size.width, height: plan.size.height)
        isWhole = plan.crop == nil && size == (stream.format.width, stream.format.height)
        isAsItLies = isWhole && pixelFormat.map(isWanted) ?? false
    }

    private func picture(in captured: CapturedBuffer, as pixelFormat: PixelFormat?) throws(CaptureError) -> PixelBuffer
    {
        guard let pixelFormat else { return try exotic!.decode(captured, in: stream) }
        guard pixelFormat.isCompressed else { return try stream.picture(in: captured, as: pixelFormat) }
        return try decodeJPEG(in: captured)
    }

    private func decodeJPEG(in captured: CapturedBuffer) throws(CaptureError) -> PixelBuffer {
        let format = stream.format
        let decoded: PixelBuffer
        do throws(CodecError) {
            decoded = try jpeg!.decode(bytes(of: captured))
        } catch {
            // What one picture is may be a fault of the cable; the next may be sound.
            let isMemory = error.code == .outOfMemory
            throw CaptureError(
                isMemory ? .outOfMemory : .corruptData, operation: error.operation,
                subject: "MJPEG \(format.width)x\(format.height)", message: error.message)
        }
        try check(decoded.width, decoded.height)
        return decoded
    }

    /// For consumers that take the JPEG as it is: its head is looked at, and nothing is decoded.
    private func copyJPEG(in captured: CapturedBuffer) throws(CaptureError) -> PixelBuffer {
        let bytes = bytes(of: captured)
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

    /// The compressed bytes in a buffer's mapping.
    private func bytes(of captured: CapturedBuffer) -> UnsafeRawBufferPointer {
        let mapping = stream.buffers[captured.index].mappings[0]
        let start = Int(captured.dataOffsets[0])
        // Drivers may claim more than their buffer has.
        let end = min(Int(captured.bytesUsed[0]), mapping.byteCount)
        return UnsafeRawBufferPointer(start: mapping.address + start, count: max(0, end - start))
    }

    private func copy(_ picture: PixelBuffer, as pixelFormat: PixelFormat) throws(CaptureError) -> PixelBuffer {
        do {
            return try pool.makeBuffer(pixelFormat, width: picture.width, height: picture.height) { pixels in
                for plane in 0..<pixelFormat.planeCount {
                    for row in 0..<pixels.planes[plane].rows {
                        picture.withRow(row, ofPlane: plane) { source in
                            pixels.withRow(row, ofPlane: plane) { $0.copyMemory(from: source) }
                        }
                    }
                }
            }
        } catch let error as CaptureError {
            throw error
        } catch {
            throw CaptureError(.system, operation: "copy a picture", message: "\(error)")
        }
    }

    /// A refusal shows when the driver is asked next, or is tried again by ``CaptureStream/reclaim()``.
    private func giveBack(_ index: Int) { try? stream.queue(index) }
}

/// I420 in memory of its own, into which libv4lconvert decodes.
private final class ExoticPicture {
    private let converter: ExoticConverter
    private let memory: UnsafeMutableRawBufferPointer
    private let picture: PixelBuffer

    init(_ node: DeviceNode, format: StreamFormat) throws(CaptureError) {
        converter = try ExoticConverter(node, format: format)
        let (width, height) = (format.width, format.height)
        memory = .allocate(
            byteCount: PixelFormat.i420.packedByteCount(width: width, height: height) + 64, alignment: 64)
        var planes = PlaneList<PlaneMemory>()
        var offset = 0
        for plane in 0..<3 {
            let stride = PixelFormat.i420.rowBytes(ofPlane: plane, width: width)
            let byteCount = stride * PixelFormat.i420.rows(ofPlane: plane, height: height)
            planes.append(PlaneMemory(base: memory.baseAddress! + offset, byteCount: byteCount, bytesPerRow: stride))
            offset += byteCount
        }
        // Freed with this object: the picture never leaves the frame maker.
        picture = try PixelBuffer(wrapping: planes, as: .i420, width: width, height: height, release: {})
    }

    deinit { memory.deallocate() }

    func decode(_ captured: CapturedBuffer, in stream: CaptureStream) throws(CaptureError) -> PixelBuffer {
        let mapping = stream.buffers[captured.index].mappings[0]
        let start = Int(captured.dataOffsets[0])
        let end = min(Int(captured.bytesUsed[0]), mapping.byteCount)
        try converter.convert(
            UnsafeMutableRawBufferPointer(start: mapping.address + start, count: max(0, end - start)), into: memory)
        return picture
    }
}
