import CLibV4L2
import V4L2Support
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A driver behind the system calls: the clock is the camera, ordinary memory its buffers. It refuses what the kernel's
/// `videobuf2` refuses. For the answers that no real driver can be made to give; what a driver does by itself is tested
/// with real ones.
///
/// `@unchecked Sendable`: all that changes is behind the lock.
final class FakeCamera: DeviceCalls, @unchecked Sendable {
    /// What `open`, `mmap` and `poll` go by in ``Refusal`` and ``calls(of:)``: no request of V4L2 has these numbers.
    static let openCall: UInt = 1
    static let mapCall: UInt = 2
    static let pollCall: UInt = 3

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

    private let state: Locked<FakeCameraState>

    init(path: String = "/fake/video0", modes: [Mode] = []) {
        var state = FakeCameraState(path: path)
        if let first = modes.first {
            state.modes = modes
            state.current = first
        }
        self.state = Locked(state)
    }

    func set(_ change: (inout FakeCameraState) -> Void) { state.withLock { change(&$0) } }
    func get<Value>(_ value: (FakeCameraState) -> Value) -> Value { state.withLock { value($0) } }
    func calls(of request: UInt) -> Int { state.withLock { $0.calls[request] ?? 0 } }
    /// All calls that were made so far, whichever.
    var callCount: Int { state.withLock { $0.calls.values.reduce(0, +) } }
    /// Mappings that were made and not given back.
    var mappings: Int { state.withLock { $0.mapped.count } }
    var isOpen: Bool { state.withLock { !$0.descriptors.isEmpty } }

    /// Pulls the camera out. What is open stays open, and answers `ENODEV` from now on.
    func unplug() {
        state.withLock { state in
            state.isPlugged = false
            state.generation += 1
            state.controls = state.firstControls
            state.forgetStream()
        }
    }

    func plug(at path: String) {
        state.withLock { state in
            state.path = path
            state.isPlugged = true
        }
    }

    func open(_ path: String) -> Int32 {
        state.withLock { state in
            if let refusal = state.refusal(of: FakeCamera.openCall) { return -refusal }
            guard path == state.path, state.isPlugged else { return -ENOENT }
            if state.openError != 0 { return -state.openError }
            let descriptor = Glibc.open("/dev/null", O_RDWR | O_CLOEXEC)
            state.descriptors[descriptor] = state.generation
            return descriptor
        }
    }

    func close(_ descriptor: Int32) {
        let isKnown = state.withLock { state in
            if state.owner == descriptor { state.forgetStream() }
            state.waiting.remove(descriptor)
            return state.descriptors.removeValue(forKey: descriptor) != nil
        }
        if isKnown { Glibc.close(descriptor) }
    }

    func map(
        _ descriptor: Int32, byteCount: Int, offset: UInt32, isWritable: Bool
    ) -> (address: UnsafeMutableRawPointer?, error: Int32) {
        state.withLock { state in
            if let refusal = state.refusal(of: FakeCamera.mapCall) { return (nil, refusal) }
            guard state.isAlive(descriptor) else { return (nil, ENODEV) }
            guard state.buffers.indices.contains(Int(offset)) else { return (nil, EINVAL) }
            let memory = state.buffers[Int(offset)]
            state.mapped[memory.address] = memory
            return (memory.address, 0)
        }
    }

    /// The memory is ordinary already.
    func detach(_ address: UnsafeMutableRawPointer, byteCount: Int) {}

    func unmap(_ address: UnsafeMutableRawPointer, byteCount: Int) {
        _ = state.withLock { $0.mapped.removeValue(forKey: address) }
    }

    /// In slices of a few milliseconds: the camera's readiness is computed, all else is the system's.
    func poll(_ descriptors: UnsafeMutableBufferPointer<pollfd>, milliseconds: Int32) -> Int32 {
        if let refusal = state.withLock({ $0.refusal(of: FakeCamera.pollCall) }) { return -refusal }
        let start = MonotonicClock().now
        while true {
            let camera = descriptors[0].fd
            let asked = descriptors[0].events
            // Nil: not the camera's descriptor.
            let events = state.withLock { state -> Int16? in
                guard state.descriptors[camera] != nil else { return nil }
                // A camera that loses nothing makes its next frame for the one that waits for it.
                if state.losesFrames || milliseconds != 0 { state.fill() }
                return state.readiness(camera, asked)
            }
            if events != nil { descriptors[0].fd = -1 }
            let slice: Int32 = (events ?? 0) != 0 ? 0 : milliseconds < 0 ? 3 : min(milliseconds, 3)
            var count = Glibc.poll(descriptors.baseAddress, nfds_t(descriptors.count), slice)
            let number = errno
            if events != nil { descriptors[0].fd = camera }
            if count < 0 { return -number }
            if let events, events != 0 {
                descriptors[0].revents = events
                count += 1
            }
            if count > 0 || milliseconds == 0 { return count }
            if milliseconds > 0, MonotonicClock().now - start >= .milliseconds(Int64(milliseconds)) { return 0 }
        }
    }

    func setWaiting(_ descriptor: Int32, _ isWaiting: Bool) -> Bool {
        state.withLock { state in
            if isWaiting { state.waiting.insert(descriptor) } else { state.waiting.remove(descriptor) }
        }
        return true
    }

    /// What waits looks each millisecond, without the lock in between.
    func ioctl(_ descriptor: Int32, _ request: UInt, _ argument: UnsafeMutableRawPointer) -> Int32 {
        if let refusal = state.withLock({ $0.refusal(of: request) }) { return -refusal }
        while true {
            let result = state.withLock { state -> Int32? in
                guard state.isAlive(descriptor) else { return -ENODEV }
                state.fill()
                let result = state.answer(request, argument, descriptor)
                let isToWait = request == clibv4l2_DQBUF && result == -EAGAIN && state.waiting.contains(descriptor)
                return isToWait ? nil : result
            }
            if let result { return result }
            usleep(1000)
        }
    }
}
