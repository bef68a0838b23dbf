import VideoCapturing

/// One buffer of a driver's queue and who has it. Belongs to the capture thread; not checked for overlapping accesses,
/// as in ``CaptureStream``.
final class DriverBuffer {
    enum Holder {
        /// The driver, which will fill it.
        case driver
        /// The capture thread.
        case us
        /// A frame that was delivered; back once nobody holds ``picture`` any more.
        case frame
    }

    @exclusivity(unchecked) var holder = Holder.us
    /// The memory of each plane.
    let mappings: PlaneList<BufferMapping>
    /// The picture in the memory, made once and used for every frame; nil for formats whose length varies.
    @exclusivity(unchecked) private var picture: PixelBuffer?
    @exclusivity(unchecked) private var offsets = PlaneNumbers.zero

    init(mappings: PlaneList<BufferMapping>) {
        self.mappings = mappings
    }

    /// The picture whose planes begin at `offsets` in their memory; nil when it is yet to be made.
    func picture(at offsets: PlaneNumbers) -> PixelBuffer? { self.offsets == offsets ? picture : nil }

    /// Makes the picture whose planes begin at `offsets` in their memory.
    ///
    /// Throws `corruptData` when it does not fit into the buffer.
    func makePicture(
        _ format: StreamFormat, as pixelFormat: PixelFormat, offsets: PlaneNumbers
    ) throws(CaptureError) -> PixelBuffer {
        let planes = try planes(of: format, as: pixelFormat, offsets: offsets)
        // The mappings are held by the closure for as long as the picture lives.
        let made = try PixelBuffer(
            wrapping: planes, as: pixelFormat, width: format.width, height: format.height,
            release: { [mappings] in withExtendedLifetime(mappings) {} })
        picture = made
        self.offsets = offsets
        return made
    }

    /// Whether no frame holds the buffer any more.
    func isReusable() -> Bool { PixelBuffer.isReusable(&picture) }

    /// Where the planes of samples are. In one plane of memory they follow each other, chroma with the stride that
    /// the format's definition derives from luma's ("Multi-planar YUV formats" of the V4L2 specification).
    private func planes(
        of format: StreamFormat, as pixelFormat: PixelFormat, offsets: PlaneNumbers
    ) throws(CaptureError) -> PlaneList<PlaneMemory> {
        var planes = PlaneList<PlaneMemory>()
        if mappings.count == 1 {
            let luma = format.memoryPlanes[0].bytesPerRow
            var offset = Int(offsets[0])
            for plane in 0..<pixelFormat.planeCount {
                let stride = plane > 0 && pixelFormat.planeCount == 3 ? luma / 2 : luma
                let room = mappings[0].byteCount - offset
                guard room > 0 else { throw DriverBuffer.overrun(format) }
                planes.append(PlaneMemory(base: mappings[0].address + offset, byteCount: room, bytesPerRow: stride))
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
                PlaneMemory(
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

/// A driver's buffer in this process's memory, until the last picture in it is let go.
///
/// `@unchecked Sendable`: the address never changes, and whoever lets go last unmaps.
final class BufferMapping: @unchecked Sendable {
    let address: UnsafeMutableRawPointer
    let byteCount: Int
    private let calls: any DeviceCalls

    /// Throws what `mmap` answered.
    init(_ node: DeviceNode, byteCount: Int, offset: UInt32) throws(IoctlFailure) {
        let (address, error) = node.calls.map(node.descriptor, byteCount: byteCount, offset: offset)
        guard let address else { throw IoctlFailure(request: "mmap", number: error) }
        self.address = address
        self.byteCount = byteCount
        calls = node.calls
    }

    /// Lets go of the device, but not of the pictures: whoever reads them goes on to find what he has found.
    ///
    /// A mapping keeps a driver's memory, and after an unplug the camera's number, for as long as it lasts; a frame may be
    /// kept for hours. Only for buffers that the driver does not write to any more.
    func detach() { calls.detach(address, byteCount: byteCount) }

    deinit { calls.unmap(address, byteCount: byteCount) }
}
