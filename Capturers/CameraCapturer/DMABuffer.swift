#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A camera's buffer for other devices: a GPU, an encoder, a display (`VIDIOC_EXPBUF`, Linux' dma-buf).
///
/// The driver writes into the same memory again once the frame is let go of, so keep the frame as long as the buffer is
/// used. Closed when the last reference goes.
public final class DMABuffer: Sendable {
    /// To import or to map; do not close it.
    public let descriptor: Int32
    /// The bytes that a picture takes.
    public let byteCount: Int
    /// The bytes from row to row of the first plane of samples in it.
    public let bytesPerRow: Int

    init(descriptor: Int32, byteCount: Int, bytesPerRow: Int) {
        self.descriptor = descriptor
        self.byteCount = byteCount
        self.bytesPerRow = bytesPerRow
    }

    deinit { close(descriptor) }
}
