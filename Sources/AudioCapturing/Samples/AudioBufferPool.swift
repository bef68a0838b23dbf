/// Recycles the memory of samples: in steady state a chunk costs no allocation.
///
/// The pool holds its buffers itself and hands out again those to which there is no other reference. It grows to what its
/// user keeps in flight, up to ``capacity``; buffers beyond that are made and freed one by one, so a consumer that
/// hoards chunks costs speed but is never wrong.
///
/// Safe to use from any thread.
public final class AudioBufferPool: Sendable {
    /// The maximum number of buffers that are kept for reuse.
    public let capacity: Int

    private struct State {
        var buffers: [AudioBuffer] = []
        var format: AudioFormat?
        var frameCapacity = 0
    }

    private let state: Locked<State>

    /// An empty pool.
    ///
    /// - Parameter capacity: the maximum number of buffers that are kept for reuse. The default serves more than two
    ///   seconds of chunks of 20 ms, which is what queues and encoders hold.
    public init(capacity: Int = 128) {
        self.capacity = max(1, capacity)
        var state = State()
        state.buffers.reserveCapacity(self.capacity)
        self.state = Locked(state)
    }

    /// A buffer with as many frames as `fill` says that it has written.
    ///
    /// When the format differs from the last call's, the old memory is given up; chunks already delivered keep theirs.
    ///
    /// - Parameters:
    ///   - format: what the samples are.
    ///   - frameCapacity: the maximum number of frames that `fill` may write.
    ///   - fill: writes samples from the first frame on, and returns the number of frames.
    /// - Returns: the buffer.
    /// - Throws: `invalidConfiguration` for a format out of range, `outOfMemory`, and what `fill` throws.
    public func makeBuffer(
        _ format: AudioFormat, frameCapacity: Int, fill: (borrowing SampleWriter) throws -> Int
    ) throws -> AudioBuffer {
        let buffer = try takeBuffer(format, frameCapacity: frameCapacity)
        try buffer.fill(upTo: frameCapacity, fill)
        return buffer
    }

    /// A buffer of silence.
    ///
    /// - Throws: `invalidConfiguration` for a format out of range, and `outOfMemory`.
    public func makeSilence(_ format: AudioFormat, frameCount: Int) throws(CaptureError) -> AudioBuffer {
        let buffer = try takeBuffer(format, frameCapacity: frameCount)
        buffer.fill(upTo: frameCount) { writer in
            writer.fillWithSilence()
            return frameCount
        }
        return buffer
    }

    /// The buffer is marked as in use while it is filled, so that no other thread finds it free.
    private func takeBuffer(_ format: AudioFormat, frameCapacity: Int) throws(CaptureError) -> AudioBuffer {
        let (recycled, capacity) = state.withLock { state -> (AudioBuffer?, Int) in
            if state.format != format || state.frameCapacity < frameCapacity {
                state.buffers.removeAll(keepingCapacity: true)
                state.format = format
                state.frameCapacity = frameCapacity
            }
            for index in state.buffers.indices where AudioBuffer.isReusable(&state.buffers[index]) {
                // Taking the second reference under the lock is what marks the buffer as in use.
                return (state.buffers[index], state.frameCapacity)
            }
            return (nil, state.frameCapacity)
        }
        if let recycled { return recycled }
        let made = try AudioBuffer(format, frameCapacity: capacity)
        state.withLock { state in
            if state.buffers.count < self.capacity, state.format == format, state.frameCapacity == capacity {
                state.buffers.append(made)
            }
        }
        return made
    }
}
