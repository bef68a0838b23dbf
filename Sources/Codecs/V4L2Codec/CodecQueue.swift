import CLibV4L2
import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One of the two queues of a codec's node: its buffers, and which of them the driver has. Used by one thread at a time.
///
/// Belongs to the encoder's thread and has no callbacks, so the properties of the frame path are not checked for
/// overlapping accesses.
final class CodecQueue {
    /// What passes through a queue; V4L2 names them from the driver's side.
    enum Role {
        /// Raw frames, which the driver reads (`V4L2_BUF_TYPE_VIDEO_OUTPUT`).
        case frames
        /// Packets, which the driver writes (`V4L2_BUF_TYPE_VIDEO_CAPTURE`).
        case packets
    }

    /// Where the memory of the buffers comes from.
    enum Memory {
        /// The driver's, mapped into this process.
        case mapped
        /// Other drivers' (`V4L2_MEMORY_DMABUF`).
        case imported

        fileprivate var number: UInt32 { (self == .mapped ? V4L2_MEMORY_MMAP : V4L2_MEMORY_DMABUF).rawValue }
    }

    /// A buffer that the driver has returned.
    struct Returned {
        /// The number of the buffer.
        var index: Int
        /// `V4L2_BUF_FLAG_…`.
        var flags: UInt32
        /// The time that the frame was queued with, in microseconds; drivers copy it to the packet.
        var time: Int64
        /// The encoded bytes, until the buffer is queued again; empty for frames.
        var bytes: UnsafeRawBufferPointer

        /// Whether the driver could not do its work on the buffer.
        var isDamaged: Bool { flags & UInt32(V4L2_BUF_FLAG_ERROR) != 0 }
        /// Whether it is the last packet before the end of a drain.
        var isLast: Bool { flags & UInt32(V4L2_BUF_FLAG_LAST) != 0 }
        /// Whether decoding can begin at the packet.
        var isKeyFrame: Bool { flags & UInt32(V4L2_BUF_FLAG_KEYFRAME) != 0 }
    }

    let memory: Memory
    /// The number of buffers.
    let count: Int

    private let node: DeviceNode
    private let type: UInt32
    private let isMultiplanar: Bool
    private let mappings: [BufferMapping]
    @exclusivity(unchecked) private var isAtDriver: [Bool]
    /// The argument of the buffer requests, and the plane to which it points.
    private let argument: UnsafeMutablePointer<v4l2_buffer>
    private let plane: UnsafeMutablePointer<v4l2_plane>

    /// The type of a node's queue for requests.
    static func bufferType(_ role: Role, isMultiplanar: Bool) -> UInt32 {
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
    init(_ node: DeviceNode, _ role: Role, memory: Memory, count: Int) throws(IoctlFailure) {
        let isMultiplanar = node.capabilities.isMemoryToMemoryMultiplanar
        let type = CodecQueue.bufferType(role, isMultiplanar: isMultiplanar)
        var request = v4l2_requestbuffers()
        request.count = UInt32(count)
        request.type = type
        request.memory = memory.number
        try node.request(.requestBuffers, &request)
        let made = Int(min(request.count, UInt32(VIDEO_MAX_FRAME)))
        guard made >= 1 else { throw IoctlFailure(request: DeviceRequest.requestBuffers.name, number: ENOMEM) }
        var mappings: [BufferMapping] = []
        if memory == .mapped {
            for index in 0..<made {
                mappings.append(
                    try CodecQueue.map(
                        node, type: type, index: index, isMultiplanar: isMultiplanar, isWritable: role == .frames))
            }
        }
        self.node = node
        self.type = type
        self.isMultiplanar = isMultiplanar
        self.memory = memory
        self.mappings = mappings
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
    func start() throws(IoctlFailure) {
        var type = Int32(bitPattern: type)
        try node.request(.streamOn, &type)
    }

    /// Stops streaming, which takes all buffers back from the driver.
    func stop() {
        var type = Int32(bitPattern: type)
        _ = try? node.request(.streamOff, &type)
        for index in isAtDriver.indices { isAtDriver[index] = false }
    }

    /// A buffer that the driver does not have; nil when it has all.
    var freeIndex: Int? { isAtDriver.firstIndex(of: false) }

    /// Whether the driver has no buffer.
    var isIdle: Bool { !isAtDriver.contains(true) }

    /// The memory of a mapped buffer.
    func bytes(of index: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: mappings[index].address, count: mappings[index].byteCount)
    }

    /// Gives a mapped buffer to the driver.
    ///
    /// - Parameters:
    ///   - index: a buffer that the driver does not have.
    ///   - byteCount: the bytes of the frame in it; 0 for a packet's buffer.
    ///   - time: the frame's time in microseconds.
    func queue(_ index: Int, byteCount: Int = 0, time: Int64 = 0) throws(IoctlFailure) {
        prepare(index, byteCount: byteCount, time: time)
        try give(index)
    }

    /// Gives another driver's buffer to the driver, which reads it until the buffer is returned.
    func queue(
        _ index: Int, importing buffer: PixelBuffer.DMABuffer, byteCount: Int, time: Int64
    ) throws(IoctlFailure) {
        prepare(index, byteCount: byteCount, time: time)
        if isMultiplanar {
            plane.pointee.m.fd = buffer.descriptor
            plane.pointee.length = UInt32(clamping: buffer.byteCount)
        } else {
            argument.pointee.m.fd = buffer.descriptor
            argument.pointee.length = UInt32(clamping: buffer.byteCount)
        }
        try give(index)
    }

    /// Takes the oldest buffer that the driver is done with; nil when there is none.
    func dequeue() throws(IoctlFailure) -> Returned? {
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
    ) throws(IoctlFailure) -> BufferMapping {
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
        return try BufferMapping(node, byteCount: byteCount, offset: offset, isWritable: isWritable)
    }
}
