import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Memory that grows, for the bytes of one JPEG picture.
///
/// `@unchecked Sendable`: written by one parser only, before the picture is handed to anyone; then only read, until the
/// last holder of the picture has given it back to its ``JPEGBlockPool``, whose lock hands it over to the next.
final class JPEGBlock: @unchecked Sendable {
    /// Readable beyond the last byte, as buffers of pixels have it.
    private static let padding = 64

    private var base: UnsafeMutableRawPointer?
    private(set) var capacity = 0
    /// Where the first byte lies: what came before the picture in one piece is left where it is.
    private var start = 0
    private(set) var count = 0

    deinit { free(base) }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base.map { $0 + start }, count: count) }

    /// False when the machine has no memory left.
    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return true }
        guard reserve(start + count + bytes.count), let base else { return false }
        memcpy(base + start + count, source, bytes.count)
        count += bytes.count
        return true
    }

    /// Has `read` write up to `room` bytes behind the last one, and gives their number as `read` does; nil when the
    /// machine has no memory left.
    func append(atMost room: Int, by read: (UnsafeMutableRawBufferPointer) -> Int) -> Int? {
        guard reserve(start + count + room), let base else { return nil }
        let taken = read(UnsafeMutableRawBufferPointer(start: base + start + count, count: room))
        count += taken
        return taken
    }

    /// Leaves only the first `count` bytes.
    func truncate(to count: Int) {
        self.count = min(self.count, max(0, count))
        if self.count == 0 { start = 0 }
    }

    /// Leaves out the first `count` bytes. The rest moves, lest a stream of damaged pictures take ever more memory.
    func removeFirst(_ count: Int) {
        let left = self.count - count
        if left > 0, let base { memmove(base, base + start + count, left) }
        start = 0
        self.count = max(0, left)
    }

    /// Leaves only the last `count` bytes, where they are. For bytes that have just been received.
    func keepLast(_ count: Int) {
        start += self.count - count
        self.count = count
    }

    private func reserve(_ needed: Int) -> Bool {
        guard needed + JPEGBlock.padding > capacity else { return true }
        var larger = max(capacity, 32 * 1024)
        while larger < needed + JPEGBlock.padding { larger *= 2 }
        guard let moved = realloc(base, larger) else { return false }
        base = moved
        capacity = larger
        return true
    }
}

/// Recycles the memory of compressed pictures. Safe to use from any thread.
final class JPEGBlockPool: Sendable {
    private let capacity: Int
    private let blocks = Locked<[JPEGBlock]>([])

    init(capacity: Int = 8) { self.capacity = capacity }

    func take() -> JPEGBlock {
        blocks.withLock { $0.popLast() } ?? JPEGBlock()
    }

    /// Only by the last holder.
    func giveBack(_ block: JPEGBlock) {
        // A picture far larger than the rest does not keep its memory for ever.
        let isOutsized = block.capacity > 1 << 20 && block.capacity > 8 * block.count
        block.truncate(to: 0)
        guard !isOutsized else { return }
        blocks.withLock { blocks in
            if blocks.count < capacity { blocks.append(block) }
        }
    }
}
