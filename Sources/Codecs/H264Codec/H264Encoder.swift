import VideoCapturing

/// Encodes frames as H.264 (ITU-T H.264, Constrained Baseline) with openh264, in real time and without delay.
///
/// NV12 and I420 frames are encoded; other formats throw `formatUnsupported` (convert them with `FrameProcessing`). Sides
/// are even in H.264: an odd last column or row is left out. Frames may change their size at any time, which gives a key
/// frame with new parameter sets, and so does a change of color matrix or range.
///
/// A packet is one access unit as a byte stream (annex B) with start codes of four bytes; key frames begin with their
/// parameter sets. The track's decoder configuration is `avcC`, of the last key frame. Parameter sets state the frame rate,
/// color matrix and range; orientation is for the container.
///
/// With ``H264Encoder/Configuration/isScreenContent``, a frame in which nothing has changed is not encoded, unless it is a
/// repeat or the picture is still being refined; for that the encoder wants the last frame again
/// (`CaptureWants.minimumFrameRate`).
///
/// Not to be used from two threads at once; an `EncodingConsumer` passes on what other threads ask for.
public final class H264Encoder: VideoEncoder {
    /// How often, and how many times, a screen that does not change any more is encoded again, until it is sharp.
    static let refinementRate: FrameRate = 12
    static let refinementCount = 12
    /// By how much coarser a frame is encoded for which openh264 has no room: about half as large.
    private static let quantizerStep = 6

    private let packets = PacketBufferPool()
    @exclusivity(unchecked) private var newBitrate: Int?
    @exclusivity(unchecked) private var isKeyFrameRequested = false

    @exclusivity(unchecked) private var configuration: H264Encoder.Configuration
    @exclusivity(unchecked) private var library: H264EncoderLibrary?
    @exclusivity(unchecked) private var assembler = PacketAssembler()
    @exclusivity(unchecked) private var statement: PacketAssembler.Statement?
    @exclusivity(unchecked) private var timing: EncoderTiming
    @exclusivity(unchecked) private var controller: LoadController
    @exclusivity(unchecked) private var lastKeyFrame: MediaTime?
    @exclusivity(unchecked) private var refinementsLeft = 0
    @exclusivity(unchecked) private var unchanged: UInt64 = 0
    @exclusivity(unchecked) private var notice: String?
    /// Whether the user knows that the quantizers are coarser than asked for.
    @exclusivity(unchecked) private var hasReportedQuantizer = false
    /// The pixels of the largest frame: of one without relief.
    @exclusivity(unchecked) private var fullPixelCount = 0

    /// Describes the packets, as of the last key frame; nil before the first.
    @exclusivity(unchecked) public private(set) var track: TrackDescription?
    /// What the load asks for: fewer or smaller frames; and the last frame again, while a screen is still to be refined.
    @exclusivity(unchecked) public private(set) var wants = CaptureWants(sizeAlignment: 2)

    /// An encoder with these settings; openh264 is set up with the first frame, whose size it needs.
    ///
    /// - Throws: `CodecError` with the code `invalidConfiguration`.
    public init(_ configuration: H264Encoder.Configuration) throws(CodecError) {
        try configuration.validate()
        self.configuration = configuration
        timing = EncoderTiming(nominal: configuration.frameRate)
        controller = LoadController(speeds: [(0, 1)])
    }

    /// Aims at another bitrate, in bits per second, from the next frame on. Throws `invalidConfiguration` for one
    /// that is out of range.
    public func setBitrate(_ bitrate: Int) throws(CodecError) {
        try H264Encoder.Configuration.check(
            "bitrate in bits per second", bitrate, H264Encoder.Configuration.bitrates)
        newBitrate = bitrate
    }

    public var bitrate: Int? { newBitrate ?? configuration.bitrate }

    public func requestKeyFrame() { isKeyFrameRequested = true }

    public var framesUnchanged: UInt64 { unchanged }

    /// That the quantizers are coarser than asked for, once.
    public func takeNotice() -> String? { notice.take() }

    public func encode(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) throws {
        guard frame.pixelFormat == .nv12 || frame.pixelFormat == .i420 else {
            throw CodecError(
                .formatUnsupported, operation: "encode a frame", subject: "H.264",
                message: "H.264 encodes NV12 and I420; convert \(frame.pixelFormat) frames with FrameProcessing first.")
        }
        if let bitrate = newBitrate.take() { configuration.bitrate = bitrate }
        if isUnchanged(frame) {
            unchanged += 1
            return
        }
        let slot = timing.place(frame)
        let statement = prepareStatement(for: frame)
        let begin = MonotonicClock().now
        let (library, hasPacket) = try encode(frame)
        // Rate control may leave a frame out: then there is no packet, which is no error, and a key frame is still due.
        if hasPacket {
            let isKeyFrame = library.isKeyFrame
            let (data, isDroppable) = try assemble(library, statement)
            if isKeyFrame {
                lastKeyFrame = frame.timestamp
                isKeyFrameRequested = false
                track = describe(frame, library.size)
            }
            try output(
                MediaPacket(
                    data: data, timestamp: frame.timestamp, duration: slot.nominalDuration, isKeyFrame: isKeyFrame,
                    isDroppable: isDroppable, width: library.size.width, height: library.size.height,
                    sequenceNumber: frame.sequenceNumber, attributes: frame.attributes))
        }
        if configuration.adaptsToLoad {
            fullPixelCount = max(fullPixelCount, frame.width * frame.height)
            _ = controller.add(
                encodeTime: MonotonicClock().now - begin, interval: slot.nominalDuration, at: frame.timestamp)
        }
        updateWants()
    }

    /// Whether a screen's frame has nothing that is not encoded yet.
    private func isUnchanged(_ frame: VideoFrame) -> Bool {
        guard configuration.isScreenContent else { return false }
        guard frame.isRepeat || frame.damage == [] else {
            refinementsLeft = H264Encoder.refinementCount
            return false
        }
        if refinementsLeft > 0 {
            refinementsLeft -= 1
            return false
        }
        return !frame.isRepeat && !isKeyFrameRequested && !isKeyFrameDue(frame)
    }

    private func isKeyFrameDue(_ frame: VideoFrame) -> Bool {
        guard let lastKeyFrame else { return true }
        guard let interval = configuration.keyFrameInterval else { return false }
        // To the nearest frame, so that the rounding of timestamps moves no key frame.
        let tolerance = timing.nominalDuration(of: frame).nanoseconds / 2
        return frame.timestamp.nanoseconds(since: lastKeyFrame) >= interval.nanoseconds - tolerance
    }

    /// Encodes a frame, with a coarser quantizer from then on where openh264 has no room for it.
    private func encode(_ frame: VideoFrame) throws(CodecError) -> (H264EncoderLibrary, hasPacket: Bool) {
        let coarsest = configuration.maximumQuantizer
        while true {
            let library = try prepareLibrary(for: frame)
            do throws(CodecError) {
                let mustBeKey = isKeyFrameRequested || isKeyFrameDue(frame)
                let hasPacket = try library.encode(frame, forcesKeyFrame: mustBeKey)
                // Any quantizer of the range is as asked for.
                if configuration.maximumQuantizer > coarsest, !hasReportedQuantizer {
                    hasReportedQuantizer = true
                    notice =
                        "The pictures are too detailed for openh264 at the quantizer \(coarsest), so they are encoded at "
                        + "\(configuration.maximumQuantizer) from here on; other encoders, such as libx264, have no such limit."
                }
                return (library, hasPacket)
            } catch {
                // Its buffer holds no frame that is larger than the pixels are, as of noise; it reports that as a lack of
                // memory, and is of no use afterwards.
                let limit = H264Encoder.Configuration.quantizers.upperBound
                guard error.code == .outOfMemory, configuration.minimumQuantizer < limit else { throw error }
                let isWithinRange = configuration.minimumQuantizer < coarsest
                let next = configuration.minimumQuantizer + H264Encoder.quantizerStep
                configuration.minimumQuantizer = isWithinRange ? min(coarsest, max(20, next)) : min(limit, next)
                configuration.maximumQuantizer = max(configuration.maximumQuantizer, configuration.minimumQuantizer)
                self.library = nil
            }
        }
    }

    private func prepareLibrary(for frame: VideoFrame) throws(CodecError) -> H264EncoderLibrary {
        let size = PixelSize(width: frame.width & ~1, height: frame.height & ~1)
        if let library, library.size == size {
            try library.setBitrate(configuration.bitrate)
            try library.setFrameRate(timing.rate)
            return library
        }
        // The old one's memory first.
        library = nil
        let made = try H264EncoderLibrary(
            configuration, pictureSize: PixelSize(width: frame.width, height: frame.height), size: size,
            frameRate: timing.rate)
        library = made
        isKeyFrameRequested = true
        return made
    }

    /// What parameter sets state; a higher rate waits for the next key frame, another color or shape of the
    /// pixels asks for one.
    private func prepareStatement(for frame: VideoFrame) -> PacketAssembler.Statement {
        if let statement, statement.holds(frameRate: timing.rate, of: frame) { return statement }
        if let statement, !statement.describes(frame) { isKeyFrameRequested = true }
        let made = PacketAssembler.Statement(
            frameRate: timing.rate, color: frame.color, pixelAspect: frame.pixelAspect)
        statement = made
        return made
    }

    private func assemble(
        _ library: H264EncoderLibrary, _ statement: PacketAssembler.Statement
    ) throws -> (data: PacketBuffer, isDroppable: Bool) {
        if !library.isKeyFrame, library.layerCount == 1 {
            let bytes = library.layer(0)
            // nal_ref_idc of the first slice, after its start code.
            return (packets.makeBuffer(copying: bytes), bytes.count > 4 && bytes[4] & 0x60 == 0)
        }
        assembler.begin(statement)
        for index in 0..<library.layerCount { try assembler.append(library.layer(index)) }
        if library.isKeyFrame { try assembler.finishKeyFrame() }
        return (assembler.bytes.withUnsafeBytes { packets.makeBuffer(copying: $0) }, false)
    }

    private func describe(_ frame: VideoFrame, _ size: PixelSize) -> TrackDescription {
        TrackDescription(
            id: 0, codec: .h264,
            media: .video(
                TrackDescription.Video(
                    width: size.width, height: size.height, orientation: frame.orientation, color: frame.color,
                    pixelAspect: frame.pixelAspect, frameRate: configuration.frameRate)),
            decoderConfiguration: assembler.configuration)
    }

    private func updateWants() {
        wants =
            configuration.adaptsToLoad
            ? controller.wants(frameRate: configuration.frameRate, pixelCount: fullPixelCount) : CaptureWants()
        wants.sizeAlignment = 2
        if refinementsLeft > 0 { wants.minimumFrameRate = min(H264Encoder.refinementRate, configuration.frameRate) }
    }
}
