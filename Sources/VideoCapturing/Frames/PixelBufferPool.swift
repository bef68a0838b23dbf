/// Recycles the memory of pictures: in steady state a frame costs no allocation.
///
/// The pool holds its buffers itself and hands out again those to which there is no other reference, the
/// most recently used first, so that small pictures stay in the cache. It grows to what its user
/// keeps in flight, up to ``capacity``; buffers beyond that are made and freed one by one, so a
/// consumer that hoards frames costs speed but is never wrong.
///
/// Safe to use from any thread.
public final class PixelBufferPool: Sendable {
    /// The most buffers that are kept for reuse.
    public let capacity: Int

    private struct State {
        var buffers: [PixelBuffer] = []
        var pixelFormat: PixelFormat?
        var width = 0
        var height = 0
    }

    private let state: Locked<State>

    /// - Parameter capacity: the most buffers kept for reuse. The default serves a capture, an encoder
    ///   and several queues.
    public init(capacity: Int = 32) {
        self.capacity = max(1, capacity)
        var state = State()
        state.buffers.reserveCapacity(self.capacity)
        self.state = Locked(state)
    }

    /// A picture of the given format and size, with the pixels that `fill` writes.
    ///
    /// When the format or size differs from the last call's, the old memory is given up; frames
    /// already delivered keep theirs.
    ///
    /// - Throws: `invalidConfiguration` for a size out of range, `outOfMemory`, and what `fill` throws.
    public func makeBuffer(
        _ pixelFormat: PixelFormat, width: Int, height: Int,
        fill: (borrowing PixelWriter) throws -> Void
    ) throws -> PixelBuffer {
        let buffer = try takeBuffer(pixelFormat, width: width, height: height)
        try fill(buffer.makeWriter())
        return buffer
    }

    /// A copy of a picture.
    ///
    /// - Parameters:
    ///   - source: the picture.
    ///   - pixelFormat: the format of the copy, whose planes have the same sizes; nil for that of the picture.
    /// - Throws: `outOfMemory`.
    package func makeCopy(
        of source: PixelBuffer, as pixelFormat: PixelFormat? = nil
    ) throws(CaptureError) -> PixelBuffer {
        let buffer = try takeBuffer(pixelFormat ?? source.pixelFormat, width: source.width, height: source.height)
        let writer = buffer.makeWriter()
        for plane in writer.planes.indices {
            for row in 0..<writer.planes[plane].rows {
                source.withRow(row, ofPlane: plane) { bytes in
                    writer.withRow(row, ofPlane: plane) { $0.copyMemory(from: bytes) }
                }
            }
        }
        return buffer
    }

    /// The buffer is out of the pool's list while it is filled, so that no other thread finds it free.
    private func takeBuffer(_ pixelFormat: PixelFormat, width: Int, height: Int) throws(CaptureError) -> PixelBuffer {
        let recycled = state.withLock { state -> PixelBuffer? in
            if state.pixelFormat != pixelFormat || state.width != width || state.height != height {
                state.buffers.removeAll(keepingCapacity: true)
                state.pixelFormat = pixelFormat
                state.width = width
                state.height = height
            }
            for index in state.buffers.indices where PixelBuffer.isReusable(&state.buffers[index]) {
                // Taking the second reference under the lock is what marks the buffer as in use.
                return state.buffers[index]
            }
            return nil
        }
        if let recycled { return recycled }
        let made = try PixelBuffer(allocating: pixelFormat, width: width, height: height)
        state.withLock { state in
            if state.buffers.count < capacity, state.pixelFormat == pixelFormat, state.width == width,
                state.height == height
            {
                state.buffers.append(made)
            }
        }
        return made
    }
}
