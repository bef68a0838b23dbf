import CLibV4L2
import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A driver's queue of mapped buffers while it streams: requests, maps, queues and dequeues buffers.
///
/// Belongs to the capture thread and has no callbacks, so the properties of the frame path are not checked for
/// overlapping accesses, which would cost a third of the work. It throws the driver's failures; ``CameraSource``
/// handles them.
final class CaptureStream {
    let node: DeviceNode
    let format: StreamFormat
    @exclusivity(unchecked) private(set) var buffers: [DriverBuffer] = []
    private(set) var isStreaming = false
    private var isReleased = false

    /// Exports the buffers for other devices, on any thread.
    let exporter: BufferExporter

    /// Whether ``dequeue()`` waits for a frame, instead of returning nil.
    @exclusivity(unchecked) private(set) var isWaiting = false

    /// The number of buffers that the driver has.
    @exclusivity(unchecked) private(set) var queuedCount = 0

    private var type: UInt32 { StreamFormat.bufferType(isMultiplanar: format.isMultiplanar) }
    /// The argument of the buffer requests, and the planes to which it points.
    private let argument = UnsafeMutablePointer<v4l2_buffer>.allocate(capacity: 1)
    private let planes = UnsafeMutablePointer<v4l2_plane>.allocate(capacity: Int(VIDEO_MAX_PLANES))

    /// Requests the buffers and queues them all; ``start()`` begins the capture into them.
    ///
    /// - Parameter bufferCount: the requested number; the driver may allocate fewer, but at least two.
    init(_ node: DeviceNode, format: StreamFormat, bufferCount: Int = 6) throws(IoctlFailure) {
        self.node = node
        self.format = format
        exporter = BufferExporter(node, format: format)
        do throws(IoctlFailure) {
            let count = try requestBuffers(bufferCount)
            guard count >= 2 else { throw IoctlFailure(request: DeviceRequest.requestBuffers.name, number: ENOMEM) }
            buffers.reserveCapacity(count)
            for index in 0..<count { buffers.append(DriverBuffer(mappings: try map(index))) }
            for index in 0..<count { try queue(index) }
        } catch {
            release()
            throw error
        }
    }

    deinit {
        release()
        argument.deallocate()
        planes.deallocate()
    }

    /// Starts streaming.
    func start() throws(IoctlFailure) {
        var type = Int32(bitPattern: type)
        try node.request(.streamOn, &type)
        isStreaming = true
    }

    /// Sets whether ``dequeue()`` waits for a frame; false when the system refuses.
    @discardableResult
    func setWaiting(_ isToWait: Bool) -> Bool {
        let isSet = node.calls.setWaiting(node.descriptor, isToWait)
        if isSet { isWaiting = isToWait }
        return isSet
    }

    /// Stops the driver only, on any thread, as long as the node is open; false when the driver refuses.
    var switchingOff: @Sendable () -> Bool {
        { [calls = node.calls, descriptor = node.descriptor, type] in
            var type = Int32(bitPattern: type)
            return calls.ioctl(descriptor, DeviceRequest.streamOff.code, &type) >= 0
        }
    }

    /// Stops streaming and frees the buffers. Frames that are still held keep their memory.
    func release() {
        // Only once: another stream of the node may have begun since.
        guard !isReleased else { return }
        isReleased = true
        var type = Int32(bitPattern: type)
        _ = try? node.request(.streamOff, &type)
        isStreaming = false
        queuedCount = 0
        exporter.end()
        // Frames that are still held stay readable, in ordinary memory.
        for buffer in buffers where buffer.holder == .frame && !buffer.isReusable() {
            for mapping in buffer.mappings { mapping.detach() }
        }
        buffers.removeAll()
        // Refused by older drivers while memory is mapped; closing the node frees the buffers then.
        _ = try? requestBuffers(0)
    }

    /// Dequeues the oldest filled buffer, which belongs to the caller until ``queue(_:)``; nil without one, or if
    /// signals kept interrupting the wait.
    func dequeue() throws(IoctlFailure) -> CapturedBuffer? {
        prepareArgument(0)
        do {
            try node.request(.dequeueBuffer, &argument.pointee)
        } catch  where error.isAgain || (isWaiting && error.number == EINTR) {
            return nil
        }
        let index = Int(argument.pointee.index)
        guard buffers.indices.contains(index), buffers[index].holder == .driver else {
            // A buffer that the driver does not have cannot be requeued.
            throw IoctlFailure(request: DeviceRequest.dequeueBuffer.name, number: EBADSLT)
        }
        buffers[index].holder = .us
        queuedCount -= 1
        return captured(index)
    }

    /// Whether another buffer is filled already.
    var hasFilledBuffer: Bool {
        node.calls.waitForInput(node.descriptor, events: Int16(POLLIN), stop: -1, milliseconds: 0) & Int16(POLLIN) != 0
    }

    /// Queues a buffer for the driver to fill.
    func queue(_ index: Int) throws(IoctlFailure) {
        prepareArgument(index)
        try node.request(.queueBuffer, &argument.pointee)
        buffers[index].holder = .driver
        queuedCount += 1
    }

    /// Requeues the buffers whose frames were released, and those that the driver has refused before.
    func reclaim() throws(IoctlFailure) {
        for (index, buffer) in buffers.enumerated() {
            switch buffer.holder {
            case .driver: continue
            case .frame: guard buffer.isReusable() else { continue }
            case .us: break
            }
            buffer.holder = .us
            do {
                try queue(index)
            } catch {
                guard error.isDeviceGone else { continue }
                throw error
            }
        }
    }

    /// Lends a buffer to a frame; ``reclaim()`` requeues it later.
    func lend(_ index: Int) { buffers[index].holder = .frame }

    /// The pixel buffer in an uncompressed buffer of the driver.
    func pixelBuffer(in buffer: CapturedBuffer, as pixelFormat: PixelFormat) throws(CaptureError) -> PixelBuffer {
        if let pixels = buffers[buffer.index].pixelBuffer(at: buffer.dataOffsets) { return pixels }
        return try buffers[buffer.index].makePixelBuffer(format, as: pixelFormat, offsets: buffer.dataOffsets) {
            [exporter, index = buffer.index] () throws(CaptureError) in try exporter.export(index)
        }
    }

    /// The bytes of a compressed frame in a buffer; valid until the buffer is requeued.
    func bytes(of captured: CapturedBuffer) -> UnsafeRawBufferPointer {
        let mapping = buffers[captured.index].mappings[0]
        let start = Int(captured.dataOffsets[0])
        // Drivers may claim more than their buffer has.
        let end = min(Int(captured.bytesUsed[0]), mapping.byteCount)
        return UnsafeRawBufferPointer(start: mapping.address + start, count: max(0, end - start))
    }

    private func requestBuffers(_ count: Int) throws(IoctlFailure) -> Int {
        var request = v4l2_requestbuffers()
        request.count = UInt32(count)
        request.type = type
        request.memory = V4L2_MEMORY_MMAP.rawValue
        try node.request(.requestBuffers, &request)
        return Int(request.count)
    }

    private func map(_ index: Int) throws(IoctlFailure) -> PlaneList<BufferMapping> {
        prepareArgument(index)
        try node.request(.queryBuffer, &argument.pointee)
        guard format.isMultiplanar else {
            return [
                try BufferMapping(
                    node, byteCount: Int(argument.pointee.length), offset: argument.pointee.m.offset)
            ]
        }
        var mappings = PlaneList<BufferMapping>()
        for plane in 0..<format.memoryPlanes.count {
            mappings.append(
                try BufferMapping(
                    node, byteCount: Int(planes[plane].length), offset: planes[plane].m.mem_offset))
        }
        return mappings
    }

    private func prepareArgument(_ index: Int) {
        argument.initialize(to: v4l2_buffer())
        argument.pointee.type = type
        argument.pointee.memory = V4L2_MEMORY_MMAP.rawValue
        argument.pointee.index = UInt32(index)
        guard format.isMultiplanar else { return }
        planes.initialize(repeating: v4l2_plane(), count: Int(VIDEO_MAX_PLANES))
        argument.pointee.m.planes = planes
        argument.pointee.length = UInt32(format.memoryPlanes.count)
    }

    @inline(__always) private func captured(_ index: Int) -> CapturedBuffer {
        var bytesUsed = PlaneNumbers.zero
        var offsets = PlaneNumbers.zero
        if format.isMultiplanar {
            for plane in 0..<format.memoryPlanes.count {
                bytesUsed[plane] = planes[plane].bytesused
                offsets[plane] = planes[plane].data_offset
            }
        } else {
            bytesUsed[0] = argument.pointee.bytesused
        }
        let time = argument.pointee.timestamp
        // Clamped: a damaged time must not trap.
        let (seconds, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
        return CapturedBuffer(
            index: index, flags: argument.pointee.flags,
            timestamp: MediaTime(nanoseconds: overflow ? .max : seconds &+ Int64(time.tv_usec) &* 1000),
            sequence: argument.pointee.sequence, bytesUsed: bytesUsed, dataOffsets: offsets)
    }
}

/// A number for each plane of memory; zero for missing planes. A vector, so that those of a frame are copied and
/// compared at once.
typealias PlaneNumbers = SIMD4<UInt32>

/// The driver's description of a filled buffer.
struct CapturedBuffer {
    /// The number of the buffer in its queue.
    var index: Int
    /// `V4L2_BUF_FLAG_…`.
    var flags: UInt32
    /// The time by the clock that ``flags`` states.
    var timestamp: MediaTime
    /// The driver's frame counter.
    var sequence: UInt32
    /// For each plane of memory the bytes written, from its start.
    var bytesUsed: PlaneNumbers
    /// For each plane of memory the offset of the frame.
    var dataOffsets: PlaneNumbers

    /// Whether the driver has returned the buffer without filling it, as some do with all buffers when one transfer
    /// fails: it is not a frame, and its sequence number is meaningless.
    @inline(__always) var isUnfilled: Bool {
        flags & UInt32(V4L2_BUF_FLAG_ERROR) != 0 && timestamp == .zero && bytesUsed == .zero
    }
}
