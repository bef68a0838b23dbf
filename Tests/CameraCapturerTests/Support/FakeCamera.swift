import CLibV4L2
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A driver behind the system calls: the clock is the camera, ordinary memory its buffers. For the answers that no
/// real driver can be made to give; what a driver does by itself is tested with real ones.
///
/// `@unchecked Sendable`: all that changes is behind the lock.
final class FakeCamera: DeviceCalls, @unchecked Sendable {
    /// A refusal: the request, how many of its calls succeed before, and how often it is refused then.
    struct Refusal {
        var request: UInt
        var after = 0
        var times = 1
        var number: Int32
    }

    struct Mode: Hashable {
        var fourCC: FourCC
        var width: Int
        var height: Int
        var rate: FrameRate
    }

    struct State {
        var modes: [Mode] = [Mode(fourCC: .nv12, width: 64, height: 48, rate: 100)]
        var isPlugged = true
        /// What `open` answers instead, if not zero.
        var openError: Int32 = 0
        var refusals: [Refusal] = []
        /// How often each request was made.
        var calls: [UInt: Int] = [:]
        var opens = 0
        /// Frames are not made.
        var isSilent = false
        /// Changes each buffer before it is given out.
        var alter: ((inout v4l2_buffer) -> Void)?
        /// Written into each buffer.
        var content: [UInt8]?
        /// Added to what `poll` gives for the camera.
        var extraEvents: Int16 = 0

        fileprivate var current = Mode(fourCC: .nv12, width: 64, height: 48, rate: 100)
        fileprivate var buffers: [UnsafeMutableRawPointer] = []
        fileprivate var queued: [Int] = []
        fileprivate var isStreaming = false
        fileprivate var sequence: UInt32 = 0
        fileprivate var descriptor: Int32 = -1
        fileprivate var mapped = 0
        fileprivate var streamStart = MediaTime.zero

        /// How many frames the camera has made since the stream began.
        fileprivate var framesDue: UInt32 {
            UInt32(clamping: current.rate.frameIndex(at: MonotonicClock().now - streamStart))
        }

        /// What `poll` finds.
        fileprivate var readiness: Int16 {
            guard isPlugged else { return Int16(POLLERR | POLLHUP | POLLPRI) }
            let isReady = isStreaming && !isSilent && framesDue > sequence
            return (isReady ? Int16(POLLIN) : 0) | extraEvents
        }

        /// Frames that were due while the driver had no buffer.
        var overruns = 0
    }

    let path: String
    private let state = Locked(State())

    init(path: String = "/fake/video0", modes: [Mode] = []) {
        self.path = path
        if let first = modes.first {
            state.withLock {
                $0.modes = modes
                $0.current = first
            }
        }
    }

    func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }
    func get<Value>(_ value: (State) -> Value) -> Value { state.withLock { value($0) } }
    func calls(of request: UInt) -> Int { state.withLock { $0.calls[request] ?? 0 } }
    /// Mappings that were made and not given back.
    var mappings: Int { state.withLock { $0.mapped } }
    var isOpen: Bool { state.withLock { $0.descriptor >= 0 } }

    func open(_ path: String) -> Int32 {
        state.withLock { state in
            state.opens += 1
            guard path == self.path, state.isPlugged else { return -ENOENT }
            if state.openError != 0 { return -state.openError }
            let descriptor = Glibc.open("/dev/null", O_RDWR | O_CLOEXEC)
            state.descriptor = descriptor
            return descriptor
        }
    }

    func close(_ descriptor: Int32) {
        state.withLock { state in
            guard state.descriptor == descriptor else { return }
            state.descriptor = -1
            state.isStreaming = false
            state.queued = []
        }
        Glibc.close(descriptor)
    }

    func map(
        _ descriptor: Int32, byteCount: Int, offset: UInt32
    ) -> (address: UnsafeMutableRawPointer?, error: Int32) {
        state.withLock { state in
            state.mapped += 1
            // Each mapping is memory of its own; the driver writes through `buffers`.
            let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 4096)
            memory.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
            let index = Int(offset)
            while state.buffers.count <= index { state.buffers.append(memory) }
            state.buffers[index] = memory
            return (memory, 0)
        }
    }

    /// The memory is ordinary already.
    func detach(_ address: UnsafeMutableRawPointer, byteCount: Int) {}

    func unmap(_ address: UnsafeMutableRawPointer, byteCount: Int) {
        state.withLock { $0.mapped -= 1 }
        address.deallocate()
    }

    /// In slices of a few milliseconds: the camera's readiness is computed, all else is the system's.
    func poll(_ descriptors: UnsafeMutableBufferPointer<pollfd>, milliseconds: Int32) -> Int32 {
        let start = MonotonicClock().now
        while true {
            let camera = state.withLock { $0.descriptor }
            let isCamera = descriptors[0].fd == camera && camera >= 0
            let events = isCamera ? state.withLock { $0.readiness } : 0
            if isCamera { descriptors[0].fd = -1 }
            var count = Glibc.poll(
                descriptors.baseAddress, nfds_t(descriptors.count), events == 0 ? min(abs(milliseconds), 3) : 0)
            if isCamera { descriptors[0].fd = camera }
            if count < 0 { return -errno }
            if events != 0 {
                descriptors[0].revents = events
                count += 1
            }
            if count > 0 || milliseconds == 0 { return count }
            if milliseconds > 0, MonotonicClock().now - start >= .milliseconds(Int64(milliseconds)) { return 0 }
        }
    }

    func ioctl(_ descriptor: Int32, _ request: UInt, _ argument: UnsafeMutableRawPointer) -> Int32 {
        state.withLock { state in
            let number = state.calls[request, default: 0]
            state.calls[request] = number + 1
            if let index = state.refusals.firstIndex(where: { $0.request == request }) {
                if state.refusals[index].after > 0 {
                    state.refusals[index].after -= 1
                } else if state.refusals[index].times > 0 {
                    state.refusals[index].times -= 1
                    return -state.refusals[index].number
                }
            }
            guard state.isPlugged else { return -ENODEV }
            return FakeCamera.answer(request, argument, &state)
        }
    }

    private static func answer(_ request: UInt, _ argument: UnsafeMutableRawPointer, _ state: inout State) -> Int32 {
        switch request {
        case clibv4l2_QUERYCAP: return queryCapabilities(argument.assumingMemoryBound(to: v4l2_capability.self))
        case clibv4l2_ENUM_FMT: return enumerateFormats(argument.assumingMemoryBound(to: v4l2_fmtdesc.self), state)
        case clibv4l2_ENUM_FRAMESIZES:
            return enumerateSizes(argument.assumingMemoryBound(to: v4l2_frmsizeenum.self), state)
        case clibv4l2_ENUM_FRAMEINTERVALS:
            return enumerateIntervals(argument.assumingMemoryBound(to: v4l2_frmivalenum.self), state)
        case clibv4l2_G_FMT, clibv4l2_S_FMT, clibv4l2_TRY_FMT:
            return format(argument.assumingMemoryBound(to: v4l2_format.self), request, &state)
        case clibv4l2_G_PARM, clibv4l2_S_PARM:
            return parameters(argument.assumingMemoryBound(to: v4l2_streamparm.self), request, &state)
        case clibv4l2_REQBUFS:
            let count = argument.assumingMemoryBound(to: v4l2_requestbuffers.self)
            state.buffers = []
            state.queued = []
            count.pointee.count = min(count.pointee.count, 6)
            return 0
        case clibv4l2_QUERYBUF:
            let buffer = argument.assumingMemoryBound(to: v4l2_buffer.self)
            buffer.pointee.m.offset = buffer.pointee.index
            buffer.pointee.length = UInt32(byteCount(state.current))
            return 0
        case clibv4l2_QBUF:
            state.queued.append(Int(argument.assumingMemoryBound(to: v4l2_buffer.self).pointee.index))
            return 0
        case clibv4l2_DQBUF: return dequeue(argument.assumingMemoryBound(to: v4l2_buffer.self), &state)
        case clibv4l2_STREAMON:
            state.isStreaming = true
            state.sequence = 0
            state.streamStart = MonotonicClock().now
            return 0
        case clibv4l2_STREAMOFF:
            state.isStreaming = false
            state.queued = []
            return 0
        default: return -ENOTTY
        }
    }

    private static func queryCapabilities(_ capability: UnsafeMutablePointer<v4l2_capability>) -> Int32 {
        copy("fake", into: &capability.pointee.driver)
        copy("Fake Camera", into: &capability.pointee.card)
        copy("platform:fake", into: &capability.pointee.bus_info)
        capability.pointee.device_caps = UInt32(V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING)
        capability.pointee.capabilities = capability.pointee.device_caps | V4L2_CAP_DEVICE_CAPS
        return 0
    }

    private static func copy<Field>(_ text: String, into field: inout Field) {
        withUnsafeMutableBytes(of: &field) { bytes in
            for (index, byte) in text.utf8.enumerated() { bytes[index] = byte }
        }
    }

    private static func unique<Value: Equatable>(_ values: [Value]) -> [Value] {
        values.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    private static func enumerateFormats(_ entry: UnsafeMutablePointer<v4l2_fmtdesc>, _ state: State) -> Int32 {
        let formats = unique(state.modes.map(\.fourCC))
        guard formats.indices.contains(Int(entry.pointee.index)) else { return -EINVAL }
        entry.pointee.pixelformat = formats[Int(entry.pointee.index)].rawValue
        return 0
    }

    private static func enumerateSizes(_ entry: UnsafeMutablePointer<v4l2_frmsizeenum>, _ state: State) -> Int32 {
        let sizes = unique(
            state.modes.filter { $0.fourCC.rawValue == entry.pointee.pixel_format }.map { [$0.width, $0.height] })
        guard sizes.indices.contains(Int(entry.pointee.index)) else { return -EINVAL }
        entry.pointee.type = V4L2_FRMSIZE_TYPE_DISCRETE.rawValue
        entry.pointee.discrete.width = UInt32(sizes[Int(entry.pointee.index)][0])
        entry.pointee.discrete.height = UInt32(sizes[Int(entry.pointee.index)][1])
        return 0
    }

    private static func enumerateIntervals(_ entry: UnsafeMutablePointer<v4l2_frmivalenum>, _ state: State) -> Int32 {
        let rates = state.modes.filter {
            $0.fourCC.rawValue == entry.pointee.pixel_format && $0.width == entry.pointee.width
                && $0.height == entry.pointee.height
        }.map(\.rate)
        guard rates.indices.contains(Int(entry.pointee.index)) else { return -EINVAL }
        entry.pointee.type = V4L2_FRMIVAL_TYPE_DISCRETE.rawValue
        entry.pointee.discrete.numerator = UInt32(rates[Int(entry.pointee.index)].seconds)
        entry.pointee.discrete.denominator = UInt32(rates[Int(entry.pointee.index)].frames)
        return 0
    }

    private static func format(
        _ format: UnsafeMutablePointer<v4l2_format>, _ request: UInt, _ state: inout State
    ) -> Int32 {
        var answer = state.current
        if request != clibv4l2_G_FMT {
            let asked = format.pointee.fmt.pix
            answer =
                state.modes.first {
                    $0.fourCC.rawValue == asked.pixelformat && $0.width == asked.width && $0.height == asked.height
                } ?? state.modes[0]
            if request == clibv4l2_S_FMT { state.current = answer }
        }
        format.pointee.fmt.pix.width = UInt32(answer.width)
        format.pointee.fmt.pix.height = UInt32(answer.height)
        format.pointee.fmt.pix.pixelformat = answer.fourCC.rawValue
        format.pointee.fmt.pix.field = V4L2_FIELD_NONE.rawValue
        format.pointee.fmt.pix.bytesperline = UInt32(bytesPerRow(answer))
        format.pointee.fmt.pix.sizeimage = UInt32(byteCount(answer))
        return 0
    }

    private static func parameters(
        _ parameters: UnsafeMutablePointer<v4l2_streamparm>, _ request: UInt, _ state: inout State
    ) -> Int32 {
        if request == clibv4l2_S_PARM {
            let asked = parameters.pointee.parm.capture.timeperframe
            let matching = state.modes.first {
                $0.fourCC == state.current.fourCC && $0.width == state.current.width
                    && $0.height == state.current.height
                    && Int64($0.rate.frames) * Int64(asked.numerator) == Int64($0.rate.seconds)
                        * Int64(asked.denominator)
            }
            if let matching { state.current = matching }
        }
        parameters.pointee.parm.capture.timeperframe.numerator = UInt32(state.current.rate.seconds)
        parameters.pointee.parm.capture.timeperframe.denominator = UInt32(state.current.rate.frames)
        return 0
    }

    private static func dequeue(_ buffer: UnsafeMutablePointer<v4l2_buffer>, _ state: inout State) -> Int32 {
        guard state.isStreaming else { return -EINVAL }
        guard !state.isSilent else { return -EAGAIN }
        let due = state.framesDue
        guard due > state.sequence else { return -EAGAIN }
        state.sequence = due
        guard !state.queued.isEmpty else {
            state.overruns += 1
            return -EAGAIN
        }
        let index = state.queued.removeFirst()
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        buffer.pointee.index = UInt32(index)
        buffer.pointee.flags = UInt32(V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC)
        buffer.pointee.timestamp = timeval(tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1000)
        buffer.pointee.sequence = state.sequence - 1
        buffer.pointee.bytesused = UInt32(byteCount(state.current))
        if let content = state.content {
            content.withUnsafeBytes { state.buffers[index].copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
            buffer.pointee.bytesused = UInt32(content.count)
        } else {
            state.buffers[index].storeBytes(of: state.sequence, as: UInt32.self)
        }
        state.alter?(&buffer.pointee)
        return 0
    }

    private static func bytesPerRow(_ mode: Mode) -> Int {
        switch mode.fourCC {
        case .mjpeg: 0
        case .yuyv, .uyvy: mode.width * 2
        default: mode.width
        }
    }

    private static func byteCount(_ mode: Mode) -> Int {
        switch mode.fourCC {
        case .mjpeg: mode.width * mode.height * 2
        case .yuyv, .uyvy: mode.width * mode.height * 2
        default: mode.width * mode.height * 3 / 2
        }
    }
}
