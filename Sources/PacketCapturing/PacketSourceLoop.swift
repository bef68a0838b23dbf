/// What runs on the capture thread: obeys the orders of a `CaptureRunner` and calls the source.
///
/// `@unchecked Sendable`: `source` and `timeline` are used on the capture thread only. There is one at a time, and each
/// begins after the one before has said, through the control's lock, that it has ended.
final class PacketSourceLoop: CaptureLoop, @unchecked Sendable {
    let control: PacketControl
    private let context: PacketContext
    @exclusivity(unchecked) private var source: any PacketSource
    @exclusivity(unchecked) private var timeline = PacketTimeline()

    init(_ source: sending some PacketSource, control: PacketControl) {
        self.source = source
        self.control = control
        context = PacketContext(control: control)
    }

    var sourceName: String? { source.settings.sourceName }
    var adopt: (inout PacketMedia) -> Void {
        { [settings = source.settings, makesKeyFrames = source.makesKeyFrames] media in
            media.adopt(settings, makesKeyFrames: makesKeyFrames)
        }
    }
    func open() throws { try source.open(context) }
    func start() throws { try source.start(context) }
    func stop() { source.stop() }
    func close() { source.close() }

    func deliverUntilStopped() throws -> CaptureState.StopReason {
        let pacing = source.pacing
        timeline.beginSession(at: context.now, source.settings)
        _ = context.takeLosses()
        while !context.isStopping {
            if control.contents.withLock({ $0.media.takeKeyFrameRequest() }) { source.requestKeyFrame() }
            guard let packet = try source.nextPacket(context) else { return .endOfStream }
            for loss in context.takeLosses() {
                timeline.skip(loss.count, of: loss.track)
                count(loss.track) { $0.packetsLost.source &+= loss.count }
            }
            guard packet.data.count > 0 else { continue }
            try pass(packet, pacing)
        }
        return .user
    }

    /// Numbers a packet, and delivers it when it is due.
    private func pass(_ packet: MediaPacket, _ pacing: PacketPacing) throws(CaptureError) {
        switch timeline.place(packet, pacing) {
        case .unknownTrack:
            throw CaptureError(
                .invalidConfiguration, operation: "capture", subject: source.settings.sourceName,
                message: "The source gives a packet of track \(packet.track.rawValue), which it does not describe.")
        case .undecodable:
            control.contents.withLock { contents in
                let hasConsumer = contents.media.consumer != nil
                contents.media.count(packet.track) { track in
                    if hasConsumer { track.packetsLost.undecodable &+= 1 } else { track.packetsLost.noConsumer &+= 1 }
                }
            }
        case .deliver(let placed):
            if pacing == .clock { context.wait(until: placed.decodeTimestamp ?? placed.timestamp) }
            deliver(placed)
        }
    }

    /// Hands one packet to the consumer, unless a stop has been ordered meanwhile.
    private func deliver(_ packet: MediaPacket) {
        let bytes = UInt64(packet.data.count)
        let consumer = control.contents.withLock { contents -> (any PacketCaptureConsumer)? in
            guard !contents.isStopOrdered else {
                // It has its number, so it counts.
                contents.media.count(packet.track) { $0.packetsLost.abandoned &+= 1 }
                return nil
            }
            if contents.isInterrupted {
                contents.isInterrupted = false
                control.states.transition(to: .running, reason: .source)
            }
            guard let consumer = contents.media.consumer else {
                contents.media.count(packet.track) { $0.packetsLost.noConsumer &+= 1 }
                return nil
            }
            contents.media.count(packet.track) { track in
                track.packetsDelivered &+= 1
                track.bytesDelivered &+= bytes
                if packet.isKeyFrame { track.keyFrames &+= 1 }
            }
            contents.isDelivering = true
            return consumer
        }
        guard let consumer else { return timeline.recordUndelivered(packet.track) }
        consumer.consumePacket(packet)
        let isAwaited = control.contents.withLock { contents in
            contents.isDelivering = false
            return contents.isStopOrdered
        }
        if isAwaited { control.contents.wakeAll() }
    }

    private func count(_ track: TrackID, _ change: (inout PacketStatistics.Track) -> Void) {
        control.contents.withLock { $0.media.count(track, change) }
    }
}

/// What a packet capture's thread and its callers share.
typealias PacketControl = CaptureControl<PacketMedia>

/// What of that is about packets.
struct PacketMedia: CaptureMedia {
    weak var consumer: (any PacketCaptureConsumer)?
    var settings: PacketSettings
    var statistics = PacketStatistics()
    private(set) var makesKeyFrames = false
    var isKeyFrameRequested = false

    init(settings: PacketSettings) {
        self.settings = settings
    }

    var sourceName: String? { settings.sourceName }

    mutating func willOpen() { statistics = PacketStatistics() }

    mutating func didStart() { statistics.starts += 1 }

    mutating func didInterrupt() { statistics.interruptions += 1 }

    mutating func adopt(_ settings: PacketSettings, makesKeyFrames: Bool) {
        self.settings = settings
        self.makesKeyFrames = makesKeyFrames
        for track in settings.tracks where !statistics.tracks.contains(where: { $0.id == track.id }) {
            statistics.tracks.append(PacketStatistics.Track(id: track.id))
        }
    }

    /// Changes the counts of a track.
    mutating func count(_ track: TrackID, _ change: (inout PacketStatistics.Track) -> Void) {
        guard let index = statistics.tracks.firstIndex(where: { $0.id == track }) else { return }
        change(&statistics.tracks[index])
    }

    /// Whether a key frame was asked for since the last call.
    mutating func takeKeyFrameRequest() -> Bool {
        defer { isKeyFrameRequested = false }
        return isKeyFrameRequested
    }
}
