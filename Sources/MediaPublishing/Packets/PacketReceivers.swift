import PacketCapturing
import VideoCapturing

/// Hands the packets that are passed on to an output to its receivers, which come and go, and never wait.
///
/// Most sources make no key frame on request: a camera's may be seconds away. Then a receiver that needs one gets the pictures
/// since the last key frame once more, at once, so that it sees the next picture.
final class PacketReceivers: PacketSink {
    private let sinks: SinkGroup
    private let group = Locked(PictureGroup())
    private let leading: TrackID
    private let tracks: [TrackDescription]
    private let requestKeyFrame: @Sendable () -> Bool

    /// - Parameters:
    ///   - tracks: those that receivers get, with at least one.
    ///   - requestKeyFrame: asks the source for a key frame; false where it makes none on request.
    ///   - onFailure: called with the receiver that has thrown, and is removed.
    init(
        _ tracks: [TrackDescription], requestKeyFrame: @escaping @Sendable () -> Bool,
        onFailure: @escaping @Sendable (EncodingFailure) -> Void
    ) {
        self.tracks = tracks
        leading = PacketSettings(tracks: tracks).leadingTrack?.id ?? 0
        self.requestKeyFrame = requestKeyFrame
        sinks = SinkGroup(track: leading, beginsWithKeyFrame: false, onFailure: onFailure)
    }

    /// Adds a receiver. False after the end.
    func add(_ sink: any PacketSink, name: String) -> Bool {
        let receiver = Receiver(sink, leading, group)
        let isAdded = sinks.add(receiver, name: name) { [requestKeyFrame] _ in
            PacketFeedback(
                onKeyFrame: { [weak receiver] in if !requestKeyFrame() { receiver?.requestGroup() } },
                onBitrate: { _ in })
        }
        if isAdded { _ = requestKeyFrame() }
        return isAdded
    }

    /// Removes a receiver; a packet that is being handed out may still reach it.
    func remove(_ name: String) {
        if sinks.requestRemoval(of: name) { sinks.work(waits: false) {} }
    }

    func begin(_ tracks: [TrackDescription]) {}

    func write(_ packet: MediaPacket) {
        sinks.work { sinks.deliver(packet) { tracks } }
        if packet.track == leading { group.withLock { $0.add(packet) } }
    }

    func finish() {
        sinks.requestFinish()
        sinks.work {}
        group.withLock { $0 = PictureGroup() }
    }
}

/// The pictures since the last key frame.
private struct PictureGroup {
    /// Empty where they are too many, or out of order.
    private(set) var packets: [MediaPacket] = []
    private var bytes = 0

    /// What fits into the queue of a session of WebRTC.
    private static let maximumPackets = 300
    private static let maximumBytes = 2 << 20

    var duration: Duration { packets.last.map { $0.timestamp - packets[0].timestamp } ?? .zero }

    mutating func add(_ packet: MediaPacket) {
        if packet.isKeyFrame {
            packets.removeAll(keepingCapacity: true)
            bytes = 0
        } else if packets.isEmpty {
            return
        }
        bytes += packet.data.count
        let isInOrder = packets.last.map { $0.timestamp < packet.timestamp } ?? true
        guard isInOrder, packets.count < Self.maximumPackets, bytes <= Self.maximumBytes else {
            packets = []
            return
        }
        packets.append(packet)
    }

    /// All of them between the last one and the time of the next, so that a player shows the next one in time.
    func squeezed(before next: MediaTime) -> [MediaPacket] {
        guard let last = packets.last, last.timestamp < next else { return [] }
        let step = (next - last.timestamp).nanoseconds / Int64(packets.count + 1)
        // Two ticks of RTP: players take pictures of one time for one.
        guard step > 22_222 else { return [] }
        return packets.enumerated().map { place, packet in
            var packet = packet
            packet.timestamp = last.timestamp.advanced(by: .nanoseconds(step * Int64(place + 1)))
            packet.decodeTimestamp = nil
            packet.duration = .nanoseconds(step)
            return packet
        }
    }
}

/// One receiver: begins with a key frame, or with the pictures since the last one.
private final class Receiver: FeedbackSink {
    private struct State {
        var awaitsKeyFrame = true
        var wantsGroup = true
        /// Before this time it gets no further group; nil before its first request.
        var nextGroup: MediaTime?
    }

    private let sink: any PacketSink
    private let leading: TrackID
    private let group: Locked<PictureGroup>
    private let state = Locked(State())

    /// Between two groups, at least; and twice the length of the first one, so that a network that loses packets is not filled.
    private static let interval = Duration.seconds(1)

    init(_ sink: any PacketSink, _ leading: TrackID, _ group: Locked<PictureGroup>) {
        self.sink = sink
        self.leading = leading
        self.group = group
    }

    /// Has it get the pictures since the last key frame, before the next picture.
    func requestGroup() {
        state.withLock { state in
            state.wantsGroup = true
            // A session asks once it is connected: packets from before that have not reached anybody.
            state.nextGroup = state.nextGroup ?? .zero
        }
    }

    func connectFeedback(_ feedback: PacketFeedback?) { (sink as? any FeedbackSink)?.connectFeedback(feedback) }

    func begin(_ tracks: [TrackDescription]) throws { try sink.begin(tracks) }

    func write(_ packet: MediaPacket) throws {
        if packet.track == leading, packet.isKeyFrame {
            state.withLock { ($0.awaitsKeyFrame, $0.wantsGroup) = (false, false) }
        } else if packet.track == leading,
            state.withLock({ $0.wantsGroup && $0.nextGroup ?? .zero <= packet.timestamp })
        {
            let (pictures, length) = group.withLock { ($0.squeezed(before: packet.timestamp), $0.duration) }
            state.withLock { state in
                // Otherwise before a later picture.
                guard !pictures.isEmpty else { return }
                (state.awaitsKeyFrame, state.wantsGroup) = (false, false)
                let pause = max(Receiver.interval, length * 2)
                if state.nextGroup != nil { state.nextGroup = packet.timestamp.advanced(by: pause) }
            }
            for picture in pictures { try sink.write(picture) }
        }
        if !state.withLock({ $0.awaitsKeyFrame }) { try sink.write(packet) }
    }

    func finish() throws { try sink.finish() }
}
