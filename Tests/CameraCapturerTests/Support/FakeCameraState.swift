import CLibV4L2
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The memory of a buffer: as long as the driver has it, or somebody maps it.
final class FakeMemory {
    let address: UnsafeMutableRawPointer
    let byteCount: Int

    init(byteCount: Int) {
        self.byteCount = byteCount
        address = .allocate(byteCount: max(1, byteCount), alignment: 4096)
        address.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    }

    deinit { address.deallocate() }
}

/// What a ``FakeCamera`` is and has, and its stream.
struct FakeCameraState {
    /// A buffer with a picture that nobody has taken yet.
    struct Filled {
        var index: Int
        var sequence: UInt32
        var time: MediaTime
        var byteCount: Int
    }

    var path: String
    var modes = [FakeCamera.Mode(fourCC: .nv12, width: 64, height: 48, rate: 100)]
    var isPlugged = true
    /// What `open` answers instead, if not zero.
    var openError: Int32 = 0
    var refusals: [FakeCamera.Refusal] = []
    /// How often each request was made.
    var calls: [UInt: Int] = [:]
    /// What it is the driver of.
    var driver = "fake"
    /// The descriptors whose `VIDIOC_DQBUF` waits.
    var waiting: Set<Int32> = []
    /// Frames are not made.
    var isSilent = false
    /// Whether it makes frames at their times, and loses those for which it has no buffer, as a real camera does. Off, a
    /// frame is made once the one before it was taken, with the time at which it was due: a busy machine loses none.
    var losesFrames = false
    /// Changes each buffer before it is given out.
    var alter: ((inout v4l2_buffer) -> Void)?
    /// Written into each buffer; else it begins with the frame's number and is the number's lowest byte throughout.
    var content: [UInt8]?
    /// As ``content``, by the frame's number since the stream began.
    var contents: ((UInt32) -> [UInt8])?
    /// Added to what `poll` gives for the camera.
    var extraEvents: Int16 = 0
    /// The length of the buffers, where it is not that of a picture.
    var bufferLength: Int?
    /// `V4L2_FIELD_…` of its frames.
    var field = V4L2_FIELD_NONE.rawValue
    /// The rectangles that `VIDIOC_G_SELECTION` reports, by their targets; only those can be set.
    var selections: [UInt32: v4l2_rect] = [:]
    /// What `VIDIOC_CROPCAP` says of the pixels of a grabber's signal: their height by their width; nil for a webcam.
    var signalAspect: v4l2_fract?
    /// The controls as they are, and as they are after power has come.
    var controls = FakeControlDriver.Node()
    var firstControls = FakeControlDriver.Node()
    /// Frames that were given out by `VIDIOC_DQBUF`.
    var framesGiven = 0
    /// Frames that were due while the driver had no buffer.
    var overruns = 0

    var current = FakeCamera.Mode(fourCC: .nv12, width: 64, height: 48, rate: 100)
    /// The open descriptors, and in which life of the camera they were opened.
    var descriptors: [Int32: Int] = [:]
    /// How often it was unplugged.
    var generation = 0
    /// Who has the buffers.
    var owner: Int32 = -1
    var buffers: [FakeMemory] = []
    var mapped: [UnsafeMutableRawPointer: FakeMemory] = [:]
    var queued: [Int] = []
    var filled: [Filled] = []
    var isStreaming = false
    var sequence: UInt32 = 0
    /// The moments of frames that have passed since the stream began.
    var moments: Int64 = 0
    var streamStart = MediaTime.zero

    init(path: String) { self.path = path }

    func isAlive(_ descriptor: Int32) -> Bool { isPlugged && descriptors[descriptor] == generation }

    /// Counts a call; the number that it is to be refused with, if it is.
    mutating func refusal(of request: UInt) -> Int32? {
        calls[request, default: 0] += 1
        guard let index = refusals.firstIndex(where: { $0.request == request && $0.times > 0 }) else { return nil }
        if refusals[index].after > 0 {
            refusals[index].after -= 1
            return nil
        }
        if refusals[index].times < .max { refusals[index].times -= 1 }
        return refusals[index].number
    }

    mutating func forgetStream() {
        owner = -1
        isStreaming = false
        queued = []
        filled = []
        buffers = []
    }

    /// What `poll` finds.
    mutating func readiness(_ descriptor: Int32, _ asked: Int16) -> Int16 {
        guard isAlive(descriptor) else { return Int16(POLLERR | POLLHUP) | asked & Int16(POLLPRI) }
        guard asked & Int16(POLLIN) != 0 else { return extraEvents }
        guard isStreaming else { return Int16(POLLERR) | extraEvents }
        return (filled.isEmpty ? 0 : Int16(POLLIN)) | extraEvents
    }

    /// Takes the pictures of all moments that have passed.
    mutating func fill() {
        guard isStreaming, isPlugged else { return }
        let due = current.rate.frameIndex(at: MonotonicClock().now - streamStart)
        while moments < due, losesFrames || isSilent || filled.isEmpty {
            moments += 1
            guard !isSilent else { continue }
            sequence &+= 1
            guard !queued.isEmpty else {
                overruns += 1
                continue
            }
            let index = queued.removeFirst()
            let memory = buffers[index]
            var byteCount = FakeCameraState.byteCount(current)
            if let content = contents?(sequence - 1) ?? content {
                byteCount = content.count
                content.withUnsafeBytes {
                    memory.address.copyMemory(from: $0.baseAddress!, byteCount: min($0.count, memory.byteCount))
                }
            } else {
                memset(memory.address, Int32(UInt8(truncatingIfNeeded: sequence)), memory.byteCount)
                memory.address.storeBytes(of: sequence, as: UInt32.self)
            }
            filled.append(
                Filled(
                    index: index, sequence: sequence - 1,
                    time: streamStart.advanced(by: current.rate.time(ofFrame: moments)), byteCount: byteCount))
        }
    }
}
