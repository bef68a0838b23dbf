import VideoCapturing

/// A clip from its trigger until its file is complete: the packets that wait for the file, and where it ends. It decides, without
/// a thread or a clock.
struct Clip: Sendable {
    let number: Int
    /// When the first trigger came, on the time line of the frames.
    let time: MediaTime
    /// The same by the wall clock, since 1970.
    let date: Duration
    private(set) var reasons: [RecordingTrigger.Reason]
    let detail: String?
    /// Where it ends; nil while a reason lasts.
    private(set) var end: MediaTime?
    /// Whether it takes nothing more.
    private(set) var isComplete = false
    /// Whether the next clip goes on with the same event, so that this one is not extended.
    var isFollowed = false
    /// Packets that were left out since the file took none.
    private(set) var packetsLost = 0

    /// The packets for the file.
    private(set) var waiting: [MediaPacket] = []
    private(set) var waitingBytes = 0
    /// Packets from after the end, for the case that the clip is extended.
    private var held: [MediaPacket] = []
    /// The tracks that have come to the end.
    private var endedTracks: Set<TrackID> = []
    /// Whether it begins, or goes on, with the next key frame.
    private(set) var awaitsKeyFrame = true
    /// When the last packet of each track is decoded.
    private var last: [TrackID: MediaTime] = [:]
    /// When its first picture is shown; sound of before is left out.
    private var begin: MediaTime?
    /// Whether the clip before has the sound that is heard at the begin.
    private let isFollowing: Bool

    /// How long sound may come later than pictures of its time.
    private static let longestDelay = Duration.seconds(1)

    init(
        number: Int, reason: RecordingTrigger.Reason, detail: String?, time: MediaTime, date: Duration, end: MediaTime?
    ) {
        self.number = number
        self.time = time
        self.date = date
        self.detail = detail
        self.end = end
        reasons = [reason]
        isFollowing = false
    }

    /// The clip that goes on where another one is to end: with the key frame of that time.
    init(following clip: Clip, number: Int, time: MediaTime, date: Duration) {
        self.number = number
        self.time = time
        self.date = date
        detail = clip.detail
        end = clip.end
        reasons = clip.reasons
        last = clip.last
        begin = time
        isFollowing = true
    }

    /// When its first packet is decoded; nil before it.
    private(set) var start: MediaTime?

    // MARK: Packets

    /// Takes the packets from before the trigger.
    mutating func begin(with packets: [MediaPacket], of stream: PacketStream) {
        guard !packets.isEmpty else { return }
        awaitsKeyFrame = false
        begin = begin ?? packets.first { $0.track == stream.ring.leadingTrack }?.timestamp
        for packet in packets { offer(packet, of: stream) }
    }

    /// Takes a packet that the ring has taken.
    ///
    /// - Parameters:
    ///   - packet: the packet.
    ///   - stream: its tracks, and the packets before it.
    ///   - room: how many bytes may wait.
    mutating func take(_ packet: MediaPacket, of stream: PacketStream, room: Int) {
        guard !isComplete else { return }
        if awaitsKeyFrame {
            guard packet.track == stream.ring.leadingTrack, packet.isKeyFrame, waitingBytes < room / 2 else {
                if start != nil { packetsLost += 1 }
                return
            }
            awaitsKeyFrame = false
            begin = begin ?? packet.timestamp
            // With the sound that came before the key frame.
            for packet in stream.ring.packets(from: packet.timestamp) { offer(packet, of: stream) }
        } else if waitingBytes + packet.data.count > room {
            // It goes on with a key frame, once there is room again.
            awaitsKeyFrame = true
            packetsLost += 1
        } else {
            offer(packet, of: stream)
        }
    }

    private mutating func offer(_ packet: MediaPacket, of stream: PacketStream) {
        let time = packet.decodeTimestamp ?? packet.timestamp
        // From before a gap, or of the clip before this one.
        if let last = last[packet.track], time <= last { return }
        if let begin, packet.track != stream.ring.leadingTrack {
            let isHeard = isFollowing ? time >= begin : time + max(packet.duration, .nanoseconds(1)) > begin
            guard isHeard else { return }
        }
        if let end, time >= end {
            held.append(packet)
            endedTracks.insert(packet.track)
            let isLate = packet.track == stream.ring.leadingTrack && time >= end + Clip.longestDelay
            if endedTracks.count == stream.trackCount || isLate { complete() }
            return
        }
        start = start ?? packet.timestamp
        last[packet.track] = time
        waiting.append(packet)
        waitingBytes += packet.data.count
    }

    /// The clip without its packets.
    var withoutPackets: Clip {
        var clip = self
        (clip.waiting, clip.waitingBytes, clip.held) = ([], 0, [])
        return clip
    }

    /// Gives the packets that wait to the file.
    mutating func takeWaiting() -> [MediaPacket] {
        defer { (waiting, waitingBytes) = ([], 0) }
        return waiting
    }

    // MARK: The end

    /// Takes a further trigger.
    mutating func extend(to newEnd: MediaTime?, of stream: PacketStream, reason: RecordingTrigger.Reason? = nil) {
        if let reason, !reasons.contains(reason) { reasons.append(reason) }
        if let newEnd, let end, newEnd <= end { return }
        setEnd(newEnd, of: stream)
    }

    /// Ends it at a time; packets from before that were held back are given to the file.
    mutating func setEnd(_ newEnd: MediaTime?, of stream: PacketStream) {
        end = newEnd
        let packets = held
        held = []
        endedTracks = []
        for packet in packets { offer(packet, of: stream) }
    }

    /// Takes nothing more.
    mutating func complete() {
        isComplete = true
        held = []
    }
}

/// The packets of an output so far, for its clips.
struct PacketStream: Sendable {
    var ring: PacketRing
    var trackCount = 0
}
