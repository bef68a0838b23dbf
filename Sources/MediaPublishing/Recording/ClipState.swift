import VideoCapturing

/// What the threads of a ``TriggeredOutput`` share, behind its lock: that of the encoder adds packets, those that fire triggers
/// make clips, and that of the ``ClipWriter`` takes them.
struct ClipState: Sendable {
    var stream: PacketStream
    /// The path that the first clip would have had at the beginning.
    let firstPath: String
    /// Nil before the output is open.
    var context: OutputContext?
    var tracks: [TrackDescription] = []
    var feedback: PacketFeedback?
    /// The time of the newest picture.
    var newest: MediaTime?
    /// The reasons that last.
    var lasting: Set<RecordingTrigger.Reason> = []
    /// Those whose files are not complete, the oldest first; the first one is being written.
    var clips: [Clip] = []
    var clipsMade = 0
    var isClosing = false
    /// Whether the clip goes on in another file with the next key frame.
    var isReopening = false
    /// Whether the thread that writes runs.
    var isWriting = false
    /// The file that is written.
    var current: (any MediaOutput)?
    var lastPath: String?

    var counts = Counts()
    private var hasWarned = false

    /// What became of the files.
    struct Counts: Sendable {
        var written = 0
        var failed = 0
        var deleted = 0
        /// Of the files that are complete.
        var bytes: Int64 = 0
    }

    init(stream: PacketStream, firstPath: String) {
        self.stream = stream
        self.firstPath = firstPath
    }

    /// Takes a packet for the ring, and for the clips that are recorded.
    ///
    /// - Returns: the encoder, when it should make a key frame.
    mutating func take(_ packet: MediaPacket, _ configuration: TriggeredOutput.Configuration) -> PacketFeedback? {
        let groupsDropped = stream.ring.groupsDropped
        stream.ring.append(packet)
        let isLeading = packet.track == stream.ring.leadingTrack
        if isLeading { newest = max(newest ?? packet.timestamp, packet.timestamp) }
        // A group that is larger than the limit was dropped.
        var needsKeyFrame = stream.ring.groupsDropped != groupsDropped && stream.ring.bytes == 0
        if isLeading, configuration.split != nil || isReopening {
            needsKeyFrame = split(at: packet, configuration.split) || needsKeyFrame
        }
        let room = 2 * configuration.maximumBytes
        let waiting = clips.reduce(0) { $0 + $1.waitingBytes }
        for index in clips.indices where !clips[index].isComplete {
            let awaited = clips[index].awaitsKeyFrame
            clips[index].take(packet, of: stream, room: room - (waiting - clips[index].waitingBytes))
            if clips[index].awaitsKeyFrame, !awaited { needsKeyFrame = true }
        }
        return needsKeyFrame ? feedback : nil
    }

    /// Goes on in another clip at a key frame, where the last one is long enough.
    ///
    /// - Returns: whether a key frame is needed for it.
    private mutating func split(at packet: MediaPacket, _ interval: SplitOutput.Interval?) -> Bool {
        guard let index = clips.lastIndex(where: { !$0.isComplete && !$0.isFollowed }), let start = clips[index].start
        else {
            isReopening = false
            return false
        }
        let length: Duration
        switch isReopening ? .duration(.zero) : interval {
        case .duration(let time): length = time
        case .clock(let time): length = timeToBoundary(time, from: clips[index].date + (start - clips[index].time))
        case .bytes, nil: return false
        }
        guard packet.timestamp - start >= length else { return false }
        // Asked for once.
        guard packet.isKeyFrame else { return packet.timestamp - start < length + packet.duration }
        isReopening = false
        clipsMade += 1
        let passed = packet.timestamp - clips[index].time
        var next = Clip(
            following: clips[index], number: clipsMade, time: packet.timestamp, date: clips[index].date + passed)
        clips[index].isFollowed = true
        clips[index].setEnd(packet.timestamp, of: stream)
        next.begin(with: stream.ring.packets(from: packet.timestamp), of: stream)
        clips.append(next)
        return false
    }

    /// Extends the clip that is recorded; false without one.
    mutating func extend(to end: MediaTime?, _ reason: RecordingTrigger.Reason?) -> Bool {
        guard let index = clips.lastIndex(where: { !$0.isComplete && !$0.isFollowed }) else { return false }
        clips[index].extend(to: end, of: stream, reason: reason)
        return true
    }

    mutating func completeAll() {
        for index in clips.indices { clips[index].complete() }
    }

    /// The sentence that the time before triggers is cut; nil where it is not, or was said.
    mutating func takeWarning(_ configuration: TriggeredOutput.Configuration) -> String? {
        guard !hasWarned, stream.ring.groupsDropped > 0, stream.ring.coveredDuration < configuration.preroll else {
            return nil
        }
        hasWarned = true
        return "\(scaled(Double(configuration.maximumBytes), "B")) hold only the last "
            + "\(fixed(stream.ring.coveredDuration.seconds, 1)) s before a trigger, not "
            + "\(fixed(configuration.preroll.seconds, 1)) s; lower the bitrate."
    }
}
