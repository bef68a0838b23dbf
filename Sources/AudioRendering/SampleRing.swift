/// Sound that waits to be played: a ring of floating-point samples, interleaved. Confined to one thread.
package final class SampleRing {
    package let channels: Int
    /// The number of frames that it holds at most.
    package let capacity: Int
    /// All frames ever written and read.
    package private(set) var written: Int64 = 0
    package private(set) var read: Int64 = 0
    private let memory: UnsafeMutableBufferPointer<Float>

    package init(channels: Int, capacity: Int) {
        self.channels = channels
        self.capacity = max(1, capacity)
        memory = .allocate(capacity: self.capacity * channels)
        memory.initialize(repeating: 0)
    }

    deinit { memory.deallocate() }

    /// The number of frames held.
    package var count: Int { Int(written - read) }
    /// The number of frames that there is room for.
    package var room: Int { capacity - count }

    /// Writes frames; what there is no room for is left out.
    package func write(_ samples: UnsafeBufferPointer<Float>) {
        var rest = UnsafeRawBufferPointer(samples)
        var frames = min(samples.count / channels, room)
        while frames > 0 {
            let start = Int(written % Int64(capacity))
            let count = min(frames, capacity - start)
            let bytes = count * channels * MemoryLayout<Float>.size
            UnsafeMutableRawPointer(memory.baseAddress! + start * channels).copyMemory(
                from: rest.baseAddress!, byteCount: bytes)
            rest = UnsafeRawBufferPointer(rebasing: rest[bytes...])
            written += Int64(count)
            frames -= count
        }
    }

    /// The frames that come next and stand in one piece, up to a number.
    package func next(upTo limit: Int) -> UnsafeBufferPointer<Float> {
        let start = Int(read % Int64(capacity))
        let frames = max(0, min(limit, count, capacity - start))
        return UnsafeBufferPointer(rebasing: memory[(start * channels)..<((start + frames) * channels)])
    }

    /// Removes frames.
    package func consume(_ frames: Int) { read += Int64(min(frames, count)) }

    /// Removes all frames; the counts stay.
    package func clear() { read = written }
}
