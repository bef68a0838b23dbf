import HTTPTransport
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A complete JPEG image, as received.
struct ReceivedPicture {
    /// Its bytes.
    let block: JPEGBlock
    /// The server's timestamp, since 1970 by the server's clock.
    var serverTime: Duration?
    /// The losses since the previous image.
    var losses = StreamLosses()
    /// When its last byte arrived. Set by the source, since the parser has no clock.
    var arrival = MediaTime.zero
    /// Its transmission delay at the arrival, by the wall clock; nil when unknown.
    var delay: Duration?
}

/// Images that were received and cannot be delivered.
struct StreamLosses: Hashable {
    /// Truncated, or not JPEG.
    var damaged: UInt64 = 0
    /// Larger than the maximum.
    var oversized: UInt64 = 0
    /// Dropped in favor of newer ones.
    var skipped: UInt64 = 0

    static func += (left: inout StreamLosses, right: StreamLosses) {
        left.damaged &+= right.damaged
        left.oversized &+= right.oversized
        left.skipped &+= right.skipped
    }
}

/// Growing memory for the bytes of one JPEG image.
///
/// `@unchecked Sendable`: written only by one parser, before the image is delivered; then only read, until the last
/// reference to the image is released and the block returns to its ``JPEGBlockPool``, whose lock orders the next use.
final class JPEGBlock: @unchecked Sendable {
    /// Readable bytes beyond the last one, as in pixel buffers.
    private static let padding = 64

    private var base: UnsafeMutableRawPointer?
    private(set) var capacity = 0
    /// The offset of the first byte: bytes that were received before the image stay in place.
    private var start = 0
    private(set) var count = 0

    deinit { free(base) }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base.map { $0 + start }, count: count) }

    /// False when there is no memory left.
    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return true }
        guard reserve(start + count + bytes.count), let base else { return false }
        memcpy(base + start + count, source, bytes.count)
        count += bytes.count
        return true
    }

    /// Lets `read` append up to `room` bytes, and returns their number as `read` does; nil when there is no memory left.
    func append(atMost room: Int, by read: (UnsafeMutableRawBufferPointer) -> Int) -> Int? {
        guard reserve(start + count + room), let base else { return nil }
        let taken = read(UnsafeMutableRawBufferPointer(start: base + start + count, count: room))
        count += taken
        return taken
    }

    /// Keeps only the first `count` bytes.
    func truncate(to count: Int) {
        self.count = min(self.count, max(0, count))
        if self.count == 0 { start = 0 }
    }

    /// Removes the first `count` bytes. The rest is moved, so that a stream of damaged images does not take ever more memory.
    func removeFirst(_ count: Int) {
        let left = self.count - count
        if left > 0, let base { memmove(base, base + start + count, left) }
        start = 0
        self.count = max(0, left)
    }

    /// Keeps only the last `count` bytes, in place. For bytes that have just been received.
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

/// A pool of the memory of compressed images. Thread-safe.
final class JPEGBlockPool: Sendable {
    private let capacity: Int
    private let blocks = Locked<[JPEGBlock]>([])

    init(capacity: Int = 8) { self.capacity = capacity }

    func take() -> JPEGBlock {
        blocks.withLock { $0.popLast() } ?? JPEGBlock()
    }

    /// Returns a block to the pool. To be called when the last reference to the image is released.
    func giveBack(_ block: JPEGBlock) {
        // The memory of an image far larger than the others is released.
        let isOutsized = block.capacity > 1 << 20 && block.capacity > 8 * block.count
        block.truncate(to: 0)
        guard !isOutsized else { return }
        blocks.withLock { blocks in
            if blocks.count < capacity { blocks.append(block) }
        }
    }
}
