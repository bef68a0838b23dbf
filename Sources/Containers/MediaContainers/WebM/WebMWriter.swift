import VideoCapturing

/// Writes WebM (RFC 9559 and the WebM guidelines), with one or several tracks of VP8 and Opus: a seekable file, or a live
/// stream when the output is a pipe.
///
/// The packets of several tracks are interleaved by time, for which they wait for each other for at most a second; at equal
/// times sound comes first. Blocks are in ascending order of time across all tracks, as
/// browsers demand: a packet that is later than that gets the time of the one before it. A cluster begins with each key
/// frame of the first video track, and when the open one reaches a limit; a file of sound alone has an index of the
/// latter. Each packet is passed to the kernel at once. In a file the sizes of closed clusters and the Duration are kept up to date, so that a file that is
/// truncated anywhere plays up to there; ``finish()`` adds the index. In a pipe nothing is rewritten: Segment and clusters
/// have unknown sizes, as players of live streams expect.
///
/// Timestamps are those of the capture, to the millisecond, from 0 at the first packet. Orientation and mirroring are not
/// recorded, since browsers ignore them: rotate the frames before encoding. A change of the size within the file is written
/// as is, since VP8 key frames carry it; the header keeps the first size, and players handle such files differently.
/// Without a packet the file stays empty.
///
/// A packet of Opus has the time at which its first encoded sample was captured; players subtract the decoder's delay,
/// which the header states. One whose `MediaPacket.duration` is shorter than what it decodes to ends in padding, which
/// players discard.
public final class WebMWriter: PacketWriter {
    /// The limits at which a cluster is closed without waiting for a key frame.
    public struct Options: Sendable, Hashable {
        /// The longest cluster; at most 32.767 s, the range of a block's 16-bit time.
        public var maximumClusterDuration: Duration
        /// The bytes after which a cluster is closed.
        public var maximumClusterBytes: Int64

        /// Creates options.
        public init(maximumClusterDuration: Duration = .seconds(5), maximumClusterBytes: Int64 = 4 << 20) {
            self.maximumClusterDuration = maximumClusterDuration
            self.maximumClusterBytes = maximumClusterBytes
        }
    }

    private let file: OutputFile
    private let clusterMilliseconds: Int64
    private let clusterBytes: Int64
    private let state = Locked(State())

    private struct State {
        var scratch = EBML(capacity: 1024)
        var tracks: [Track] = []
        var interleaver = PacketInterleaver([])
        var start: MediaTime?
        var cues = WebMCues()
        var layout: WebMLayout?
        var cluster: Cluster?
        /// The index of the track whose key frames begin clusters: the first of video; nil for sound alone.
        var video: Int?
        /// The time of the last block.
        var lastTime: Int64 = 0
        var isFinished = false
    }

    /// A track, whose number in the file is its index in the list, from 1.
    private struct Track {
        let description: TrackDescription
        var clock: WebMClock

        init(_ description: TrackDescription) {
            self.description = description
            clock = WebMClock(description)
        }
    }

    private struct Cluster {
        /// The offset of its first byte in the file.
        var position: Int64
        /// Its timestamp, to which the times of its blocks are relative.
        var time: Int64
        /// Whether the index has it.
        var hasCue = false
        /// The offset of its content, after id and size.
        var content: Int64 { position + 12 }
    }

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - file: the output, which ``finish()`` closes.
    ///   - options: the limits of clusters.
    public init(_ file: OutputFile, options: Options = Options()) {
        self.file = file
        clusterMilliseconds = min(max(options.maximumClusterDuration.nanoseconds / 1_000_000, 1), 32_767)
        clusterBytes = options.maximumClusterBytes
    }

    public var bytesWritten: Int64 { file.bytesWritten }

    /// Begins the file with one or several tracks of VP8 and Opus.
    ///
    /// - Throws: `MediaFileError` with the code `formatUnsupported` for others.
    public func begin(_ tracks: [TrackDescription]) throws {
        try WebMWriter.check(tracks, subject: file.path)
        state.withLock { state in
            state.tracks = tracks.map { Track($0) }
            state.video = tracks.firstIndex(where: \.isVideo)
            state.cues.track = (state.video ?? 0) + 1
            let sound = tracks.filter { !$0.isVideo }
            // At equal times sound comes first.
            state.interleaver = PacketInterleaver(sound.map(\.id) + tracks.filter(\.isVideo).map(\.id))
        }
    }

    /// Checks that the tracks can be written.
    ///
    /// - Throws: `MediaFileError` with the code `formatUnsupported`.
    package static func check(_ tracks: [TrackDescription], subject: String) throws(MediaFileError) {
        func refusal(_ message: String) -> MediaFileError {
            MediaFileError(.formatUnsupported, operation: "begin the file", subject: subject, message: message)
        }
        guard (1...WebMLayout.maximumTrackCount).contains(tracks.count) else {
            throw refusal(
                "WebM is written with 1 to \(WebMLayout.maximumTrackCount) tracks, and these are \(tracks.count).")
        }
        for track in tracks {
            switch track.media {
            case .video where track.codec == .vp8: break
            case .audio(let audio) where track.codec == .opus:
                guard OpusSyntax.isComplete(track, audio) else {
                    throw refusal(
                        "WebM is written with Opus of 1 or 2 channels and its OpusHead as decoder configuration, which "
                            + "track \(track.id.rawValue) lacks.")
                }
            default:
                throw refusal(
                    "WebM is written with VP8 and Opus only, and track \(track.id.rawValue) is \(track.codec).")
            }
        }
        guard Set(tracks.map(\.id)).count == tracks.count else {
            throw refusal("Two tracks have the same identifier; give each its own.")
        }
    }

    private func refusal(_ message: String) -> MediaFileError {
        MediaFileError(.formatUnsupported, operation: "begin the file", subject: file.path, message: message)
    }

    /// Adds a packet. An empty packet is ignored.
    public func write(_ packet: MediaPacket) throws {
        guard packet.data.count > 0 else { return }
        try state.withLock { state in
            guard state.tracks.contains(where: { $0.description.id == packet.track }) else {
                throw refusal("A packet belongs to track \(packet.track.rawValue), with which the file was not begun.")
            }
            // Moved out, since its output changes the state.
            var interleaver = state.interleaver
            state.interleaver = PacketInterleaver([])
            defer { state.interleaver = interleaver }
            try interleaver.add(packet) { try append($0, &state) }
        }
    }

    private func append(_ packet: MediaPacket, _ state: inout State) throws {
        if state.layout == nil { try writeHeader(&state) }
        let index = state.tracks.firstIndex { $0.description.id == packet.track } ?? 0
        let start = state.start ?? packet.timestamp
        state.start = start
        let time = max(state.tracks[index].clock.timestamp(of: packet, since: start), state.lastTime)
        let isEntry = packet.isKeyFrame && index == state.video
        if needsCluster(state, at: time, isEntry) {
            try closeCluster(&state)
            openCluster(&state, at: time)
        } else {
            state.scratch.removeAll()
        }
        if isEntry || state.video == nil && packet.isKeyFrame { addCue(&state) }
        state.lastTime = time
        let offset = time - (state.cluster?.time ?? time)
        let padding = packet.paddingDuration(in: state.tracks[index].description)
        if padding > .zero {
            state.scratch.appendGroupHeader(
                track: index + 1, offset: offset, padding: padding, bytes: packet.data.count)
        } else {
            state.scratch.appendBlockHeader(track: index + 1, offset: offset, packet, bytes: packet.data.count)
        }
        try file.write(state.scratch)
        try packet.data.withUnsafeBytes { bytes in try file.write(bytes) }
        try file.endRecord()
        state.tracks[index].clock.advance(to: time, packet, since: start)
    }

    /// Closes the last cluster; in a file writes the index, the exact duration and the sizes. After a failed
    /// write it only corrects the header, closes the file, and throws the failure again.
    public func finish() throws {
        try state.withLock { state in
            guard !state.isFinished else { return }
            state.isFinished = true
            defer { try? file.close() }
            var interleaver = state.interleaver
            // A failure to write the rest must not prevent the correction of the header.
            let flushed = Result { try interleaver.flush { try append($0, &state) } }
            try closeCluster(&state)
            if file.isSeekable, let layout = state.layout { try writeIndex(&state, layout) }
            try file.close()
            try flushed.get()
        }
    }

    private func writeHeader(_ state: inout State) throws(MediaFileError) {
        state.scratch.removeAll()
        let layout = WebMLayout(
            appendingHeaderTo: &state.scratch, tracks: state.tracks.map(\.description), isSeekable: file.isSeekable)
        try file.write(state.scratch)
        try file.endRecord()
        state.layout = layout
    }

    private func needsCluster(_ state: State, at time: Int64, _ isEntry: Bool) -> Bool {
        guard let cluster = state.cluster else { return true }
        // Sound of the same time may have begun it already.
        if isEntry, cluster.hasCue || cluster.time != time { return true }
        return time - cluster.time >= clusterMilliseconds || file.bytesWritten - cluster.position >= clusterBytes
    }

    /// Leaves the cluster's start in `scratch`, to be written together with its first block.
    private func openCluster(_ state: inout State, at time: Int64) {
        state.scratch.removeAll()
        state.scratch.openMaster(.cluster)
        state.scratch.unsigned(.timestamp, UInt64(time))
        state.cluster = Cluster(position: file.bytesWritten, time: time)
    }

    /// Lists the cluster in the index, once.
    private func addCue(_ state: inout State) {
        guard let cluster = state.cluster, !cluster.hasCue else { return }
        state.cluster?.hasCue = true
        guard file.isSeekable, let layout = state.layout else { return }
        state.cues.add(time: cluster.time, position: cluster.position - layout.segmentStart)
    }

    /// In a file: writes the cluster's size, and the duration so far.
    private func closeCluster(_ state: inout State) throws(MediaFileError) {
        // A cluster whose first block could not be written is not in the file.
        guard file.isSeekable, let layout = state.layout, let cluster = state.cluster,
            cluster.content < file.bytesWritten
        else { return }
        state.scratch.removeAll()
        state.scratch.fixedSize(file.bytesWritten - cluster.content)
        try file.patch(state.scratch, at: cluster.position + 4)
        state.scratch.removeAll()
        state.scratch.float(.duration, state.tracks.map(\.clock.end).max() ?? 0)
        try file.patch(state.scratch, at: layout.duration)
        state.cluster = nil
    }

    private func writeIndex(_ state: inout State, _ layout: WebMLayout) throws(MediaFileError) {
        let position = file.bytesWritten
        let hasCues = !state.cues.isEmpty
        if hasCues {
            state.scratch.removeAll()
            state.cues.append(to: &state.scratch)
            try file.write(state.scratch)
            try file.endRecord()
        }
        state.scratch.removeAll()
        state.scratch.appendSeekHead(layout, cues: hasCues ? position : nil)
        try file.patch(state.scratch, at: layout.seekHead)
        state.scratch.removeAll()
        state.scratch.fixedSize(file.bytesWritten - layout.segmentStart)
        try file.patch(state.scratch, at: layout.segmentSize)
    }
}

extension TrackDescription {
    /// Whether it holds pictures.
    var isVideo: Bool {
        if case .video = media { return true }
        return false
    }
}

extension MediaPacket {
    /// How much of what a packet of Opus decodes to is not to be heard. A tenth of a millisecond or less is the rounding
    /// of its duration.
    fileprivate func paddingDuration(in track: TrackDescription) -> Duration {
        guard track.codec == .opus, duration > .zero else { return .zero }
        let padding = data.withUnsafeBytes { OpusSyntax.duration(ofPacket: $0) } - duration
        return padding > .microseconds(100) ? padding : .zero
    }
}
