#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension PixelBuffer {
    /// Memory of a driver's that other devices can import: a GPU, an encoder, a display (Linux' dma-buf).
    ///
    /// The driver writes into the same memory again once the frame is released, so keep the frame as long as the buffer is
    /// in use. The descriptor is closed with the last reference.
    public final class DMABuffer: Sendable {
        /// The descriptor to import or to map; do not close it.
        public let descriptor: Int32
        /// The bytes that a frame takes.
        public let byteCount: Int
        /// The bytes from row to row of the first plane of samples in it.
        public let bytesPerRow: Int

        /// A buffer that owns a descriptor.
        ///
        /// - Parameters:
        ///   - descriptor: the dma-buf's; closed with the last reference.
        ///   - byteCount: the bytes that a frame takes.
        ///   - bytesPerRow: the bytes from row to row of the first plane of samples in it.
        public init(descriptor: Int32, byteCount: Int, bytesPerRow: Int) {
            self.descriptor = descriptor
            self.byteCount = byteCount
            self.bytesPerRow = bytesPerRow
        }

        deinit { close(descriptor) }

        /// Makes the DMA buffers of a pixel buffer's memory, one for each plane of memory; nil when its driver no longer can.
        /// Called on any thread.
        public typealias Exporter = @Sendable () throws(CaptureError) -> PlaneList<PixelBuffer.DMABuffer>?
    }
}

extension PixelBuffer {
    /// The driver's memory that the pixels lie in, exported for other devices: one buffer for each plane of memory, which
    /// may hold several planes of samples. Nil for memory of our own, or when the driver no longer can.
    ///
    /// Exported again each time, on any thread.
    ///
    /// - Throws: `system` when the driver does not export its memory.
    public var dmaBuffers: PlaneList<PixelBuffer.DMABuffer>? {
        get throws(CaptureError) { try exporter?() }
    }
}
