import PacketCapturing
import VideoCapturing

/// A packet capture in the shape of a video capture, by which a publisher runs its life: it has the format of the pictures,
/// the states and the counts. It delivers the decoded frames of the leading track while there are consumers of frames, and
/// the program has a decoder; key frames alone where those come as often as frames are of use.
final class PacketsAsVideo: VideoCapture {
    private let packets: any PacketCapture
    private let contents = Locked(Contents())
    private let decoding: PacketDecoding

    private struct Contents {
        weak var consumer: (any VideoCaptureConsumer)?
        var hint = VideoContentHint.none
        /// Whether there are consumers of frames; asked for whenever they change.
        var hasConsumers: @Sendable () -> Bool = { false }
        var isWanted = false
        /// The highest rate that is of use; nil for no limit.
        var rate: FrameRate?
        /// Whether the picture of the next packet is wanted, however low the rate; and its time, once it has come.
        var wantsFreshFrame = false
        var freshTime: MediaTime?

        /// The highest rate that is of use when a packet comes.
        mutating func rate(at packet: MediaPacket) -> FrameRate? {
            if wantsFreshFrame { (wantsFreshFrame, freshTime) = (false, packet.timestamp) }
            return freshTime == nil ? rate : nil
        }

        mutating func show(_ frame: VideoFrame) {
            if let time = freshTime, frame.timestamp >= time { freshTime = nil }
        }
    }

    /// - Parameters:
    ///   - packets: where the packets come from.
    ///   - decoders: those that the program has.
    ///   - orientation: of the frames, for sources that do not know it.
    init(_ packets: any PacketCapture, _ decoders: [VideoDecoderFactory], orientation: VideoOrientation) {
        self.packets = packets
        decoding = PacketDecoding(decoders, orientation: orientation)
    }

    // MARK: Decoding

    /// Sets the function that says whether there are consumers of frames.
    func setDemand(_ hasConsumers: @escaping @Sendable () -> Bool) {
        contents.withLock { $0.hasConsumers = hasConsumers }
        updateDemand()
    }

    /// Whether the program has a decoder for a track.
    func canDecode(_ track: TrackDescription) -> Bool { decoding.canDecode(track.codec) }

    /// Decodes a packet of the leading track for the consumers of frames, if there are any. On the capture's thread.
    func decode(_ packet: MediaPacket) {
        let (isWanted, rate, consumer) = contents.withLock { ($0.isWanted, $0.rate(at: packet), $0.consumer) }
        guard isWanted, let consumer else { return decoding.end() }
        let needsKeyFrame = decoding.decode(packet, rate: rate) { frame in
            contents.withLock { $0.show(frame) }
            consumer.consumeFrame(frame)
        }
        if needsKeyFrame { packets.requestKeyFrame() }
    }

    /// Gives the consumers the frames that the decoder holds back. On the capture's thread, or after its end.
    func flush() {
        guard let consumer = contents.withLock({ $0.consumer }) else { return }
        decoding.flush { consumer.consumeFrame($0) }
    }

    /// What the consumers want of the frames is done for each of them; a decoder is needed when there are any.
    func adapt(to wants: CaptureWants) {
        contents.withLock { $0.rate = wants.maximumFrameRate }
        updateDemand()
    }

    func requestRefreshFrame() { contents.withLock { $0.wantsFreshFrame = true } }

    private func updateDemand() {
        let isWanted = contents.withLock { $0.hasConsumers }()
        contents.withLock { $0.isWanted = isWanted }
    }

    // MARK: The capture

    var videoCaptureConsumer: (any VideoCaptureConsumer)? {
        get { contents.withLock { $0.consumer } }
        set { contents.withLock { $0.consumer = newValue } }
    }

    var videoContentHint: VideoContentHint {
        get { contents.withLock { $0.hint } }
        set { contents.withLock { $0.hint = newValue } }
    }

    func initCapture() throws(CaptureError) {
        try packets.initCapture()
        if let track = packets.captureSettings().leadingTrack, track.isVideo { decoding.begin(track.codec) }
    }

    func startCapture() throws(CaptureError) { try packets.startCapture() }
    func stopCapture() throws(CaptureError) {
        try packets.stopCapture()
        flush()
    }
    func releaseCapture() { packets.releaseCapture() }
    var isCaptureStarted: Bool { packets.isCaptureStarted }

    func captureSettings() -> CaptureSettings {
        let settings = packets.captureSettings()
        guard case .video(let video)? = settings.leadingTrack?.media else {
            return CaptureSettings(format: .i420(width: 2, height: 2), sourceName: settings.sourceName)
        }
        return CaptureSettings(
            format: VideoFormat(
                .i420, width: video.width, height: video.height, pixelAspect: video.pixelAspect,
                estimatedFramesPerSecond: video.frameRate), sourceName: settings.sourceName)
    }

    var state: CaptureState { packets.state }
    func stateChanges() -> AsyncStream<CaptureState.Change> { packets.stateChanges() }
    var adjustable: (any AdjustableCapture)? { nil }
    var endOfLastFrame: MediaTime? { nil }

    /// The counts of the leading track, and of damaged frames.
    var statistics: CaptureStatistics {
        let counts = packets.statistics
        let leading = packets.captureSettings().leadingTrack?.id
        var result = CaptureStatistics()
        result.starts = counts.starts
        result.interruptions = counts.interruptions
        guard let track = counts.tracks.first(where: { $0.id == leading }) else { return result }
        result.framesDelivered = track.packetsDelivered
        result.framesDropped.source = track.packetsLost.source &+ track.packetsLost.undecodable
        result.framesDropped.corrupt = decoding.damaged
        result.framesDropped.noConsumer = track.packetsLost.noConsumer
        result.framesDropped.abandoned = track.packetsLost.abandoned
        return result
    }
}
