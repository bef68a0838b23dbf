import CLibV4L2
import VideoCapturing

/// Gives out the memory of lent frames as DMA buffers, to any thread, for as long as their stream lasts.
///
/// `Sendable`: all of it is behind one lock, which the capture thread takes before it closes the node.
final class BufferExporter: Sendable {
    private struct State {
        let calls: any DeviceCalls
        /// The node's; -1 once the stream has ended.
        var descriptor: Int32
        /// The numbers of the buffers that pictures are in.
        var indices: [ObjectIdentifier: Int] = [:]
    }

    private let state: Locked<State>
    private let format: StreamFormat

    init(_ node: DeviceNode, format: StreamFormat) {
        state = Locked(State(calls: node.calls, descriptor: node.descriptor))
        self.format = format
    }

    /// The picture is in this buffer from now on.
    func note(_ picture: PixelBuffer, index: Int) {
        state.withLock { $0.indices[ObjectIdentifier(picture)] = index }
    }

    /// Nothing is exported after this.
    func end() {
        state.withLock { state in
            state.descriptor = -1
            state.indices = [:]
        }
    }

    /// One descriptor for each plane of memory, which the caller closes; nil for a picture that is in no buffer of the
    /// stream.
    func export(_ picture: PixelBuffer) throws(IoctlFailure) -> [DMABuffer]? {
        try state.withLock { (state) throws(IoctlFailure) -> [DMABuffer]? in
            guard state.descriptor >= 0, let index = state.indices[ObjectIdentifier(picture)] else { return nil }
            var buffers: [DMABuffer] = []
            for plane in 0..<format.memoryPlanes.count {
                var request = v4l2_exportbuffer()
                request.type = StreamFormat.bufferType(isMultiplanar: format.isMultiplanar)
                request.index = UInt32(index)
                request.plane = UInt32(plane)
                request.flags = UInt32(O_CLOEXEC | O_RDONLY)
                let result = state.calls.ioctl(state.descriptor, DeviceRequest.exportBuffer.code, &request)
                guard result >= 0 else {
                    // What was exported before closes with `buffers`.
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
