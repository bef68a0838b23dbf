#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Memory for datagrams that are handed to the kernel together. For one thread at a time.
package final class DatagramBatch {
    /// The datagrams that fit.
    package static let capacity = 64
    /// The datagrams that wait.
    package private(set) var count = 0

    private let slotSize: Int
    private let spare: Int
    private let memory: UnsafeMutableRawBufferPointer
    private let vectors = UnsafeMutableBufferPointer<iovec>.allocate(capacity: DatagramBatch.capacity)

    /// - Parameters:
    ///   - size: the bytes of the largest datagram when it is added.
    ///   - spare: how many more it may have when it is sent, such as the tag of SRTP.
    package init(size: Int, spare: Int = 0) {
        self.spare = spare
        slotSize = (size + spare + 63) / 64 * 64
        memory = .allocate(byteCount: slotSize * DatagramBatch.capacity, alignment: 64)
        for index in vectors.indices {
            let start = memory.baseAddress! + index * slotSize
            vectors.initializeElement(at: index, to: iovec(iov_base: start, iov_len: 0))
        }
    }

    deinit {
        vectors.deallocate()
        memory.deallocate()
    }

    /// Whether no further datagram fits.
    package var isFull: Bool { count == DatagramBatch.capacity }

    /// Adds a datagram that `body` writes, unless the batch is full.
    ///
    /// - Parameter body: writes the datagram, and returns its length, 0 for none.
    package func add(_ body: (UnsafeMutableRawBufferPointer) -> Int) {
        guard !isFull else { return }
        let start = memory.baseAddress! + count * slotSize
        let length = body(UnsafeMutableRawBufferPointer(start: start, count: slotSize - spare))
        guard length > 0 else { return }
        vectors[count].iov_len = length
        count += 1
    }

    /// Forgets all datagrams.
    package func removeAll() { count = 0 }

    /// The bytes of a datagram, and their number, which may be changed; false from `body` leaves none of them.
    package func withDatagram(_ index: Int, _ body: (UnsafeMutableRawPointer, inout Int32) -> Bool) -> Bool {
        var length = Int32(vectors[index].iov_len)
        let isKept = body(memory.baseAddress! + index * slotSize, &length)
        vectors[index].iov_len = isKept ? Int(length) : 0
        return isKept
    }

    /// The datagrams that wait; valid until the batch is changed.
    package var datagrams: UnsafeBufferPointer<iovec> { UnsafeBufferPointer(rebasing: vectors[..<count]) }
}
