import CLibV4L2

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A queue of a codec's or an output's node: its buffers, and which of them the driver has. Used by one thread at a time.
///
/// It has no callbacks, so the properties of the frame path are not checked for overlapping accesses.
package final class BufferQueue {
    /// What passes through a queue; V4L2 names them from the driver's side.
    package enum Role {
        /// Raw frames, which the driver reads (`V4L2_BUF_TYPE_VIDEO_OUTPUT`).
        case frames
        /// Packets, which the driver writes (`V4L2_BUF_TYPE_VIDEO_CAPTURE`).
        case packets
    }

    /// Where the memory of the buffers comes from.
    package enum Memory {
        /// The driver's, mapped into this process.
        case mapped
        /// Other drivers' (`V4L2_MEMORY_DMABUF`).
        case imported

        fileprivate var number: UInt32 { (self == .mapped ? V4L2_MEMORY_MMAP : V4L2_MEMORY_DMABUF).rawValue }
    }

    /// A buffer that the driver has returned.
    package struct Returned {
        /// The number of the buffer.
        package var index: Int
        /// `V4L2_BUF_FLAG_…`.
        package var flags: UInt32
        /// The time that the frame was queued with, in microseconds; drivers copy it to the packet.
        package var time: Int64
        /// The encoded bytes, until the buffer is queued again; empty for frames.
        package var bytes: UnsafeRawBufferPointer

        /// Whether the driver could not do its work on the buffer.
        package var isDamaged: Bool { flags & UInt32(V4L2_BUF_FLAG_ERROR) != 0 }
        /// Whether it is the last packet before the end of a drain.
        package var isLast: Bool { flags & UInt32(V4L2_BUF_FLAG_LAST) != 0 }
        /// Whether decoding can begin at the packet.
        package var isKeyFrame: Bool { flags & UInt32(V4L2_BUF_FLAG_KEYFRAME) != 0 }
    }

    package let memory: Memory
    /// The number of buffers.
    package let count: Int

    private let node: DeviceNode
    private let type: UInt32
    private let isMultiplanar: Bool
    private let mappings: [BufferMapping]
    /// The places of mapped buffers in the driver's memory.
    private let offsets: [UInt32]
    @exclusivity(unchecked) private var isAtDriver: [Bool]
    /// The argument of the buffer requests, and the plane to which it points.
    private let argument: UnsafeMutablePointer<v4l2_buffer>
    private let plane: UnsafeMutablePointer<v4l2_plane>

    /// The type of a node's queue for requests.
    package static func bufferType(_ role: Role, isMultiplanar: Bool) -> UInt32 {
        switch role {
        case .frames: (isMultiplanar ? V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE : V4L2_BUF_TYPE_VIDEO_OUTPUT).rawValue
        case .packets: (isMultiplanar ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE).rawValue
        }
    }

    /// Requests the buffers of a queue whose format is set.
    ///
    /// - Parameters:
    ///   - node: the codec's open node.
    ///   - role: which queue.
    ///   - memory: where the buffers come from.
    ///   - count: the requested number; the driver may make more or fewer, but at least one.
    package init(_ node: DeviceNode, _ role: Role, memory: Memory, count: Int) throws(IoctlFailure) {
        let isMultiplanar = node.capabilities.isMemoryToMemoryMultiplanar
        let type = BufferQueue.bufferType(role, isMultiplanar: isMultiplanar)
        var request = v4l2_requestbuffers()
        request.count = UInt32(count)
        request.type = type
        request.memory = memory.number
        try node.request(.requestBuffers, &request)
        let made = Int(min(request.count, UInt32(VIDEO_MAX_FRAME)))
        guard made >= 1 else { throw IoctlFailure(request: DeviceRequest.requestBuffers.name, number: ENOMEM) }
        var mappings: [BufferMapping] = []
        var offsets: [UInt32] = []
        if memory == .mapped {
            for index in 0..<made {
                let (mapping, offset) = try BufferQueue.map(
                    node, type: type, index: index, isMultiplanar: isMultiplanar, isWritable: role == .frames)
                mappings.append(mapping)
                offsets.append(offset)
            }
        }
        self.node = node
        self.type = type
        self.isMultiplanar = isMultiplanar
        self.memory = memory
        self.mappings = mappings
        self.offsets = offsets
        self.count = made
        isAtDriver = [Bool](repeating: false, count: made)
        // Last: nothing throws from here on, so that nothing is leaked.
        argument = .allocate(capacity: 1)
        plane = .allocate(capacity: 1)
    }

    /// Stops streaming. The buffers are freed with the mappings and the node.
    deinit {
        stop()
        argument.deallocate()
        plane.deallocate()
    }

    /// Starts streaming.
    package func start() throws(IoctlFailure) {
        var type = Int32(bitPattern: type)
        try node.request(.streamOn, &type)
    }

    /// Stops streaming, which takes all buffers back from the driver.
    package func stop() {
        var type = Int32(bitPattern: type)
        _ = try? node.request(.streamOff, &type)
        for index in isAtDriver.indices { isAtDriver[index] = false }
    }

    /// A buffer that the driver does not have; nil when it has all.
    package var freeIndex: Int? { isAtDriver.firstIndex(of: false) }

    /// Whether the driver has no buffer.
    package var isIdle: Bool { !isAtDriver.contains(true) }

    /// The memory of a mapped buffer.
    package func bytes(of index: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: mappings[index].address, count: mappings[index].byteCount)
    }

    /// Gives a mapped buffer to the driver.
    ///
    /// - Parameters:
    ///   - index: a buffer that the driver does not have.
    ///   - byteCount: the bytes of the frame in it; 0 for a packet's buffer.
    ///   - time: the frame's time in microseconds.
    package func queue(_ index: Int, byteCount: Int = 0, time: Int64 = 0) throws(IoctlFailure) {
        prepare(index, byteCount: byteCount, time: time)
        try give(index)
    }

    /// Gives another driver's buffer to the driver, which reads it until the buffer is returned.
    ///
    /// - Parameters:
    ///   - index: as above.
    ///   - descriptor: the buffer, of `length` bytes.
    ///   - byteCount: the bytes of the frame in it.
    ///   - time: as above.
    package func queue(
        _ index: Int, importing descriptor: Int32, length: Int, byteCount: Int, time: Int64
    ) throws(IoctlFailure) {
        prepare(index, byteCount: byteCount, time: time)
        if isMultiplanar {
            plane.pointee.m.fd = descriptor
            plane.pointee.length = UInt32(clamping: length)
        } else {
            argument.pointee.m.fd = descriptor
            argument.pointee.length = UInt32(clamping: length)
        }
        try give(index)
    }

    /// Whether a mapped buffer of this number is still the one that was mapped, and no other number's; v4l2loopback answers with
    /// another one's place where it has taken some away.
    package func isInPlace(_ index: Int) throws(IoctlFailure) -> Bool {
        prepare(index, byteCount: 0, time: 0)
        try node.request(.queryBuffer, &argument.pointee)
        let offset = isMultiplanar ? plane.pointee.m.mem_offset : argument.pointee.m.offset
        return offsets.firstIndex(of: offset) == index
    }

    /// Takes a buffer back that was given just now, from a driver that copies its content.
    ///
    /// - Returns: the number that the driver states; not always this one.
    package func takeBack(_ index: Int) throws(IoctlFailure) -> Int {
        prepare(0, byteCount: 0, time: 0)
        try node.request(.dequeueBuffer, &argument.pointee)
        isAtDriver[index] = false
        return Int(argument.pointee.index)
    }

    /// Takes the oldest buffer that the driver is done with; nil when it has finished none.
    package func dequeue() throws(IoctlFailure) -> Returned? {
        prepare(0, byteCount: 0, time: 0)
        do {
            try node.request(.dequeueBuffer, &argument.pointee)
        } catch  where error.isAgain {
            return nil
        }
        let index = Int(argument.pointee.index)
        guard isAtDriver.indices.contains(index), isAtDriver[index] else {
            throw IoctlFailure(request: DeviceRequest.dequeueBuffer.name, number: EBADSLT)
        }
        isAtDriver[index] = false
        var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
        if memory == .mapped {
            let whole = mappings[index]
            let end = min(Int(isMultiplanar ? plane.pointee.bytesused : argument.pointee.bytesused), whole.byteCount)
            let start = isMultiplanar ? min(Int(plane.pointee.data_offset), end) : 0
            bytes = UnsafeRawBufferPointer(start: whole.address + start, count: end - start)
        }
        let stamp = argument.pointee.timestamp
        return Returned(
            index: index, flags: argument.pointee.flags,
            time: Int64(stamp.tv_sec) &* 1_000_000 &+ Int64(stamp.tv_usec), bytes: bytes)
    }

    private func prepare(_ index: Int, byteCount: Int, time: Int64) {
        argument.initialize(to: v4l2_buffer())
        argument.pointee.type = type
        argument.pointee.memory = memory.number
        argument.pointee.index = UInt32(index)
        argument.pointee.field = V4L2_FIELD_NONE.rawValue
        argument.pointee.timestamp.tv_sec = Int(time / 1_000_000)
        argument.pointee.timestamp.tv_usec = Int(time % 1_000_000)
        guard isMultiplanar else {
            argument.pointee.bytesused = UInt32(clamping: byteCount)
            return
        }
        plane.initialize(to: v4l2_plane())
        plane.pointee.bytesused = UInt32(clamping: byteCount)
        argument.pointee.m.planes = plane
        argument.pointee.length = 1
    }

    private func give(_ index: Int) throws(IoctlFailure) {
        try node.request(.queueBuffer, &argument.pointee)
        isAtDriver[index] = true
    }

    private static func map(
        _ node: DeviceNode, type: UInt32, index: Int, isMultiplanar: Bool, isWritable: Bool
    ) throws(IoctlFailure) -> (BufferMapping, offset: UInt32) {
        var plane = v4l2_plane()
        let (byteCount, offset) = try withUnsafeMutablePointer(to: &plane) { plane throws(IoctlFailure) in
            var argument = v4l2_buffer()
            argument.type = type
            argument.memory = V4L2_MEMORY_MMAP.rawValue
            argument.index = UInt32(index)
            if isMultiplanar {
                argument.m.planes = plane
                argument.length = 1
            }
            try node.request(.queryBuffer, &argument)
            return isMultiplanar
                ? (Int(plane.pointee.length), plane.pointee.m.mem_offset)
                : (Int(argument.length), argument.m.offset)
        }
        return (try BufferMapping(node, byteCount: byteCount, offset: offset, isWritable: isWritable), offset)
    }
}
