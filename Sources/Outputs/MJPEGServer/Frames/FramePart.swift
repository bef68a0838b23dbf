import NIOCore
import Synchronization
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What is known of the frame that a part shows.
struct FrameInformation {
    var width = 0
    var height = 0
    /// When the picture was taken, on the monotonic clock.
    var timestamp = MediaTime.zero
    /// The same moment, in nanoseconds since 1970.
    var wallClock: Int64 = 0
    var encodeBegin = MediaTime.zero
    var encodeEnd = MediaTime.zero
    /// Whether it is a picture of the source, rather than one that says why there is none.
    var isOnline = true
    /// Whether the JPEG is the source's own.
    var isPassedThrough = false
    /// How many frames before it were left out since they showed the same.
    var dropped = 0
}

/// One frame as viewers get it, in one piece of memory that all of them share:
///
/// ```
/// Content-Type: image/jpeg          ┐
/// Content-Length: …                 │ head
/// X-Timestamp: …                    │
///                                   ┘
/// (the JPEG)                        ┐ body
/// --boundarydonotcross              ┘ (a browser paints the picture when it sees the next boundary)
/// ```
/// `@unchecked Sendable`: filled only by a ``FramePartPool``, before it has been handed to anyone, and again only when
/// nobody else holds it. A reader ends with ``endRead()``, which orders its reads before the next filling.
final class FramePart: @unchecked Sendable {
    private(set) var information = FrameInformation()
    /// Head, JPEG and boundary.
    private(set) var whole = ByteBuffer()
    private var headCount = 0
    private var jpegCount = 0
    private let finishedReads = Atomic<UInt>(0)
    private let waiters = Atomic<Int>(0)

    init() {}

    /// The JPEG and the boundary, for viewers with a head of their own.
    var body: ByteBuffer { slice(from: headCount, count: whole.readableBytes - headCount) }
    /// The JPEG alone.
    var jpeg: ByteBuffer { slice(from: headCount, count: jpegCount) }
    var jpegByteCount: Int { jpegCount }
    var byteCount: Int { whole.readableBytes }

    /// The memory that it takes.
    var storageByteCount: Int { whole.storageCapacity }

    /// Counts a client that waits for it. True for the first one.
    func addWaiter() -> Bool { waiters.add(1, ordering: .relaxed).oldValue == 0 }

    /// True for the last one.
    func removeWaiter() -> Bool { waiters.subtract(1, ordering: .relaxed).newValue == 0 }

    func endRead() { finishedReads.wrappingAdd(1, ordering: .releasing) }

    /// Whether the part shows exactly these bytes.
    func hasSameJPEG(as bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count == jpegCount else { return false }
        guard let base = bytes.baseAddress else { return true }
        return whole.withUnsafeReadableBytes { memcmp($0.baseAddress! + headCount, base, jpegCount) == 0 }
    }

    fileprivate func fill(_ jpeg: UnsafeRawBufferPointer, _ information: FrameInformation) {
        _ = finishedReads.load(ordering: .acquiring)
        self.information = information
        whole.clear(minimumCapacity: jpeg.count + 256)
        PartHead.write(length: jpeg.count, wallClock: information.wallClock, to: &whole)
        whole.writeStaticString("\r\n")
        headCount = whole.readableBytes
        whole.writeBytes(jpeg)
        jpegCount = jpeg.count
        PartHead.writeBoundary(to: &whole)
    }

    private func slice(from offset: Int, count: Int) -> ByteBuffer {
        // The range lies within what was written.
        whole.getSlice(at: whole.readerIndex + offset, length: count)!
    }
}

/// Recycles the memory of parts, as `PacketBufferPool` does for packets. For one thread at a time.
struct FramePartPool {
    private var parts: [FramePart] = []
    private let capacity: Int

    /// - Parameter capacity: the most parts kept for reuse: the newest, and those on their way to slow viewers.
    init(capacity: Int = 8) {
        self.capacity = capacity
        parts.reserveCapacity(capacity)
    }

    /// A part with a copy of `jpeg`.
    mutating func makePart(_ jpeg: UnsafeRawBufferPointer, _ information: FrameInformation) -> FramePart {
        for index in parts.indices where isKnownUniquelyReferenced(&parts[index]) {
            parts[index].fill(jpeg, information)
            return parts[index]
        }
        let part = FramePart()
        part.fill(jpeg, information)
        if parts.count < capacity { parts.append(part) }
        return part
    }
}
