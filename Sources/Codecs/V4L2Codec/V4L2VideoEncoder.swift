import H264Bitstream
import V4L2Support
public import VideoCapturing

/// Encodes frames with an encoder that the kernel offers as a V4L2 device (memory to memory, the stateful encoder
/// interface), such as those of Raspberry Pis up to the 4, and of many boards with a system on a chip.
///
/// ```swift
/// let encoder = try V4L2VideoEncoder(V4L2VideoEncoder.Configuration(bitrate: 2_500_000, purpose: .live))
/// ```
/// NV12 and I420 frames are encoded, as far as the driver takes them; other formats throw `formatUnsupported` (convert them
/// with `FrameProcessing`). Frames of a camera are read where its driver has put them (dma-buf), if both drivers agree on
/// the layout; others are copied once, without an odd last column or row. Frames may change their size at any time, which
/// gives a key frame.
///
/// The bitrate and the interval of key frames change at run time, without a key frame. A key frame on request comes of the
/// driver's control for it; a driver without one is drained and begins its stream again.
///
/// Packets of H.264 are byte streams with the parameter sets before each IDR picture, also where the driver gives them only
/// once. A driver works while ``encode(_:output:)`` is not called, so that packets may come with later frames, or with
/// ``flush(output:)``; see ``V4L2VideoEncoder/Configuration/isLive``.
///
/// A device that is removed, or whose driver refuses or hangs, is a `CodecError` with the node as its subject; encoding
/// another frame then opens the device again, or the next one that encodes the format.
///
/// Not to be used from two threads at once; an `EncodingConsumer` passes on what other threads ask for.
public final class V4L2VideoEncoder: VideoEncoder {
    /// A frame that is in the encoder.
    private struct Pending {
        var time: Int64
        var timestamp: MediaTime
        var duration: Duration
        var sequenceNumber: UInt64
        var attributes: FrameAttributes
    }

    /// How long a driver may do nothing.
    static let timeout = Duration.seconds(2)
    /// What drivers hold back is far less.
    private static let maximumPending = 64

    @exclusivity(unchecked) public private(set) var track: TrackDescription?
    /// What the load asks for: fewer or smaller frames.
    @exclusivity(unchecked) public private(set) var wants = CaptureWants(sizeAlignment: 2)

    private let calls: any DeviceCalls
    private let packets = PacketBufferPool()
    @exclusivity(unchecked) private var configuration: V4L2VideoEncoder.Configuration
    @exclusivity(unchecked) private var session: EncoderSession?
    @exclusivity(unchecked) private var pending: [Pending] = []
    @exclusivity(unchecked) private var newBitrate: Int?
    @exclusivity(unchecked) private var isIntervalNew = false
    @exclusivity(unchecked) private var isKeyFrameRequested = false
    @exclusivity(unchecked) private var lastKeyFrame: MediaTime?
    @exclusivity(unchecked) private var lastTime: Int64 = 0
    @exclusivity(unchecked) private var completer = KeyFrameCompleter()
    @exclusivity(unchecked) private var controller = LoadController(speeds: [(0, 1)])
    @exclusivity(unchecked) private var fullPixelCount = 0
    /// Whether frames are copied for good: imports were refused, or came and went.
    @exclusivity(unchecked) private var hasGivenUpImporting = false

    /// How many packets the driver has marked as damaged; a key frame follows each.
    @exclusivity(unchecked) public private(set) var damagedPacketCount: UInt64 = 0
    /// How many frames the device has read where the camera's driver has put them, without a copy.
    @exclusivity(unchecked) public private(set) var importedFrameCount: UInt64 = 0

    /// The device is opened with the first frame, whose size it needs; ``failure(of:codedFormat:)`` tells whether it can be.
    ///
    /// - Throws: `CodecError` with the code `invalidConfiguration`.
    public convenience init(_ configuration: V4L2VideoEncoder.Configuration) throws(CodecError) {
        try self.init(configuration, calls: SystemDeviceCalls())
    }

    init(_ configuration: V4L2VideoEncoder.Configuration, calls: any DeviceCalls) throws(CodecError) {
        try configuration.validate()
        self.configuration = configuration
        self.calls = calls
        pending.reserveCapacity(V4L2VideoEncoder.maximumPending)
    }

    public func requestKeyFrame() { isKeyFrameRequested = true }

    public func setBitrate(_ bitrate: Int) throws(CodecError) {
        var trial = configuration
        trial.bitrate = bitrate
        try trial.validate()
        newBitrate = bitrate
    }

    /// Changes the longest time between key frames from the next frame on.
    ///
    /// - Parameter interval: nil for as few as the driver allows.
    /// - Throws: `CodecError` with the code `invalidConfiguration` for a time that is not above zero.
    public func setKeyFrameInterval(_ interval: Duration?) throws(CodecError) {
        var trial = configuration
        trial.keyFrameInterval = interval
        try trial.validate()
        configuration = trial
        isIntervalNew = true
    }

    public func encode(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) throws {
        do {
            try encodeOnDevice(frame, output: output)
        } catch let error as CodecError where error.code != .invalidConfiguration {
            // Whatever it was, the device is opened again for the next frame.
            end()
            throw error
        }
    }

    public func flush(output: (MediaPacket) throws -> Void) throws {
        guard let session else { return }
        defer { end() }
        try drain(session, output)
    }

    private func encodeOnDevice(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) throws {
        let memory = hasGivenUpImporting ? nil : exportedMemory(of: frame.buffer)
        let session = try prepareSession(for: frame, memory, output)
        if let bitrate = newBitrate.take() {
            configuration.bitrate = bitrate
            try session.setBitrate(bitrate)
        }
        let rate = frame.estimatedFrameRate ?? configuration.frameRate
        let mustBeKey = try placeKeyFrame(frame, rate, session, output)
        if isIntervalNew {
            isIntervalNew = false
            // Others are asked for each key frame.
            if !session.forcesKeyFrames {
                try session.setKeyFrameInterval(frames: configuration.keyFrameIntervalInFrames)
            }
        }
        let begin = MonotonicClock().now
        while !session.hasRoom {
            guard try wait(session, forRoom: true, until: begin.advanced(by: V4L2VideoEncoder.timeout)) else {
                throw V4L2VideoEncoder.hang("It takes no frame and gives no packet", configuration)
            }
            while try take(session, output) == .packet {}
        }
        let time = max(frame.timestamp.nanoseconds / 1000, lastTime + 1)
        lastTime = time
        do throws(CodecError) {
            try session.submit(frame.buffer, memory: memory, time: time, isKeyFrame: mustBeKey)
        } catch {
            guard session.isImporting, error.code == .library else { throw error }
            // Not every device reads every other one's memory, which only trying tells.
            hasGivenUpImporting = true
            try flush(output: output)
            return try encodeOnDevice(frame, output: output)
        }
        if session.isImporting { importedFrameCount &+= 1 }
        if pending.count == V4L2VideoEncoder.maximumPending { pending.removeFirst() }
        pending.append(
            Pending(
                time: time, timestamp: frame.timestamp, duration: rate.frameInterval,
                sequenceNumber: frame.sequenceNumber, attributes: frame.attributes))
        while try take(session, output) == .packet {}
        guard configuration.isLive else { return }
        let deadline = begin.advanced(by: rate.frameInterval * 3 / 4)
        while !pending.isEmpty, try wait(session, forRoom: false, until: deadline) {
            while try take(session, output) == .packet {}
        }
        fullPixelCount = max(fullPixelCount, frame.width * frame.height)
        _ = controller.add(
            encodeTime: MonotonicClock().now - begin, interval: rate.frameInterval, at: frame.timestamp)
        wants = controller.wants(frameRate: configuration.frameRate, pixelCount: fullPixelCount)
        wants.sizeAlignment = 2
    }

    /// Whether the driver is to make a key frame of this frame; begins the stream again where it cannot be told.
    private func placeKeyFrame(
        _ frame: VideoFrame, _ rate: FrameRate, _ session: EncoderSession, _ output: (MediaPacket) throws -> Void
    ) throws -> Bool {
        // To the nearest frame, so that the rounding of timestamps moves no key frame.
        let tolerance = rate.frameInterval.nanoseconds / 2
        let isRequested = isKeyFrameRequested
        isKeyFrameRequested = false
        guard let last = lastKeyFrame else {
            // Every stream begins with one.
            lastKeyFrame = frame.timestamp
            return true
        }
        let isDue =
            configuration.keyFrameInterval.map { interval in
                frame.timestamp.nanoseconds(since: last) >= interval.nanoseconds - tolerance
            } ?? false
        let mustBeKey = isRequested || isDue && !session.countsOnItsOwn
        guard mustBeKey else { return false }
        lastKeyFrame = frame.timestamp
        guard !session.forcesKeyFrames else { return true }
        try drain(session, output)
        try session.restart()
        return true
    }

    private func prepareSession(
        for frame: VideoFrame, _ memory: PixelBuffer.DMABuffer?, _ output: (MediaPacket) throws -> Void
    ) throws -> EncoderSession {
        // An odd last column or row is left out: sides are even in 4:2:0.
        var shape = EncoderFormat.Shape(
            pixelFormat: frame.pixelFormat, width: frame.width & ~1, height: frame.height & ~1, color: frame.color,
            importedBytesPerRow: memory?.bytesPerRow)
        if let session {
            if session.format.shape == shape { return session }
            if session.isImporting, memory == nil {
                // A stream of both kinds of frames would be begun again with each change.
                hasGivenUpImporting = true
            }
            if !session.isImporting {
                // Copies do not depend on where a frame lies.
                shape.importedBytesPerRow = session.format.shape.importedBytesPerRow
                if session.format.shape == shape { return session }
                shape.importedBytesPerRow = memory?.bytesPerRow
            }
            try flush(output: output)
        }
        let path = try configuration.device ?? V4L2VideoEncoder.device(configuration, shape, calls)
        let made = try EncoderSession(path, configuration, shape, importing: memory, from: frame.buffer, calls: calls)
        session = made
        lastKeyFrame = nil
        return made
    }

    /// The memory of a frame that a device can read; nil for memory of our own, and for frames in several pieces of memory.
    private func exportedMemory(of buffer: PixelBuffer) -> PixelBuffer.DMABuffer? {
        do {
            guard let memory = try buffer.dmaBuffers, memory.count == 1 else { return nil }
            return memory[0]
        } catch {
            // A driver that does not export is not asked again.
            hasGivenUpImporting = true
            return nil
        }
    }

    /// Takes the packets out that the driver still has.
    private func drain(_ session: EncoderSession, _ output: (MediaPacket) throws -> Void) throws {
        let knowsEnd = try session.beginDrain()
        while knowsEnd || !pending.isEmpty {
            switch try take(session, output) {
            case .end: return pending.removeAll(keepingCapacity: true)
            case .packet: continue
            case .nothing: break
            }
            let deadline = MonotonicClock().now.advanced(by: V4L2VideoEncoder.timeout)
            guard try wait(session, forRoom: false, until: deadline) else {
                throw V4L2VideoEncoder.hang("It does not end its stream", configuration)
            }
        }
    }

    private func wait(_ session: EncoderSession, forRoom: Bool, until deadline: MediaTime) throws(CodecError) -> Bool {
        try session.wait(forRoom: forRoom, until: deadline)
    }

    private func take(
        _ session: EncoderSession, _ output: (MediaPacket) throws -> Void
    ) throws -> EncoderSession.Taken {
        try session.take { packet in
            guard !packet.isDamaged else {
                damagedPacketCount &+= 1
                isKeyFrameRequested = true
                return
            }
            let isH264 = configuration.codedFormat == V4L2EncoderDevice.h264
            guard let isKeyFrame = isKeyFrame(packet) else { return }
            // Frames that an encoder drops leave their entries behind.
            guard let index = pending.firstIndex(where: { $0.time >= packet.time }) else { return }
            let frame = pending[index]
            pending.removeSubrange(...index)
            if isKeyFrame { lastKeyFrame = max(lastKeyFrame ?? frame.timestamp, frame.timestamp) }
            let made = MediaPacket(
                data: isH264 && isKeyFrame
                    ? completer.complete(packet.bytes, packets) : packets.makeBuffer(copying: packet.bytes),
                timestamp: frame.timestamp, duration: frame.duration, isKeyFrame: isKeyFrame,
                width: session.format.shape.width, height: session.format.shape.height,
                sequenceNumber: frame.sequenceNumber, attributes: frame.attributes)
            if isKeyFrame { track = describe(made) }
            try output(made)
        }
    }

    /// Whether decoding can begin at a packet; nil for a packet without a picture. Not every driver marks key frames, so
    /// that the packets of known formats are looked at.
    private func isKeyFrame(_ packet: BufferQueue.Returned) -> Bool? {
        switch configuration.codedFormat {
        case V4L2EncoderDevice.h264: completer.slice(in: packet.bytes).map { $0 == .idrSlice }
        // V4L2_FWHT_FL_I_FRAME of the header's flags, which are big-endian.
        case "FWHT": packet.bytes.count > 22 && packet.bytes[22] & 4 != 0
        default: packet.isKeyFrame
        }
    }

    /// Closes the device.
    private func end() {
        session = nil
        lastKeyFrame = nil
        pending.removeAll(keepingCapacity: true)
    }

    private func describe(_ packet: MediaPacket) -> TrackDescription {
        TrackDescription(
            id: 0, codec: configuration.codec,
            media: .video(
                TrackDescription.Video(
                    width: packet.width, height: packet.height, orientation: packet.attributes.orientation,
                    color: packet.attributes.color, pixelAspect: packet.attributes.pixelAspect,
                    frameRate: configuration.frameRate)),
            decoderConfiguration: completer.parameterSets.map { sets in
                sets.bytes.withUnsafeBytes { PacketBuffer(copying: $0) }
            })
    }

    private static func hang(_ what: String, _ configuration: V4L2VideoEncoder.Configuration) -> CodecError {
        CodecError(
            .library, operation: "encode a frame", subject: configuration.device ?? "V4L2",
            message: "\(what) for \(timeout); its driver hangs. Use another encoder, or restart the machine.")
    }
}

extension V4L2VideoEncoder.Configuration {
    fileprivate var codec: Codec {
        codedFormat == V4L2EncoderDevice.h264 ? .h264 : Codec(rawValue: codedFormat.description.lowercased())
    }
}
