import CLibV4L2
import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Exports the driver's buffers as DMA buffers (`VIDIOC_EXPBUF`), on any thread, as long as their stream lasts.
///
/// `Sendable`: all state is behind one lock, which the capture thread takes before it closes the node.
final class BufferExporter: Sendable {
    private struct State {
        let calls: any DeviceCalls
        /// The node's; -1 once the stream has ended.
        var descriptor: Int32
    }

    private let state: Locked<State>
    private let format: StreamFormat
    private let path: String

    init(_ node: DeviceNode, format: StreamFormat) {
        state = Locked(State(calls: node.calls, descriptor: node.descriptor))
        self.format = format
        path = node.path
    }

    /// Ends the export: no buffer is exported after this.
    func end() { state.withLock { $0.descriptor = -1 } }

    /// One DMA buffer for each plane of memory of the driver's buffer `index`; nil once the stream has ended.
    ///
    /// - Throws: `system` when the driver does not export its buffers.
    func export(_ index: Int) throws(CaptureError) -> PlaneList<PixelBuffer.DMABuffer>? {
        try state.withLock { (state) throws(CaptureError) -> PlaneList<PixelBuffer.DMABuffer>? in
            guard state.descriptor >= 0 else { return nil }
            var buffers = PlaneList<PixelBuffer.DMABuffer>()
            for (plane, memory) in format.memoryPlanes.enumerated() {
                var request = v4l2_exportbuffer()
                request.type = StreamFormat.bufferType(isMultiplanar: format.isMultiplanar)
                request.index = UInt32(index)
                request.plane = UInt32(plane)
                request.flags = UInt32(O_CLOEXEC | O_RDONLY)
                let result = state.calls.ioctl(state.descriptor, DeviceRequest.exportBuffer.code, &request)
                guard result >= 0 else {
                    // The descriptors exported before are closed with `buffers`.
                    throw CaptureError(
                        .system, operation: DeviceRequest.exportBuffer.name, subject: path, errno: -result,
                        message: "The camera's driver does not share its buffers; use the frame's pixels.")
                }
                buffers.append(
                    PixelBuffer.DMABuffer(
                        descriptor: request.fd, byteCount: memory.byteCount, bytesPerRow: memory.bytesPerRow))
            }
            return buffers
        }
    }
}
