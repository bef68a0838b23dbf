import CLibV4L2
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A camera's buffer exported for other devices: a GPU, an encoder, a display (`VIDIOC_EXPBUF`, Linux' dma-buf).
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

    init(descriptor: Int32, byteCount: Int, bytesPerRow: Int) {
        self.descriptor = descriptor
        self.byteCount = byteCount
        self.bytesPerRow = bytesPerRow
    }

    deinit { close(descriptor) }
}

/// Exports the memory of lent frames as DMA buffers, on any thread, as long as their stream lasts.
///
/// `Sendable`: all state is behind one lock, which the capture thread takes before it closes the node.
final class BufferExporter: Sendable {
    private struct State {
        let calls: any DeviceCalls
        /// The node's; -1 once the stream has ended.
        var descriptor: Int32
        /// The index of the driver's buffer, by pixel buffer.
        var indices: [ObjectIdentifier: Int] = [:]
    }

    private let state: Locked<State>
    private let format: StreamFormat

    init(_ node: DeviceNode, format: StreamFormat) {
        state = Locked(State(calls: node.calls, descriptor: node.descriptor))
        self.format = format
    }

    /// Registers a pixel buffer that lies in the driver's buffer `index`.
    func register(_ pixels: PixelBuffer, index: Int) {
        state.withLock { $0.indices[ObjectIdentifier(pixels)] = index }
    }

    /// Ends the export: no buffer is exported after this.
    func end() {
        state.withLock { state in
            state.descriptor = -1
            state.indices = [:]
        }
    }

    /// One DMA buffer for each plane of memory; nil for a pixel buffer that is in no buffer of the stream.
    func export(_ pixels: PixelBuffer) throws(IoctlFailure) -> [DMABuffer]? {
        try state.withLock { (state) throws(IoctlFailure) -> [DMABuffer]? in
            guard state.descriptor >= 0, let index = state.indices[ObjectIdentifier(pixels)] else { return nil }
            var buffers: [DMABuffer] = []
            for plane in 0..<format.memoryPlanes.count {
                var request = v4l2_exportbuffer()
                request.type = StreamFormat.bufferType(isMultiplanar: format.isMultiplanar)
                request.index = UInt32(index)
                request.plane = UInt32(plane)
                request.flags = UInt32(O_CLOEXEC | O_RDONLY)
                let result = state.calls.ioctl(state.descriptor, DeviceRequest.exportBuffer.code, &request)
                guard result >= 0 else {
                    // The descriptors exported before are closed with `buffers`.
                    throw IoctlFailure(request: DeviceRequest.exportBuffer.name, number: -result)
                }
                buffers.append(
                    DMABuffer(
                        descriptor: request.fd, byteCount: format.memoryPlanes[plane].byteCount,
                        bytesPerRow: format.memoryPlanes[plane].bytesPerRow))
            }
            return buffers
        }
    }
}
