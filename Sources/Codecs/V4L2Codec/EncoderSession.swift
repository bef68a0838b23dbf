import CLibV4L2
import V4L2Support
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An encoder's device while it encodes frames of one shape: the kernel's stateful encoder interface. Used by one thread
/// at a time.
///
/// Destroying it stops the device; packets that it still holds are lost, unless it was drained.
final class EncoderSession {
    /// How many frames may be in the encoder: one is encoded while the next one is copied, and hardware works in stages.
    private static let frameCount = 4
    /// More than frames, so that a driver that gives parameter sets in a buffer of their own does not run dry.
    private static let packetCount = 6

    let format: EncoderFormat
    /// Whether frames are read from other drivers' memory.
    let isImporting: Bool
    /// Whether the driver makes a key frame of the next frame on request.
    let forcesKeyFrames: Bool
    /// Whether the driver places key frames by counting frames, as it is configured to when it cannot be asked for one.
    let countsOnItsOwn: Bool

    private let node: DeviceNode
    private let frames: BufferQueue
    private let packets: BufferQueue
    /// What the driver reads from, by the buffer's number: the frame and its exported memory.
    @exclusivity(unchecked) private var imported: [(pixels: PixelBuffer, memory: PixelBuffer.DMABuffer)?]

    /// Opens the device and starts both queues.
    ///
    /// - Throws: `unavailable`, `formatUnsupported`, `outOfMemory` or `library`; see ``CodecError/encoderDevice(_:_:)``.
    init(
        _ path: String, _ configuration: V4L2VideoEncoder.Configuration, _ shape: EncoderFormat.Shape,
        importing memory: PixelBuffer.DMABuffer? = nil, from pixels: PixelBuffer? = nil, calls: any DeviceCalls
    ) throws(CodecError) {
        // In local variables, so that closures may use them before the object is complete.
        let node: DeviceNode
        do throws(IoctlFailure) {
            node = try DeviceNode(opening: path, calls: calls)
        } catch {
            throw .encoderDevice(error, path)
        }
        guard node.capabilities.isMemoryToMemory else {
            throw CodecError(
                .unavailable, operation: "open the encoder", subject: path,
                message: "It is not a codec; leave the device out to find one, or choose another.")
        }
        let format = try EncoderFormat(
            setting: shape, codedFormat: configuration.codedFormat, frameRate: configuration.frameRate, of: node)
        let forcesKeyFrames = node.controlRange(EncoderControl.forceKeyFrame) != nil
        let counts = [EncoderControl.h264Period, EncoderControl.groupSize].contains { node.controlRange($0) != nil }
        do throws(IoctlFailure) {
            try EncoderControl.prepare(node, configuration, countsKeyFrames: !forcesKeyFrames)
            var frames: BufferQueue?
            if let memory, let pixels, format.canImport(memory, of: pixels) {
                // A driver that imports nothing refuses, and gets copies.
                frames = try? BufferQueue(node, .frames, memory: .imported, count: EncoderSession.frameCount)
            }
            let source: BufferQueue
            if let frames {
                source = frames
            } else {
                source = try BufferQueue(node, .frames, memory: .mapped, count: EncoderSession.frameCount)
            }
            let packets = try BufferQueue(node, .packets, memory: .mapped, count: EncoderSession.packetCount)
            for index in 0..<packets.count { try packets.queue(index) }
            try source.start()
            try packets.start()
            self.frames = source
            self.packets = packets
        } catch {
            throw .encoderDevice(error, path)
        }
        self.node = node
        self.format = format
        self.forcesKeyFrames = forcesKeyFrames
        countsOnItsOwn = counts && !forcesKeyFrames
        isImporting = frames.memory == .imported
        imported = Array(repeating: nil, count: frames.count)
    }

    /// Whether a frame can be given to the driver now.
    var hasRoom: Bool { frames.freeIndex != nil }

    /// Gives a frame to the driver: copied, or read where it is if ``isImporting``.
    ///
    /// - Parameters:
    ///   - buffer: the pixels, held until the driver has read them if they are imported.
    ///   - memory: the memory of the pixels, if they are imported.
    ///   - time: in microseconds; the packet has the same.
    ///   - isKeyFrame: whether a driver with ``forcesKeyFrames`` is to make a key frame of it.
    func submit(
        _ buffer: PixelBuffer, memory: PixelBuffer.DMABuffer?, time: Int64, isKeyFrame: Bool
    ) throws(CodecError) {
        guard let index = frames.freeIndex else {
            throw CodecError(
                .library, operation: "encode a frame", subject: node.path, message: "The driver takes no frame now.")
        }
        do throws(IoctlFailure) {
            // It is for the frame that is queued next.
            if isKeyFrame, forcesKeyFrames { try EncoderControl.forceKeyFrame(node) }
        } catch {
            throw .encoderDevice(error, node.path)
        }
        if !isImporting { try format.copy(buffer, to: frames.bytes(of: index)) }
        do throws(IoctlFailure) {
            if isImporting, let memory {
                try frames.queue(
                    index, importing: memory.descriptor, length: memory.byteCount, byteCount: format.byteCount,
                    time: time)
                imported[index] = (buffer, memory)
            } else {
                try frames.queue(index, byteCount: format.byteCount, time: time)
            }
        } catch {
            throw .encoderDevice(error, node.path)
        }
    }

    /// What ``take(_:)`` has found.
    enum Taken {
        /// Nothing is ready.
        case nothing
        /// A packet, or a buffer without one.
        case packet
        /// The drain has ended.
        case end
    }

    /// Takes the oldest packet out and the frames that the driver is done with.
    ///
    /// - Parameter body: is given the packet, whose bytes are valid during the call. Not called for empty buffers.
    func take(_ body: (BufferQueue.Returned) throws -> Void) throws -> Taken {
        do {
            try reclaimFrames()
            guard let packet = try packets.dequeue() else { return .nothing }
            // The buffer goes back to the driver, whatever becomes of the packet.
            let result = Result { if !packet.bytes.isEmpty || packet.isDamaged { try body(packet) } }
            try packets.queue(packet.index)
            try result.get()
            return packet.isLast ? .end : .packet
        } catch let failure as IoctlFailure {
            // What a queue says after its last packet.
            if failure.number == EPIPE { return .end }
            throw CodecError.encoderDevice(failure, node.path)
        }
    }

    /// Waits until a packet is ready, or a frame can be given to the driver if `forRoom`.
    ///
    /// - Returns: false when the time has passed first.
    func wait(forRoom: Bool, until deadline: MediaTime) throws(CodecError) -> Bool {
        let events = Int16(POLLIN) | (forRoom ? Int16(POLLOUT) : 0)
        let left = deadline.nanoseconds(since: MonotonicClock().now)
        guard left > 0 else { return false }
        let found = node.calls.waitForInput(
            node.descriptor, events: events, stop: -1, milliseconds: Int32(clamping: (left + 999_999) / 1_000_000))
        guard found & Int16(POLLERR | POLLHUP) != 0 else { return found != 0 }
        do throws(IoctlFailure) {
            try node.checkPresence()
        } catch {
            throw .encoderDevice(error, node.path)
        }
        // The driver has stopped; what it says of its queues is more exact.
        guard found & events == 0 else { return true }
        throw .encoderDevice(IoctlFailure(request: "poll", number: EIO), node.path)
    }

    /// Aims at a bitrate from the next frame on, where the driver can.
    func setBitrate(_ bitrate: Int) throws(CodecError) {
        do throws(IoctlFailure) {
            try node.setControl(EncoderControl.bitrate, to: Int64(bitrate))
        } catch {
            throw .encoderDevice(error, node.path)
        }
    }

    /// Lets the driver place key frames by a number of frames.
    func setKeyFrameInterval(frames count: Int64) throws(CodecError) {
        do throws(IoctlFailure) {
            try EncoderControl.setKeyFrameInterval(node, frames: count)
        } catch {
            throw .encoderDevice(error, node.path)
        }
    }

    /// Asks the driver to encode what it has and to mark the last packet.
    ///
    /// - Returns: false for a driver that cannot; then all packets have come when none is missing.
    func beginDrain() throws(CodecError) -> Bool {
        var command = v4l2_encoder_cmd()
        command.cmd = UInt32(V4L2_ENC_CMD_STOP)
        do throws(IoctlFailure) {
            try node.request(.encoderCommand, &command)
            return true
        } catch {
            if error.isUnsupported { return false }
            throw .encoderDevice(error, node.path)
        }
    }

    /// Begins a stream that can be decoded without the one before ("Reset" of the stateful encoder interface): how a key
    /// frame comes from a driver that has no control for it. What was not drained is lost.
    func restart() throws(CodecError) {
        frames.stop()
        packets.stop()
        releaseImports { _ in true }
        do throws(IoctlFailure) {
            for index in 0..<packets.count { try packets.queue(index) }
            try frames.start()
            try packets.start()
        } catch {
            throw .encoderDevice(error, node.path)
        }
    }

    private func reclaimFrames() throws(IoctlFailure) {
        while !frames.isIdle, let frame = try frames.dequeue() { releaseImports { $0 == frame.index } }
    }

    private func releaseImports(_ isReleased: (Int) -> Bool) {
        guard isImporting else { return }
        for index in imported.indices where isReleased(index) {
            // Ends the device's reads, so that the memory may be written again.
            imported[index]?.pixels.withUnsafePlanes { _ in }
            imported[index] = nil
        }
    }
}

/// The controls of encoders (`V4L2_CID_MPEG_VIDEO_…`).
enum EncoderControl {
    static let bitrate = UInt32(V4L2_CID_MPEG_VIDEO_BITRATE)
    static let forceKeyFrame = UInt32(V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME)
    static let h264Period = UInt32(V4L2_CID_MPEG_VIDEO_H264_I_PERIOD)
    static let groupSize = UInt32(V4L2_CID_MPEG_VIDEO_GOP_SIZE)

    /// Sets what holds for a whole stream. Drivers have different ones of these controls, and each works without.
    ///
    /// - Parameter countsKeyFrames: whether the driver is to place key frames by counting frames; otherwise as seldom as it
    ///   can, since they are asked for by the capture's time.
    static func prepare(
        _ node: DeviceNode, _ configuration: V4L2VideoEncoder.Configuration, countsKeyFrames: Bool
    ) throws(IoctlFailure) {
        try node.setControl(UInt32(V4L2_CID_MPEG_VIDEO_FRAME_RC_ENABLE), to: 1)
        try node.setControl(bitrate, to: Int64(configuration.bitrate))
        // A receiver may join at each key frame.
        try node.setControl(UInt32(V4L2_CID_MPEG_VIDEO_REPEAT_SEQ_HEADER), to: 1)
        try node.setControl(
            UInt32(V4L2_CID_MPEG_VIDEO_HEADER_MODE),
            to: Int64(V4L2_MPEG_VIDEO_HEADER_MODE_JOINED_WITH_1ST_FRAME.rawValue))
        // Each holds a frame back.
        try node.setControl(UInt32(V4L2_CID_MPEG_VIDEO_B_FRAMES), to: 0)
        try setKeyFrameInterval(
            node, frames: countsKeyFrames ? configuration.keyFrameIntervalInFrames : Int64(Int32.max))
    }

    static func setKeyFrameInterval(_ node: DeviceNode, frames count: Int64) throws(IoctlFailure) {
        try node.setControl(h264Period, to: count)
        try node.setControl(groupSize, to: count)
    }

    static func forceKeyFrame(_ node: DeviceNode) throws(IoctlFailure) {
        var argument = v4l2_ext_control()
        argument.id = forceKeyFrame
        argument.value = 1
        try node.requestControl(.setControls, &argument)
    }
}
