import VideoCapturing

/// The last frames of a capture, in the order of their timestamps, limited by count and by bytes. Frames are held, not
/// copied: a capture that lends its memory copies where it runs short.
struct FrameRing {
    private var slots: [VideoFrame?]
    private var first = 0
    private(set) var count = 0
    private(set) var byteCount = 0
    /// The timestamp of ``newest``.
    private(set) var newestTimestamp: MediaTime?
    private let byteLimit: Int

    /// - Parameters:
    ///   - capacity: the maximum number of frames; at least 1.
    ///   - byteLimit: the maximum number of bytes; one frame is held even if it has more.
    init(capacity: Int, byteLimit: Int) {
        slots = Array(repeating: nil, count: max(1, capacity))
        self.byteLimit = byteLimit
    }

    var newest: VideoFrame? { count == 0 ? nil : slots[(first + count - 1) % slots.count] }

    /// Adds a frame.
    ///
    /// - Returns: a frame that has no place left. Release it while no lock is held: its release may run a driver's
    ///   code. There may be more; ``removeExcess()`` has them.
    mutating func append(_ frame: VideoFrame) -> VideoFrame? {
        var displaced = count == slots.count ? removeFirst() : nil
        slots[(first + count) % slots.count] = frame
        count += 1
        byteCount += frame.heldByteCount
        newestTimestamp = frame.timestamp
        if displaced == nil { displaced = removeExcess() }
        return displaced
    }

    /// Removes the oldest frame while the ring has too many bytes; nil when it does not.
    mutating func removeExcess() -> VideoFrame? {
        byteCount > byteLimit && count > 1 ? removeFirst() : nil
    }

    mutating func removeFirst() -> VideoFrame? {
        guard count > 0 else { return nil }
        let frame = slots[first].take()
        first = (first + 1) % slots.count
        count -= 1
        byteCount -= frame?.heldByteCount ?? 0
        if count == 0 { newestTimestamp = nil }
        return frame
    }

    /// The frame whose timestamp is nearest to `moment`, of those after `bound`; the later one of two.
    func nearest(to moment: MediaTime, after bound: MediaTime?) -> VideoFrame? {
        var best: (index: Int, distance: UInt64)?
        for offset in 0..<count {
            let index = (first + offset) % slots.count
            guard let timestamp = slots[index]?.timestamp else { continue }
            if let bound, timestamp <= bound { continue }
            let distance = timestamp.nanoseconds(since: moment).magnitude
            if best.map({ distance <= $0.distance }) ?? true { best = (index, distance) }
        }
        return best.flatMap { slots[$0.index] }
    }
}

extension VideoFrame {
    /// The bytes of memory that a frame holds.
    fileprivate var heldByteCount: Int {
        func bytes(_ buffer: PixelBuffer) -> Int {
            // Of wrapped memory a plane's own count may run to the end of all planes.
            buffer.planes.reduce(0) { $0 + $1.bytesPerRow * $1.rows }
        }
        return bytes(buffer) + (compressed.map(bytes) ?? 0)
    }
}
