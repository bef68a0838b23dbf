import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What conversions need besides the pictures, kept from one to the next: memory for what lies between two steps, which
/// grows to what was needed most, and a decoder once there was a JPEG.
struct ScratchMemory: ~Copyable {
    private var memory: UnsafeMutableRawPointer?
    private var capacity = 0
    private var jpeg: JPEGContext?

    /// `byteCount` bytes at a multiple of 64, with what the last user left in them. Valid until the next call.
    mutating func reserve(_ byteCount: Int) throws(CaptureError) -> UnsafeMutablePointer<UInt8> {
        if byteCount > capacity || memory == nil {
            free(memory)
            memory = nil
            capacity = 0
            var fresh: UnsafeMutableRawPointer?
            guard posix_memalign(&fresh, 64, byteCount) == 0, let fresh else {
                throw CaptureError(
                    .outOfMemory, operation: "convert a picture",
                    message: "The machine has no \(byteCount) bytes left; use a smaller size or shorter queues.")
            }
            memory = fresh
            capacity = byteCount
        }
        return memory!.assumingMemoryBound(to: UInt8.self)
    }

    /// Planes of the given bytes per row and rows, one after another. Valid until the next call.
    mutating func reservePlanes(
        _ count: Int, rowBytes: Int, rows: Int
    ) throws(CaptureError) -> PlaneList<MutablePicturePlane> {
        let stride = (rowBytes + 63) / 64 * 64
        let base = try reserve(count * stride * rows)
        var planes = PlaneList<MutablePicturePlane>()
        for index in 0..<count {
            planes.append(MutablePicturePlane(base: base + index * stride * rows, stride: stride))
        }
        return planes
    }

    mutating func jpegContext() throws(CodecError) -> JPEGContext {
        if let jpeg { return jpeg }
        let context = try JPEGContext()
        jpeg = context
        return context
    }

    deinit { free(memory) }
}
