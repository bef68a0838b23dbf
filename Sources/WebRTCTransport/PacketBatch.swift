import CNice
import CaptureCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Memory for the packets that go to one peer in one system call. For one thread.
///
/// Each slot has room for a packet of RTP at the largest size that is sent, and for the tag of SRTP.
package final class PacketBatch {
    /// The bytes of a slot, the tag of SRTP included.
    package static let slotSize = 1536
    /// The packets that fit.
    package static let capacity = 64
    /// What SRTP may add: 16 bytes of tag, and for RTCP an index.
    static let tagSize = 24

    private let memory = UnsafeMutableRawBufferPointer.allocate(
        byteCount: PacketBatch.slotSize * PacketBatch.capacity, alignment: 64)
    private let vectors = UnsafeMutableBufferPointer<GOutputVector>.allocate(capacity: PacketBatch.capacity)
    let messages = UnsafeMutableBufferPointer<NiceOutputMessage>.allocate(capacity: PacketBatch.capacity)
    /// The packets that wait.
    package private(set) var count = 0

    package init() {
        for index in 0..<PacketBatch.capacity {
            vectors.initializeElement(
                at: index,
                to: GOutputVector(buffer: memory.baseAddress! + index * PacketBatch.slotSize, size: 0))
            messages.initializeElement(
                at: index, to: NiceOutputMessage(buffers: vectors.baseAddress! + index, n_buffers: 1))
        }
    }

    deinit {
        messages.deallocate()
        vectors.deallocate()
        memory.deallocate()
    }

    /// Whether no further packet fits.
    package var isFull: Bool { count == PacketBatch.capacity }

    /// Adds a packet that `body` writes, unless the batch is full.
    ///
    /// - Parameter body: writes the packet, and returns its length, 0 for none.
    package func add(_ body: (UnsafeMutableRawBufferPointer) -> Int) {
        guard !isFull else { return }
        let start = memory.baseAddress! + count * PacketBatch.slotSize
        let length = body(
            UnsafeMutableRawBufferPointer(start: start, count: PacketBatch.slotSize - PacketBatch.tagSize))
        guard length > 0 else { return }
        vectors[count].size = gsize(length)
        count += 1
    }

    /// Forgets all packets.
    package func removeAll() { count = 0 }

    /// The bytes of a slot, and their number, which may be changed.
    func withPacket(_ index: Int, _ body: (UnsafeMutableRawPointer, inout Int32) -> Bool) -> Bool {
        var length = Int32(vectors[index].size)
        let isKept = body(memory.baseAddress! + index * PacketBatch.slotSize, &length)
        vectors[index].size = isKept ? gsize(length) : 0
        return isKept
    }

    /// The packets as the kernel takes them: `GOutputVector` is an `iovec`.
    func withVectors<Result>(_ body: (UnsafeBufferPointer<iovec>) -> Result) -> Result {
        UnsafeBufferPointer(rebasing: vectors[..<count]).withMemoryRebound(to: iovec.self, body)
    }

    /// The length of a packet.
    func length(_ index: Int) -> Int { Int(vectors[index].size) }
}
