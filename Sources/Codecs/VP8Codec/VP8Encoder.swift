import CLibVPX
import VideoCapturing

/// Encodes frames as VP8 (RFC 6386) with libvpx, in real time.
///
/// NV12 and I420 frames go into libvpx as they are; other formats throw `formatUnsupported` (convert them with
/// `FrameProcessing`). VP8 carries neither orientation nor the shape of pixels: packets bring both for the container, and
/// most players need pixels that are upright and square. It has one color, BT.601 in limited range, which all decoders
/// assume (`EncoderEntry.encodedColor`): frames in another one look right to the few players that obey the container. Frames may change their size at any time, which gives a key frame.
///
/// With a ``VP8Encoder/Configuration/screenContentMode``, only the parts that a frame's damage names are coded, and those that are not
/// sharp yet. A frame in which nothing has changed is not encoded at all, unless it is a repeat, which keeps the
/// viewers' connection alive with some hundred bytes. While anything is still to be refined, the encoder wants the
/// last frame again (`CaptureWants.minimumFrameRate`); see ``wants``.
///
/// Not to be used from two threads at once; an `EncodingConsumer` passes on what other threads ask for.
public final class VP8Encoder: VideoEncoder {
    /// How often a picture that is not sharp yet is wanted again. Where the bitrate is scarce, libvpx makes it legible
    /// in ten frames, since it refreshes a tenth of it in each; that must take less than a second.
    static let refinementRate: FrameRate = 12

    /// At the lower end blocks no longer show edges, and the filter is turned off (libvpx lets it rest from 6 of
    /// 127 on); above the upper one it is turned on again.
    static let quantizersOfDeblocking = 5...10

    private let packets = PacketBufferPool()
    @exclusivity(unchecked) private var newBitrate: Int?
    @exclusivity(unchecked) private var isKeyFrameRequested = false

    @exclusivity(unchecked) private var configuration: VP8Encoder.Configuration
    @exclusivity(unchecked) private var library: VP8EncoderLibrary?
    @exclusivity(unchecked) private var timing: EncoderTiming
    @exclusivity(unchecked) private var layers: TemporalLayerPattern
    @exclusivity(unchecked) private var ladder: LoadController
    @exclusivity(unchecked) private var lastKeyFrame: MediaTime?
    /// The parts of a screen to code; nil for other contents.
    @exclusivity(unchecked) private var screen: ActiveMap?
    /// Whether the screen's block edges are filtered.
    @exclusivity(unchecked) private var isDeblocking = true
    @exclusivity(unchecked) private var unchanged: UInt64 = 0

    /// Describes the packets; nil before the first.
    @exclusivity(unchecked) public private(set) var track: TrackDescription?
    /// What the load asks for: fewer or smaller frames; and the last frame again, while a screen that does not change is
    /// still to be refined.
    @exclusivity(unchecked) public private(set) var wants = CaptureWants()
    /// The pixels of the largest frame: of one without relief.
    @exclusivity(unchecked) private var fullPixelCount = 0

    /// Throws `CodecError` with the code `invalidConfiguration`. libvpx is set up with the first frame, whose size
    /// it needs.
    public init(_ configuration: VP8Encoder.Configuration) throws(CodecError) {
        try configuration.validate()
        self.configuration = configuration
        timing = EncoderTiming(nominal: configuration.frameRate)
        layers = TemporalLayerPattern(layerCount: configuration.temporalLayers)
        ladder = LoadController(vp8Speed: configuration.speed)
    }

    /// Aims at another bitrate, in bits per second, from the next frame on. Throws `invalidConfiguration` for one
    /// that is out of range.
    public func setBitrate(_ bitrate: Int) throws(CodecError) {
        var trial = VP8Encoder.Configuration(bitrate: bitrate)
        trial.threads = 1
        try trial.validate()
        newBitrate = bitrate
    }

    public var bitrate: Int? { newBitrate ?? configuration.bitrate }

    public func requestKeyFrame() { isKeyFrameRequested = true }

    public var framesUnchanged: UInt64 { unchanged }

    public func encode(_ frame: VideoFrame, output: (MediaPacket) throws -> Void) throws {
        let bitrate = newBitrate.take()
        if let bitrate { configuration.bitrate = bitrate }
        let library = try prepareLibrary(for: frame, isBitrateNew: bitrate != nil)
        // To the nearest frame, so that the rounding of timestamps moves no key frame.
        let tolerance = timing.nominalDuration(of: frame).nanoseconds / 2
        let isKeyFrameDue = lastKeyFrame.map { last in
            configuration.keyFrameInterval.map {
                frame.timestamp.nanoseconds(since: last) >= $0.nanoseconds - tolerance
            } ?? false
        }
        let mustBeKey = isKeyFrameRequested || isKeyFrameDue ?? true
        isKeyFrameRequested = false
        screen?.mark(frame.damage)
        if let screen, !mustBeKey, !frame.isRepeat, frame.damage == [], screen.activeCount == 0 {
            unchanged += 1
            return
        }
        let slot = timing.place(frame, reportsPauses: screen != nil)
        if mustBeKey { layers.restart() }
        let place = layers.next(isKeyFrame: mustBeKey)
        if configuration.temporalLayers > 1 { try library.setTemporalLayer(place.layer) }
        screen?.prepare(isIdle: frame.isRepeat || frame.damage == [])
        if let screen, screen.hasChanged {
            try library.setActiveMap(screen)
            self.screen?.hasChanged = false
        }

        let begin = MonotonicClock().now
        try library.encode(frame, slot: slot, flags: place.flags)
        // Screen content and rate control may leave a frame out: then there is no packet, which is no error, and what
        // was to be coded still is.
        while let packet = library.nextPacket() {
            if packet.isKeyFrame { lastKeyFrame = frame.timestamp }
            let layer = packet.isKeyFrame ? 0 : place.layer
            layers.didEncode(layer: layer)
            let made = MediaPacket(
                data: packets.makeBuffer(copying: packet.bytes), timestamp: frame.timestamp,
                duration: slot.nominalDuration, isKeyFrame: packet.isKeyFrame, isDroppable: packet.isDroppable,
                temporalLayer: layer, width: frame.width, height: frame.height,
                sequenceNumber: frame.sequenceNumber, attributes: frame.attributes)
            // The size may have changed; a sink that is added later begins here.
            if track == nil || packet.isKeyFrame { track = describe(frame) }
            if screen != nil { try recordCoded(packet, library) }
            try output(made)
        }
        if configuration.adaptsToLoad {
            try followLoad(
                encodeTime: MonotonicClock().now - begin, interval: slot.nominalDuration, frame: frame, library: library
            )
        }
        updateWants()
    }

    private func prepareLibrary(for frame: VideoFrame, isBitrateNew: Bool) throws -> VP8EncoderLibrary {
        guard frame.pixelFormat == .nv12 || frame.pixelFormat == .i420 else {
            throw CodecError(
                .formatUnsupported, operation: "encode a frame", subject: "VP8",
                message: "VP8 encodes NV12 and I420; convert \(frame.pixelFormat) frames with FrameProcessing first.")
        }
        if let library, library.canTake(width: frame.width, height: frame.height) {
            let isSizeNew = library.width != frame.width || library.height != frame.height
            if isBitrateNew || isSizeNew {
                try library.update(configuration, width: frame.width, height: frame.height)
            }
            if isSizeNew {
                // libvpx makes a key frame of it, which is the first of the layers' period.
                lastKeyFrame = nil
                beginScreen(frame)
                if let screen { try library.setDeblocking(true, of: screen) }
            }
            return library
        }
        let made = try VP8EncoderLibrary(configuration, width: frame.width, height: frame.height)
        library = made
        lastKeyFrame = nil
        beginScreen(frame)
        return made
    }

    private func beginScreen(_ frame: VideoFrame) {
        // The layers' frames differ in what they refer to; a block that is left as it is needs the last frame.
        guard configuration.screenContentMode > 0, configuration.temporalLayers == 1 else { return }
        isDeblocking = true
        screen = ActiveMap(
            width: frame.width, height: frame.height, minimumQuantizer: configuration.minimumQuantizer)
    }

    /// Notes how finely the blocks were coded, and turns the filter of block edges off where there is nothing to smooth.
    ///
    /// libvpx seeks the filter's strength in the middle of the picture only, from that of the frame before; where nothing
    /// moves there, the strength of the first, coarse frames stays forever, and all of the picture is filtered with each
    /// frame.
    private func recordCoded(_ packet: VP8EncoderLibrary.Packet, _ library: VP8EncoderLibrary) throws(CodecError) {
        let quantizer = try library.lastQuantizer()
        screen?.recordCoded(quantizer: quantizer, isKeyFrame: packet.isKeyFrame)
        guard let screen else { return }
        let limits = VP8Encoder.quantizersOfDeblocking
        let isOn = isDeblocking ? quantizer > limits.lowerBound : quantizer > limits.upperBound
        guard isOn != isDeblocking else { return }
        try library.setDeblocking(isOn, of: screen)
        isDeblocking = isOn
    }

    private func followLoad(
        encodeTime: Duration, interval: Duration, frame: VideoFrame, library: VP8EncoderLibrary
    ) throws {
        fullPixelCount = max(fullPixelCount, frame.width * frame.height)
        guard ladder.add(encodeTime: encodeTime, interval: interval, at: frame.timestamp) else { return }
        try library.setSpeed(ladder.rung.speed)
    }

    private func describe(_ frame: VideoFrame) -> TrackDescription {
        TrackDescription(
            id: 0, codec: .vp8,
            media: .video(
                TrackDescription.Video(
                    width: frame.width, height: frame.height, orientation: frame.orientation, color: frame.color,
                    pixelAspect: frame.pixelAspect, frameRate: configuration.frameRate)))
    }

    private func updateWants() {
        wants =
            configuration.adaptsToLoad
            ? ladder.wants(frameRate: configuration.frameRate, pixelCount: fullPixelCount) : CaptureWants()
        if let screen, screen.activeCount > 0 {
            wants.minimumFrameRate = min(VP8Encoder.refinementRate, configuration.frameRate)
        }
    }
}

extension LoadController {
    /// - Parameter vp8Speed: libvpx's `cpu-used` at the first rung.
    init(vp8Speed: Int) {
        // What libvpx needs at 720p relative to speed −6. Beyond −12 the bitrate is no longer kept.
        let faster = [(speed: -8, cost: 0.9), (-10, 0.8), (-12, 0.7)].filter { $0.speed < vp8Speed }
        self.init(speeds: [(vp8Speed, 1)] + faster)
    }
}
