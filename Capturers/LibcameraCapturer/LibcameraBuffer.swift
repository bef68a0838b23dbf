import CLibcamera
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One buffer of the camera, mapped once, and its holder. Belongs to the capture thread.
final class LibcameraBuffer {
    enum Holder {
        /// The camera, which will fill it.
        case camera
        /// The capture thread.
        case us
        /// A delivered frame, until the last reference to its pixel buffer is released.
        case frame
    }

    var holder = Holder.us
    /// The picture in the memory, made once and used for every frame.
    private(set) var pixels: PixelBuffer
    private let mappings: [Mapping]

    /// Maps the planes.
    ///
    /// - Throws: `system` when the memory cannot be mapped; `corruptData` when the picture does not fit into it.
    init(_ buffer: lc_buffer, _ format: StreamFormat) throws(CaptureError) {
        let planes = (0..<Int(buffer.planes)).map { plane in
            (
                descriptor: withUnsafeBytes(of: buffer.descriptors) {
                    $0.load(fromByteOffset: 4 * plane, as: Int32.self)
                },
                offset: withUnsafeBytes(of: buffer.offsets) {
                    Int($0.load(fromByteOffset: 4 * plane, as: UInt32.self))
                },
                length: withUnsafeBytes(of: buffer.lengths) { Int($0.load(fromByteOffset: 4 * plane, as: UInt32.self)) }
            )
        }
        var mappings: [Mapping] = []
        var memory = PlaneList<PixelBuffer.PlaneMemory>()
        for plane in planes {
            let end = planes.filter { $0.descriptor == plane.descriptor }.map { $0.offset + $0.length }.max() ?? 0
            let mapping: Mapping
            if let known = mappings.first(where: { $0.original == plane.descriptor }) {
                mapping = known
            } else {
                mapping = try Mapping(plane.descriptor, atLeast: end)
                mappings.append(mapping)
            }
            let index = memory.count
            memory.append(
                PixelBuffer.PlaneMemory(
                    base: mapping.address + plane.offset,
                    byteCount: min(plane.length, mapping.byteCount - plane.offset),
                    bytesPerRow: format.stride(ofPlane: index)))
        }
        // A handler may describe a picture of several planes as one.
        if memory.count == 1, format.pixelFormat.planeCount > 1, let only = memory.first {
            memory = PlaneList()
            var offset = 0
            for plane in 0..<format.pixelFormat.planeCount {
                let stride = format.stride(ofPlane: plane)
                memory.append(
                    PixelBuffer.PlaneMemory(
                        base: only.base + offset, byteCount: max(0, only.byteCount - offset), bytesPerRow: stride))
                offset += stride * format.pixelFormat.rows(ofPlane: plane, height: format.size.height)
            }
        }
        self.mappings = mappings
        let sharing = mappings.map { (descriptor: $0.descriptor, byteCount: $0.byteCount) }
        do {
            // The closures hold the mappings as long as the pixel buffer lives.
            pixels = try PixelBuffer(
                wrapping: memory, as: format.pixelFormat, width: format.size.width, height: format.size.height,
                exporter: { [mappings] () throws(CaptureError) in
                    try withExtendedLifetime(mappings) { () throws(CaptureError) in
                        try LibcameraBuffer.export(sharing, stride: format.stride(ofPlane: 0))
                    }
                }, release: { [mappings] in withExtendedLifetime(mappings) {} })
        } catch {
            throw CaptureError(
                .corruptData, operation: "map a buffer", subject: "\(format)",
                message: "The camera's buffer is too small for the picture that it says is in it: \(error.message)")
        }
    }

    /// Whether no frame holds the picture.
    func isReusable() -> Bool { PixelBuffer.isReusable(&pixels) }

    /// Around reads by the processor, whose cache some devices do not see.
    func beginRead() { for mapping in mappings { _ = lc_begin_read(mapping.descriptor) } }
    func endRead() { for mapping in mappings { _ = lc_end_read(mapping.descriptor) } }

    private static func export(
        _ sharing: [(descriptor: Int32, byteCount: Int)], stride: Int
    ) throws(CaptureError) -> PlaneList<PixelBuffer.DMABuffer>? {
        var buffers = PlaneList<PixelBuffer.DMABuffer>()
        for plane in sharing {
            let descriptor = fcntl(plane.descriptor, F_DUPFD_CLOEXEC, 0)
            guard descriptor >= 0 else {
                throw CaptureError(
                    .system, operation: "share a buffer", errno: errno,
                    message: "The process has no descriptor left; close some, or raise its limit (ulimit -n).")
            }
            buffers.append(
                PixelBuffer.DMABuffer(descriptor: descriptor, byteCount: plane.byteCount, bytesPerRow: stride))
        }
        return buffers
    }
}

/// The memory behind a descriptor, mapped as long as this exists, whatever the camera does.
private final class Mapping: @unchecked Sendable {
    /// libcamera's descriptor, by which planes of the same memory are known.
    let original: Int32
    /// A descriptor of our own.
    let descriptor: Int32
    let address: UnsafeMutableRawPointer
    let byteCount: Int

    /// - Parameter least: the bytes that planes need, for memory that does not state its size.
    init(_ original: Int32, atLeast least: Int) throws(CaptureError) {
        func failure(_ number: Int32) -> CaptureError {
            CaptureError(
                .system, operation: "map a buffer", errno: number,
                message: "The camera's memory cannot be read; choose a smaller size, or fewer cameras at a time.")
        }
        self.original = original
        descriptor = fcntl(original, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw failure(errno) }
        byteCount = max(least, Int(lseek(descriptor, 0, SEEK_END)))
        guard let mapped = mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, 0), mapped != MAP_FAILED else {
            let number = errno
            close(descriptor)
            throw failure(number)
        }
        address = mapped
    }

    deinit {
        munmap(address, byteCount)
        close(descriptor)
    }
}
