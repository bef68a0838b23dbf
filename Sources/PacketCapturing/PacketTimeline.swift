/// Places the packets of a source on the capture's clock, numbers them, and has losses end at key frames.
///
/// A source with a separate time scale begins a start at the present, or where the last start has ended. A track whose
/// times go back by more than a second, as in recordings that were joined, or go on further than the source says that a pause
/// lasts, goes on where the tracks were by then; the other tracks follow when they arrive there.
struct PacketTimeline {
    /// What becomes of a packet.
    enum Place {
        /// Deliver it, with its number and its times.
        case deliver(MediaPacket)
        /// It needs one that is lost; it has a number.
        case undecodable
        /// It belongs to no track.
        case unknownTrack
    }

    private struct Track {
        let id: TrackID
        let isVideo: Bool
        var nextNumber: UInt64 = 0
        var awaitsKeyFrame = true
        /// The last decode time on the capture's clock.
        var last: MediaTime?
        /// The last decode time on the source's own scale in this start, and the offset that was added.
        var own: MediaTime?
        var offset: Int64 = 0
    }

    private var tracks: [Track] = []
    /// The offset of the source's own times, in nanoseconds; nil before the first packet of a start.
    private var offset: Int64?
    /// The latest end of a packet, of all tracks.
    private var end: MediaTime?
    private var start = MediaTime.zero
    /// See `PacketSettings`.
    private var largestStep: Duration?

    /// How far times may go back without being a new stretch.
    private static let longestStepBack = Duration.seconds(1)
    /// How far from the others a track may be that follows them into a new stretch.
    private static let longestLead = Duration.seconds(10)

    /// Numbers go on, and tracks begin with a key frame.
    mutating func beginSession(at now: MediaTime, _ settings: PacketSettings) {
        largestStep = settings.largestStep
        for description in settings.tracks where !tracks.contains(where: { $0.id == description.id }) {
            tracks.append(Track(id: description.id, isVideo: description.isVideo))
        }
        start = now
        offset = nil
        for index in tracks.indices {
            tracks[index].awaitsKeyFrame = true
            tracks[index].own = nil
        }
    }

    /// Leaves numbers out; the next packet of a track of video that is delivered is a key frame.
    mutating func skip(_ count: UInt64, of id: TrackID) {
        guard let index = tracks.firstIndex(where: { $0.id == id }) else { return }
        tracks[index].nextNumber &+= count
        tracks[index].awaitsKeyFrame = true
    }

    /// A packet with a number was not delivered.
    mutating func recordUndelivered(_ id: TrackID) { skip(0, of: id) }

    mutating func place(_ packet: MediaPacket, _ pacing: PacketPacing) -> Place {
        guard let index = tracks.firstIndex(where: { $0.id == packet.track }) else { return .unknownTrack }
        let number = tracks[index].nextNumber
        tracks[index].nextNumber &+= 1
        if tracks[index].isVideo, tracks[index].awaitsKeyFrame {
            guard packet.isKeyFrame else { return .undecodable }
        }
        tracks[index].awaitsKeyFrame = false
        let own = packet.decodeTimestamp ?? packet.timestamp
        if pacing != .live { moveOffset(forTrack: index, at: own) }
        let offset = Duration.nanoseconds(pacing == .live ? 0 : tracks[index].offset)
        let decode = own.advanced(by: offset).increasing(after: tracks[index].last)
        tracks[index].last = decode
        let packetEnd = decode.advanced(by: packet.duration)
        end = end.map { max($0, packetEnd) } ?? packetEnd
        var placed = packet
        placed.sequenceNumber = number
        placed.timestamp = max(packet.timestamp.advanced(by: offset), decode)
        placed.decodeTimestamp = placed.timestamp == decode ? nil : decode
        return .deliver(placed)
    }

    /// Chooses the offset of a track from here on.
    private mutating func moveOffset(forTrack index: Int, at own: MediaTime) {
        defer { tracks[index].own = own }
        guard let current = offset else {
            let begin = end.map { max($0, start) } ?? start
            let first = begin.nanoseconds(since: own)
            offset = first
            tracks[index].offset = first
            return
        }
        guard let last = tracks[index].own else {
            tracks[index].offset = current
            return
        }
        guard let end else { return }
        // Not where this track alone was silent.
        let ahead = own.advanced(by: .nanoseconds(tracks[index].offset)) - end
        let isTooFar = largestStep.map { own - last > $0 && ahead > $0 } ?? false
        guard isTooFar || last - own > PacketTimeline.longestStepBack else { return }
        let followed = own.advanced(by: .nanoseconds(current))
        let lead = followed - end
        let isFollowing =
            current != tracks[index].offset && lead < PacketTimeline.longestLead
            && lead > .zero - PacketTimeline.longestLead
        let next = isFollowing ? current : end.nanoseconds(since: own)
        offset = next
        tracks[index].offset = next
    }
}
