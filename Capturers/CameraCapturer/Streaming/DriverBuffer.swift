import V4L2Support
import VideoCapturing

/// One buffer of a driver's queue and its holder. Belongs to the capture thread; not checked for overlapping accesses,
/// as in ``CaptureStream``.
final class DriverBuffer {
    enum Holder {
        /// The driver, which will fill it.
        case driver
        /// The capture thread.
        case us
        /// A delivered frame, until the last reference to its pixel buffer is released.
        case frame
    }

    @exclusivity(unchecked) var holder = Holder.us
    /// The memory of each plane.
    let mappings: PlaneList<BufferMapping>
    /// The pixel buffer in the memory, made once and used for every frame; nil for formats of variable length.
    @exclusivity(unchecked) private var pixels: PixelBuffer?
    @exclusivity(unchecked) private var offsets = PlaneNumbers.zero

    init(mappings: PlaneList<BufferMapping>) {
        self.mappings = mappings
    }

    /// The pixel buffer whose planes begin at `offsets` in their memory; nil before it is made.
    func pixelBuffer(at offsets: PlaneNumbers) -> PixelBuffer? { self.offsets == offsets ? pixels : nil }

    /// Makes the pixel buffer whose planes begin at `offsets` in their memory, which `exporter` exports.
    ///
    /// - Throws: `corruptData` when it does not fit into the buffer.
    func makePixelBuffer(
        _ format: StreamFormat, as pixelFormat: PixelFormat, offsets: PlaneNumbers,
        exporter: @escaping PixelBuffer.DMABuffer.Exporter
    ) throws(CaptureError) -> PixelBuffer {
        let planes = try planes(of: format, as: pixelFormat, offsets: offsets)
        // The closure holds the mappings as long as the pixel buffer lives.
        let made = try PixelBuffer(
            wrapping: planes, as: pixelFormat, width: format.width, height: format.height, exporter: exporter,
            release: { [mappings] in withExtendedLifetime(mappings) {} })
        pixels = made
        self.offsets = offsets
        return made
    }

    /// Whether the frame that the buffer was lent to was released.
    func isReusable() -> Bool { PixelBuffer.isReusable(&pixels) }

    /// The planes of samples. In one plane of memory they follow each other, chroma with the stride that the format's
    /// definition derives from luma's ("Multi-planar YUV formats" of the V4L2 specification).
    private func planes(
        of format: StreamFormat, as pixelFormat: PixelFormat, offsets: PlaneNumbers
    ) throws(CaptureError) -> PlaneList<PixelBuffer.PlaneMemory> {
        var planes = PlaneList<PixelBuffer.PlaneMemory>()
        if mappings.count == 1 {
            let luma = format.memoryPlanes[0].bytesPerRow
            var offset = Int(offsets[0])
            for plane in 0..<pixelFormat.planeCount {
                let stride = plane > 0 && pixelFormat.planeCount == 3 ? luma / 2 : luma
                let room = mappings[0].byteCount - offset
                guard room > 0 else { throw DriverBuffer.overrun(format) }
                planes.append(
                    PixelBuffer.PlaneMemory(base: mappings[0].address + offset, byteCount: room, bytesPerRow: stride))
                offset += stride * pixelFormat.rows(ofPlane: plane, height: format.height)
            }
            return planes
        }
        guard mappings.count == pixelFormat.planeCount else { throw DriverBuffer.overrun(format) }
        for plane in 0..<pixelFormat.planeCount {
            let offset = Int(offsets[plane])
            let room = mappings[plane].byteCount - offset
            guard room > 0 else { throw DriverBuffer.overrun(format) }
            planes.append(
                PixelBuffer.PlaneMemory(
                    base: mappings[plane].address + offset, byteCount: room,
                    bytesPerRow: format.memoryPlanes[plane].bytesPerRow))
        }
        return planes
    }

    private static func overrun(_ format: StreamFormat) -> CaptureError {
        CaptureError(
            .corruptData, operation: "read a buffer", subject: "\(format.fourCC) \(format.width)x\(format.height)",
            message: "The driver's buffer is too small for the picture that it says is in it.")
    }
}
