import PacketCapturing
import VideoCapturing

/// A part of recordings that is played or saved: packets as they are, over the borders of files, from a key frame on.
///
/// It ends early where the next recording begins more than two seconds later, has other tracks, or cannot be read. Used by one
/// thread at a time.
public final class RecordingClip {
    /// When its pictures begin, by the wall clock: with the last key frame not later than the asked time, or where the
    /// recording begins.
    public let start: Duration
    /// The type for a browser: `video/webm`.
    public let mediaType: String
    /// The extension of a file that holds it: `webm`.
    public let fileExtension: String

    private let container: String
    private let access: RecordingAccess
    /// The first one is open.
    private let recordings: ArraySlice<Recording>
    private let tracks: [TrackDescription]
    private let first: any RecordingReader
    private var cutter: ClipCutter

    /// What a pause within a clip may last.
    private static let longestPause = Duration.seconds(2)
    /// The longest clip.
    static let maximumDuration = Duration.seconds(86_400)

    fileprivate init(_ access: RecordingAccess, _ recordings: [Recording], from: Duration, to end: Duration) throws {
        self.access = access
        var failure: (any Error)?
        for (index, recording) in recordings.enumerated() {
            do {
                let reader = try access.open(recording.path)
                let from = max(from, recording.start)
                var cutter = ClipCutter(reader.tracks, from: from, to: end)
                guard cutter.begin(reader.tracks, at: recording.start, reader.start) else { continue }
                reader.seek(to: reader.start + (from - recording.start))
                while !cutter.hasBegun, let packet = try? reader.next(), cutter.take(packet) {}
                guard let start = cutter.start else { continue }
                self.start = start
                self.cutter = cutter
                self.recordings = recordings[index...]
                tracks = reader.tracks
                first = reader
                (container, mediaType, fileExtension) = RecordingClip.container(of: tracks)
                return
            } catch {
                failure = failure ?? error
            }
        }
        if let failure {
            throw RecordingError(
                .unreadable, operation: "open the recording", subject: recordings.first?.path, message: "\(failure)")
        }
        throw RecordingError(
            .notRecorded, operation: "find the recording",
            message: "Nothing was recorded then, or it was deleted; choose another time.")
    }

    /// The container that browsers play, for the codecs of the tracks.
    private static func container(of tracks: [TrackDescription]) -> (String, mediaType: String, extension: String) {
        let codecs = Set(tracks.map(\.codec.rawValue))
        let kind = tracks.contains { $0.isVideo } ? "video" : "audio"
        if codecs.isSubset(of: ["vp8", "vp9", "av1", "opus", "vorbis"]) { return ("webm", "\(kind)/webm", "webm") }
        if codecs.isSubset(of: ["h264", "hevc", "aac", "opus", "av1", "mp3"]) { return ("mp4", "\(kind)/mp4", "mp4") }
        return ("matroska", "\(kind)/x-matroska", "mkv")
    }

    /// Writes the clip; once only.
    ///
    /// - Parameters:
    ///   - path: the file, which must not exist; a pipe, which is written to.
    ///   - isWanted: called for each packet; false ends the clip.
    /// - Throws: the errors of the writer. Faults of a recording end the clip.
    public func write(to path: String, isWanted: () -> Bool = { true }) throws {
        let sink = try access.makeWriter(path, container)
        do {
            try sink.begin(tracks)
            try write(to: sink, isWanted)
        } catch {
            try? sink.finish()
            throw error
        }
        try sink.finish()
    }

    private func write(to sink: any PacketSink, _ isWanted: () -> Bool) throws {
        var lastEnd: Duration?
        for recording in recordings {
            let reader: any RecordingReader
            if let lastEnd {
                guard recording.start - lastEnd <= RecordingClip.longestPause,
                    let next = try? access.open(recording.path),
                    cutter.begin(next.tracks, at: recording.start, next.start)
                else { return }
                reader = next
            } else {
                reader = first
            }
            // A file that is cut off, or is being written, ends here.
            while isWanted(), let packet = try? reader.next() {
                let goesOn = cutter.take(packet)
                for packet in cutter.takePackets(atEnd: !goesOn) { try sink.write(packet) }
                guard goesOn else { return }
            }
            for packet in cutter.takePackets(atEnd: true) { try sink.write(packet) }
            guard isWanted() else { return }
            lastEnd = recording.end
        }
    }
}

extension RecordingIndex {
    /// A clip of a time. What it has begins with the last key frame not later than its start, so that nothing is encoded.
    ///
    /// - Parameters:
    ///   - start: the begin, since 1970. In a pause between recordings, the clip begins with the next one.
    ///   - duration: the length, up to a day.
    /// - Throws: ``RecordingError``: `invalidRange`, `notRecorded`, or `unreadable`.
    public func clip(from start: Duration, duration: Duration) throws -> RecordingClip {
        guard start >= .zero, duration > .zero, duration <= RecordingClip.maximumDuration else {
            throw RecordingError(
                .invalidRange, operation: "find the recording",
                message: "A clip begins after 1970 and lasts up to a day; choose such times.")
        }
        let end = start + duration
        return try RecordingClip(access, recordings(from: start, to: end), from: start, to: end)
    }
}

/// Decides which packets of recordings a clip has, and when they are shown; without a file or a clock.
struct ClipCutter {
    private let tracks: [TrackDescription]
    private let leading: TrackID?
    private let from: Duration
    private let to: Duration
    /// Of the file that is read: the identifiers of its tracks in the clip, and the time to add for the wall clock.
    private var identifiers: [TrackID: TrackID] = [:]
    private var offset = Duration.zero
    /// The packets since the last key frame, until the clip has begun.
    private var waiting: [MediaPacket] = []
    private var waitingBytes = 0
    /// Whether its begin is known, so that packets are passed on.
    private(set) var hasBegun = false
    /// Whether the pictures go on with a key frame.
    private var awaitsKeyFrame = true
    /// When the last packet of each track is decoded, and how long it lasts.
    private var last: [TrackID: (time: MediaTime, duration: Duration)] = [:]
    private var endedTracks: Set<TrackID> = []

    /// The most that waits for the begin.
    private static let maximumBytes = 64 << 20
    /// How long sound may come later than pictures of its time.
    private static let longestDelay = Duration.seconds(1)

    init(_ tracks: [TrackDescription], from: Duration, to: Duration) {
        self.tracks = tracks
        leading = (tracks.first { $0.isVideo } ?? tracks.first)?.id
        self.from = from
        self.to = to
    }

    /// Begins a file.
    ///
    /// - Parameters:
    ///   - others: its tracks.
    ///   - date: when it begins, since 1970.
    ///   - start: the same on the time line of its packets.
    /// - Returns: false where its tracks do not continue those of the clip.
    mutating func begin(_ others: [TrackDescription], at date: Duration, _ start: MediaTime) -> Bool {
        identifiers = [:]
        for track in tracks {
            guard let other = others.first(where: { $0.isVideo == track.isVideo }), track.continues(in: other) else {
                return false
            }
            identifiers[other.id] = track.id
        }
        offset = date - (start - .zero)
        awaitsKeyFrame = true
        return true
    }

    /// Takes a packet of the file.
    ///
    /// - Returns: false when the clip is complete.
    mutating func take(_ packet: MediaPacket) -> Bool {
        guard let track = identifiers[packet.track] else { return true }
        var packet = packet
        packet.track = track
        packet.timestamp += offset
        packet.decodeTimestamp = packet.decodeTimestamp.map { $0 + offset }
        let time = packet.decodeTimestamp ?? packet.timestamp
        guard time < MediaTime.zero + to else {
            endedTracks.insert(track)
            let isLate = track == leading && time >= MediaTime.zero + to + ClipCutter.longestDelay
            return endedTracks.count < tracks.count && !isLate
        }
        if let last = last[track], time < last.time + max(last.duration / 2, .nanoseconds(1)) { return true }
        if track == leading {
            guard packet.isKeyFrame || !awaitsKeyFrame else { return true }
            awaitsKeyFrame = false
            if !hasBegun, packet.isKeyFrame, packet.timestamp <= MediaTime.zero + from {
                // A later begin; sound that is heard after it stays.
                waiting.removeAll { $0.track == leading || $0.timestamp + $0.duration <= packet.timestamp }
                waitingBytes = waiting.reduce(0) { $0 + $1.data.count }
            } else if packet.timestamp > MediaTime.zero + from {
                hasBegun = true
            }
        }
        waiting.append(packet)
        waitingBytes += packet.data.count
        if waitingBytes > ClipCutter.maximumBytes { hasBegun = true }
        return true
    }

    /// When the pictures that wait begin, since 1970; nil before the first.
    var start: Duration? { waiting.first { $0.track == leading }.map { $0.timestamp - .zero } }

    /// Gives the packets that wait, once the begin is known.
    ///
    /// - Parameter isEnd: whether the file has no more.
    mutating func takePackets(atEnd isEnd: Bool = false) -> [MediaPacket] {
        guard hasBegun || isEnd, !waiting.isEmpty else { return [] }
        // Sound of before the first picture would delay it.
        let begin = last.isEmpty ? waiting.first { $0.track == leading }?.timestamp : nil
        let packets = waiting.filter { packet in
            begin.map { packet.track == leading || packet.timestamp + packet.duration > $0 } ?? true
        }
        (waiting, waitingBytes, hasBegun) = ([], 0, true)
        for packet in packets { last[packet.track] = (packet.decodeTimestamp ?? packet.timestamp, packet.duration) }
        return packets
    }
}

extension TrackDescription {
    /// Whether a decoder of this track goes on with another one.
    fileprivate func continues(in other: TrackDescription) -> Bool {
        guard codec == other.codec else { return false }
        switch (media, other.media) {
        case (.video(let one), .video(let two)):
            guard one.width == two.width, one.height == two.height else { return false }
            let bytes = [decoderConfiguration, other.decoderConfiguration].map { $0?.withUnsafeBytes { Array($0) } }
            return bytes[0] == bytes[1]
        case (.audio(let one), .audio(let two)):
            // What players skip at the begin differs from file to file.
            return one.sampleRate == two.sampleRate && one.channelCount == two.channelCount
        default: return false
        }
    }
}
