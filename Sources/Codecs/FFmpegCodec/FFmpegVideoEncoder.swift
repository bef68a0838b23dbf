import CLibAV
import FFmpegSupport
import H264Bitstream
import VideoCapturing

/// Encodes frames with any video encoder of FFmpeg's libavcodec, in software or hardware, in real time.
///
/// ```swift
/// let encoder = try FFmpegVideoEncoder(FFmpegVideoEncoder.Configuration(encoder: "h264_vaapi", bitrate: 2_500_000))
/// ```
/// NV12 and I420 frames go in without a copy, as far as the encoder takes them; other formats throw `formatUnsupported`
/// (convert them with `FrameProcessing`). Frames may change their size at any time, which gives a key frame. No frame is
/// held back by the encoders in software; those in hardware hold back what their driver does.
///
/// Packets of H.264 are byte streams with the parameter sets before each IDR picture, also where the encoder gives them
/// only once. An encoder that cannot change its bitrate is opened again for a change of a fifth or more, which gives a key
/// frame.
///
/// Not to be used from two threads at once; an `EncodingConsumer` passes on what other threads ask for.
public final class FFmpegVideoEncoder: VideoEncoder {
    /// A frame that is in the encoder.
    private struct Pending {
        var time: Int64
        var timestamp: MediaTime
        var duration: Duration
        var sequenceNumber: UInt64
        var attributes: FrameAttributes
    }

    /// What hardware holds back is far less.
    private static let maximumPending = 64

    @exclusivity(unchecked) public private(set) var track: TrackDescription?
    /// What the load asks for: fewer or smaller frames.
    @exclusivity(unchecked) public private(set) var wants = CaptureWants()

    private let traits: EncoderTraits
    private let codec: Codec
    private let packets = PacketBufferPool()
    @exclusivity(unchecked) private var configuration: FFmpegVideoEncoder.Configuration
    @exclusivity(unchecked) private var context: EncoderContext?
    @exclusivity(unchecked) private var pending: [Pending] = []
    @exclusivity(unchecked) private var newBitrate: Int?
    @exclusivity(unchecked) private var isKeyFrameRequested = false
    @exclusivity(unchecked) private var lastKeyFrame: MediaTime?
    @exclusivity(unchecked) private var lastTime = Int64.min
    @exclusivity(unchecked) private var controller = LoadController(speeds: [(0, 1)])
    /// The pixels of the largest frame: of one without relief.
    @exclusivity(unchecked) private var fullPixelCount = 0
    @exclusivity(unchecked) private var completer = KeyFrameCompleter()

    /// The encoder is opened with the first frame, whose size it needs; ``failure(of:device:)`` reports whether it can be.
    ///
    /// - Throws: `CodecError` with the code `invalidConfiguration`, also for an unknown name.
    public init(_ configuration: FFmpegVideoEncoder.Configuration) throws(CodecError) {
        try configuration.validate()
        let found = try EncoderContext.find(configuration.encoder)
        self.configuration = configuration
        traits = EncoderTraits(encoder: configuration.encoder)
        codec = Codec(library: found.pointee.id)
        pending.reserveCapacity(FFmpegVideoEncoder.maximumPending)
    }

    public func requestKeyFrame() { isKeyFrameRequested = true }

    public var bitrate: Int? { newBitrate ?? configuration.bitrate }

    public func setBitrate(_ bitrate: Int) throws(CodecError) {
        var trial = configuration
        trial.bitrate = bitrate
        try trial.validate()
        // With a constant quantizer no bitrate is aimed at.
        if configuration.quality?.constantQuantizer == nil { newBitrate = bitrate }
    }

    public func encode(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) throws {
        let context = try prepareContext(for: frame, output: output)
        let rate = frame.estimatedFrameRate ?? configuration.frameRate
        // To the nearest frame, so that the rounding of timestamps moves no key frame.
        let tolerance = rate.frameInterval.nanoseconds / 2
        let isDue = lastKeyFrame.map { last in
            configuration.keyFrameInterval.map {
                frame.timestamp.nanoseconds(since: last) >= $0.nanoseconds - tolerance
            } ?? false
        }
        let mustBeKey = isKeyFrameRequested || isDue ?? true
        isKeyFrameRequested = false
        if mustBeKey { lastKeyFrame = frame.timestamp }
        let time = frame.timestamp.nanoseconds / (1_000_000_000 / Int64(traits.timeScale))
        lastTime = max(time, lastTime == .min ? .min : lastTime + 1)
        if pending.count == FFmpegVideoEncoder.maximumPending { pending.removeFirst() }
        pending.append(
            Pending(
                time: lastTime, timestamp: frame.timestamp, duration: rate.frameInterval,
                sequenceNumber: frame.sequenceNumber, attributes: frame.attributes))
        let begin = MonotonicClock().now
        while try !context.send(frame.buffer, time: lastTime, isKeyFrame: mustBeKey) {
            guard try take(from: context, output) else {
                throw CodecError(
                    .library, operation: "encode a frame", subject: configuration.encoder,
                    message: "It accepts no frame and returns no packet; its driver hangs. Use another encoder.")
            }
        }
        while try take(from: context, output) {}
        if configuration.adaptsToLoad {
            followLoad(encodeTime: MonotonicClock().now - begin, interval: rate.frameInterval, frame)
        }
    }

    private func followLoad(encodeTime: Duration, interval: Duration, _ frame: VideoFrame) {
        fullPixelCount = max(fullPixelCount, frame.width * frame.height)
        _ = controller.add(encodeTime: encodeTime, interval: interval, at: frame.timestamp)
        wants = controller.wants(frameRate: configuration.frameRate, pixelCount: fullPixelCount)
    }

    public func flush(output: (MediaPacket) throws -> Void) throws {
        // After the end was signalled the encoder takes no more frames.
        guard let context = context.take() else { return }
        lastKeyFrame = nil
        try context.sendEnd()
        while try take(from: context, output) {}
        pending.removeAll(keepingCapacity: true)
    }

    private func prepareContext(
        for frame: VideoFrame, output: (MediaPacket) throws -> Void
    ) throws -> EncoderContext {
        let shape = EncoderContext.Shape(
            pixelFormat: frame.pixelFormat, width: frame.width, height: frame.height, color: frame.color,
            pixelAspect: frame.pixelAspect)
        if let bitrate = newBitrate.take(), traits.changesBitrate || isWorthReopening(for: bitrate) {
            configuration.bitrate = bitrate
            if traits.changesBitrate { context?.setBitrate(bitrate) } else { try flush(output: output) }
        }
        if let context {
            if context.shape == shape { return context }
            try flush(output: output)
        }
        let made = try EncoderContext(configuration, shape)
        context = made
        lastKeyFrame = nil
        return made
    }

    /// A controller changes the bitrate often and by little; a key frame each time would cost more than it gains.
    private func isWorthReopening(for bitrate: Int) -> Bool {
        abs(bitrate - configuration.bitrate) * 5 >= configuration.bitrate
    }

    /// Hands out a packet; false without one.
    private func take(from context: EncoderContext, _ output: (MediaPacket) throws -> Void) throws -> Bool {
        let made = try context.receive { bytes, time, isKeyFrame in
            // Frames that an encoder drops leave their entries behind.
            let index = pending.firstIndex { $0.time >= time } ?? 0
            guard pending.indices.contains(index) else {
                throw CodecError(
                    .library, operation: "encode a frame", subject: configuration.encoder,
                    message: "It returns a packet without a frame; its driver is damaged. Use another encoder.")
            }
            let frame = pending[index]
            pending.removeSubrange(...index)
            return MediaPacket(
                data: isKeyFrame && codec == .h264
                    ? completer.complete(bytes, packets) : packets.makeBuffer(copying: bytes),
                timestamp: frame.timestamp, duration: frame.duration, isKeyFrame: isKeyFrame,
                width: context.shape.width, height: context.shape.height, sequenceNumber: frame.sequenceNumber,
                attributes: frame.attributes)
        }
        guard let made else { return false }
        // The size may have changed; a sink that is added later begins here.
        if track == nil || made.isKeyFrame { track = describe(made) }
        try output(made)
        return true
    }

    private func describe(_ packet: MediaPacket) -> TrackDescription {
        TrackDescription(
            id: 0, codec: codec,
            media: .video(
                TrackDescription.Video(
                    width: packet.width, height: packet.height, orientation: packet.attributes.orientation,
                    color: packet.attributes.color, pixelAspect: packet.attributes.pixelAspect,
                    frameRate: configuration.frameRate)),
            decoderConfiguration: completer.parameterSets.map { sets in
                sets.bytes.withUnsafeBytes { PacketBuffer(copying: $0) }
            })
    }
}

// MARK: What there is

extension FFmpegVideoEncoder {
    /// The names of the encoders that this FFmpeg has, whether or not they work on this machine; sorted.
    ///
    /// - Parameter codec: nil for all video codecs.
    public static func names(of codec: Codec?) -> [String] {
        var names: [String] = []
        var state: UnsafeMutableRawPointer?
        while let next = av_codec_iterate(&state) {
            guard av_codec_is_encoder(next) != 0, next.pointee.type == AVMEDIA_TYPE_VIDEO,
                codec == nil || Codec(library: next.pointee.id) == codec
            else { continue }
            names.append(String(cString: next.pointee.name))
        }
        return names.sorted()
    }

    /// Why an encoder does not work on this machine; nil when it does. Opens it for frames of 640x480 and closes it.
    ///
    /// - Parameters:
    ///   - encoder: FFmpeg's name.
    ///   - device: as in ``FFmpegVideoEncoder/Configuration/device``.
    public static func failure(of encoder: String, device: String? = nil) -> CodecError? {
        do throws(CodecError) {
            let found = try EncoderContext.find(encoder)
            var configuration = FFmpegVideoEncoder.Configuration(encoder: encoder, bitrate: 1_000_000)
            configuration.device = device
            let formats = EncoderContext.formats(of: found, EncoderTraits(encoder: encoder))
            var failure: CodecError?
            for format in formats.isEmpty ? [.nv12] : formats {
                do throws(CodecError) {
                    _ = try EncoderContext(
                        configuration,
                        EncoderContext.Shape(pixelFormat: format, width: 640, height: 480, color: .bt601))
                    return nil
                } catch {
                    failure = failure ?? error
                }
            }
            return failure
        } catch {
            return error
        }
    }
}

extension Codec {
    /// The codec of the library's number.
    fileprivate init(library identifier: AVCodecID) {
        switch identifier {
        case AV_CODEC_ID_MJPEG: self = .jpeg
        default: self.init(rawValue: String(cString: avcodec_get_name(identifier)))
        }
    }
}
