import Synchronization

/// The bytes of one encoded picture: immutable, recycled by their pool when its last reference is released.
///
/// `@unchecked Sendable`: written only by ``PacketBufferPool``, while there is no other reference to the buffer; so
/// no access need be checked at run time.
public final class PacketBuffer: @unchecked Sendable {
    @exclusivity(unchecked) private var memory: UnsafeMutableRawBufferPointer
    /// The number of encoded bytes.
    public var count: Int { storedCount.load(ordering: .relaxed) }
    /// Atomic, because ``finishedReads`` orders only the reads inside of a call.
    private let storedCount = Atomic(0)
    /// Orders the reads of one use before the writes of the next, as in `PixelBuffer`.
    private let finishedReads = Atomic<UInt>(0)

    fileprivate init(capacity: Int) {
        memory = .allocate(byteCount: max(64, capacity), alignment: 64)
    }

    /// A new buffer, with a copy of `bytes`.
    public convenience init(copying bytes: UnsafeRawBufferPointer) {
        self.init(capacity: bytes.count)
        replaceBytes(with: bytes)
    }

    deinit {
        memory.deallocate()
    }

    /// Runs `body` with the encoded bytes; they are valid during the call only.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { finishedReads.wrappingAdd(1, ordering: .releasing) }
        return try body(UnsafeRawBufferPointer(start: memory.baseAddress, count: count))
    }

    /// Runs `body` with the encoded bytes.
    public func withBytes<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { finishedReads.wrappingAdd(1, ordering: .releasing) }
        return try body(UnsafeRawBufferPointer(start: memory.baseAddress, count: count).bytes)
    }

    fileprivate func replaceBytes(with bytes: UnsafeRawBufferPointer) {
        _ = finishedReads.load(ordering: .acquiring)
        if memory.count < bytes.count {
            memory.deallocate()
            // Half as much again, so that a growing bitrate settles after few allocations.
            memory = .allocate(byteCount: bytes.count + bytes.count / 2, alignment: 64)
        }
        memory.copyMemory(from: bytes)
        storedCount.store(bytes.count, ordering: .relaxed)
    }
}

/// Recycles the memory of packets, as `PixelBufferPool` does for pictures.
///
/// Safe to use from any thread.
public final class PacketBufferPool: Sendable {
    private let buffers: Locked<[PacketBuffer]>
    private let capacity: Int

    /// - Parameter capacity: the most buffers kept for reuse; further ones are made and freed one by one.
    public init(capacity: Int = 32) {
        self.capacity = max(1, capacity)
        var buffers: [PacketBuffer] = []
        buffers.reserveCapacity(self.capacity)
        self.buffers = Locked(buffers)
    }

    /// A buffer with a copy of `bytes`.
    public func makeBuffer(copying bytes: UnsafeRawBufferPointer) -> PacketBuffer {
        buffers.withLock { buffers in
            for index in buffers.indices where isKnownUniquelyReferenced(&buffers[index]) {
                buffers[index].replaceBytes(with: bytes)
                return buffers[index]
            }
            let made = PacketBuffer(copying: bytes)
            if buffers.count < capacity { buffers.append(made) }
            return made
        }
    }
}
