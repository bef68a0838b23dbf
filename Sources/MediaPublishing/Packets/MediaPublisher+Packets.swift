import AudioCapturing
public import PacketCapturing
import VideoCapturing

extension MediaPublisher {
    /// A publisher of packets as they come, without outputs: what a camera, a stream or a file has encoded is passed on to
    /// each output that takes it, pictures and sound; nothing is decoded or encoded.
    ///
    /// ```swift
    /// let publisher = MediaPublisher(packets: PacketFileCapturer(path: "film.mp4"))
    /// try publisher.add(FFmpegOutput("film.mkv"))
    /// try publisher.start()
    /// ```
    /// An output that cannot take the packets fails before anything is opened. A new one begins with a key frame. Files get
    /// every packet; live outputs lose whole groups of pictures when they are too slow.
    ///
    /// - Parameters:
    ///   - packets: what is published; the publisher sets its consumer, and releases it in the end.
    ///   - settings: how to publish; encoders are of no use. The limits count packets of the leading track.
    public convenience init(packets: any PacketCapture, settings: Settings = Settings()) {
        self.init(video: PacketsAsVideo(packets), audio: nil, hasVideo: true, settings, packets: packets)
    }

    /// The tracks that are passed on; empty for a publisher of frames, and before the capture is initialized.
    public var tracks: [TrackDescription] { passing?.tracks ?? [] }

    /// Opens outputs of packets and connects them. Compares the tracks first, so that no file is created for nothing.
    func connect(_ records: [OutputRecord], passing: PacketFanOut) throws {
        let count = state.withLock { $0.records.count { !$0.output.isAuxiliary } }
        if count > 1, !isStopRequested {
            for record in state.withLock({ $0.records }) { record.output.setWriteTimeout(settings.writeTimeout) }
        }
        let all = passing.tracks
        let taken = try records.map { try tracks(for: $0, of: all) }
        var opened: [(OutputRecord, [TrackDescription], any PacketSink)] = []
        for (record, tracks) in zip(records, taken) {
            let destination = try record.output.open(try context(of: record))
            record.state.withLock { $0.isOpen = true }
            guard case .sink(let sink) = destination else { throw MediaPublisher.takesNoPackets(record.output) }
            opened.append((record, tracks, sink))
        }
        for (record, tracks, sink) in opened {
            let relay = try passing.add(sink, tracks, policy(for: record, count)) { [weak self, weak record] error in
                if let record { self?.fail(record, error) }
            }
            record.state.withLock { $0.relay = relay }
        }
    }

    private func policy(for record: OutputRecord, _ count: Int) -> PacketRelay.Policy {
        if case .packets(let feed) = record.output.feed, feed.purpose == .live { return .drop }
        if settings.pacing == .realTime, count > 1, record.output.path != nil, record.output.limitsOwnWaits {
            return .drop
        }
        return .block(timeout: count > 1 && !record.output.limitsOwnWaits ? settings.diskTimeout : nil)
    }

    /// The tracks that an output takes of those that there are.
    ///
    /// - Throws: `OptionError` with the reason, and what to do, where it cannot take them.
    private func tracks(for record: OutputRecord, of all: [TrackDescription]) throws -> [TrackDescription] {
        let output = record.output
        guard record.frames == FrameSettings(), record.encoding == nil else {
            throw OptionError(
                "output", output.name,
                "size, rate, text and encoding need frames, and packets are passed on as they come; leave them out, or "
                    + "encode.")
        }
        let tracks: [TrackDescription]
        switch output.feed {
        case .frames: throw MediaPublisher.takesNoPackets(output)
        case .packets(let feed) where feed.needsOwnEncoder:
            throw OptionError(
                "output", output.name,
                "needs its own encoder, which follows the bandwidth of the network; encode, or leave it out.")
        case .packets where output.audioFeed == nil:
            tracks = all.filter(\.isVideo)
            if tracks.count < all.count, let reason = output.silenceReason {
                post(.warning("\(output.name) has no sound: \(reason)."))
            }
        case .packets: tracks = all
        case .noVideo: tracks = all.filter { !$0.isVideo }
        }
        guard !tracks.isEmpty else {
            let lacking = output.feed == .noVideo ? "sound" : "pictures"
            throw OptionError(
                "output", output.name, "is for \(lacking), which the source lacks; choose another output.")
        }
        if let problem = output.problem(passing: tracks) {
            throw OptionError("output", output.name, problem)
        }
        return tracks
    }

    private static func takesNoPackets(_ output: any MediaOutput) -> OptionError {
        OptionError(
            "output", output.name,
            "\(output.kind) takes frames, and packets are passed on as they come; choose an output of packets, such as "
                + "film.mkv, or encode.")
    }
}

extension MediaOutput {
    /// By the codecs of ``feed`` and ``audioFeed``.
    public func problem(passing tracks: [TrackDescription]) -> String? {
        var pictures: [Codec] = []
        var sound: [Codec] = []
        if case .packets(let feed) = feed { pictures = feed.codecs }
        if case .packets(let codecs)? = audioFeed { sound = codecs }
        for track in tracks where !(track.isVideo ? pictures : sound).contains(track.codec) {
            let taken = (track.isVideo ? pictures : sound).map(\.rawValue).joined(separator: ", ")
            let media = track.isVideo ? "pictures" : "sound"
            return "\(kind) takes \(media) as \(taken.isEmpty ? "nothing" : taken), and here is \(track.codec); choose "
                + "another output, such as film.mkv, or encode."
        }
        return nil
    }
}

extension MediaPublisher.Statistics {
    /// The packets of a capture that were passed on to an output as they came.
    public struct PassedOn: Sendable, Hashable {
        /// The codecs of the tracks that it takes.
        public var tracks: [Codec]
        /// Packets that were written.
        public var packets: UInt64
        /// Their encoded bytes.
        public var bytes: UInt64
        /// Packets that were dropped, since the output was too slow.
        public var packetsDropped: UInt64
    }
}
