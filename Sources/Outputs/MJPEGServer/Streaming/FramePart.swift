import NIOCore
import Synchronization
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The properties of the frame that a part shows.
struct FrameInformation {
    var width = 0
    var height = 0
    /// The moment of capture, on the monotonic clock.
    var timestamp = MediaTime.zero
    /// The same moment, in nanoseconds since 1970.
    var wallClock: Int64 = 0
    var encodeBegin = MediaTime.zero
    var encodeEnd = MediaTime.zero
    /// Whether it is a frame of the source, and not a ``Placeholder``.
    var isOnline = true
    /// Whether the JPEG is the source's own.
    var isPassedThrough = false
    /// The number of frames before it that were left out since they showed the same.
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
/// `@unchecked Sendable`: filled only by a ``FramePartPool``, before it is handed out, and again only when there is no other
/// reference to it. A reader ends with ``endRead()``, which orders its reads before the next filling.
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

    /// - Parameter capacity: the maximum number of parts kept for reuse: the newest, and those in flight to slow viewers.
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

/// The lines around each JPEG of a stream, as uStreamer writes them.
enum PartHead {
    static func writeBoundary(to buffer: inout ByteBuffer) {
        buffer.writeStaticString("\r\n--boundarydonotcross\r\n")
    }

    /// The lines of every part; the empty line that ends them is left to the caller.
    static func write(length: Int, wallClock: Int64, to buffer: inout ByteBuffer) {
        buffer.writeStaticString("Content-Type: image/jpeg\r\nContent-Length: ")
        buffer.writeDecimal(length)
        buffer.writeStaticString("\r\nX-Timestamp: ")
        buffer.writeSeconds(nanoseconds: wallClock)
        buffer.writeStaticString("\r\n")
    }

    /// The head of a part that does not exist yet, which directly follows the previous part: some browsers paint a picture
    /// only when the head of the next one arrives.
    static func writeAdvance(wallClock: Int64, to buffer: inout ByteBuffer) {
        buffer.writeStaticString("Content-Type: image/jpeg\r\nX-Timestamp: ")
        buffer.writeSeconds(nanoseconds: wallClock)
        buffer.writeStaticString("\r\n\r\n")
    }

    /// The lines that a viewer gets that asks for `extra_headers`.
    static func writeExtra(
        _ information: FrameInformation, viewerFrameRate: Int, exposedAt: MediaTime, now: MediaTime,
        to buffer: inout ByteBuffer
    ) {
        func time(_ name: StaticString, _ value: Int64) {
            buffer.writeStaticString(name)
            buffer.writeSeconds(nanoseconds: value)
            buffer.writeStaticString("\r\n")
        }
        func number(_ name: StaticString, _ value: Int) {
            buffer.writeStaticString(name)
            buffer.writeDecimal(value)
            buffer.writeStaticString("\r\n")
        }
        buffer.writeStaticString(
            information.isOnline ? "X-UStreamer-Online: true\r\n" : "X-UStreamer-Online: false\r\n")
        number("X-UStreamer-Dropped: ", information.dropped)
        number("X-UStreamer-Width: ", information.width)
        number("X-UStreamer-Height: ", information.height)
        number("X-UStreamer-Client-FPS: ", viewerFrameRate)
        time("X-UStreamer-Grab-Begin-Time: ", information.timestamp.nanoseconds)
        time("X-UStreamer-Grab-End-Time: ", information.timestamp.nanoseconds)
        time("X-UStreamer-Encode-Begin-Time: ", information.encodeBegin.nanoseconds)
        time("X-UStreamer-Encode-End-Time: ", information.encodeEnd.nanoseconds)
        time("X-UStreamer-Expose-Begin-Time: ", information.encodeEnd.nanoseconds)
        time("X-UStreamer-Expose-Cmp-Time: ", information.encodeEnd.nanoseconds)
        time("X-UStreamer-Expose-End-Time: ", exposedAt.nanoseconds)
        time("X-UStreamer-Send-Time: ", now.nanoseconds)
        time("X-UStreamer-Latency: ", (now - information.timestamp).nanoseconds)
    }
}

extension ByteBuffer {
    /// Appends a number in decimal digits, without making a string.
    mutating func writeDecimal(_ value: Int) {
        if value < 0 { writeInteger(UInt8(ascii: "-")) }
        writeDigits(UInt64(value.magnitude), minimumCount: 1)
    }

    /// Appends a time in seconds with six decimals.
    mutating func writeSeconds(nanoseconds: Int64) {
        if nanoseconds < 0 { writeInteger(UInt8(ascii: "-")) }
        let microseconds = nanoseconds.magnitude / 1000
        writeDigits(microseconds / 1_000_000, minimumCount: 1)
        writeInteger(UInt8(ascii: "."))
        writeDigits(microseconds % 1_000_000, minimumCount: 6)
    }

    private mutating func writeDigits(_ value: UInt64, minimumCount: Int) {
        var count = 1
        var limit: UInt64 = 10
        // 20 digits are the most that 64 bits have.
        while count < 20, value >= limit {
            count += 1
            limit = limit.multipliedReportingOverflow(by: 10).overflow ? .max : limit * 10
        }
        count = max(count, minimumCount)
        var rest = value
        writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
            for index in stride(from: count - 1, through: 0, by: -1) {
                bytes[index] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
            return count
        }
    }
}
