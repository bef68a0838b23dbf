import H264Bitstream
import VideoCapturing

/// Splits packets at key frames. Called by one thread at a time, as every sink is.
final class SplitSink: FeedbackSink, SplittingSink {
    private let output: SplitOutput
    private struct State {
        var sink: any PacketSink
        var isFinished = false
        var tracks: [TrackDescription] = []
        /// The track whose key frames begin files: the pictures, where there are any.
        var leading: TrackID?
        var feedback: PacketFeedback?
        var hasAsked = false
        /// Of the leading track, which may change.
        var parameters = PictureParameters()
        /// The time of the key frame with which the next file begins, once the encoder knows of it.
        var nextStart: MediaTime?
        /// The end of the sound, with which the next file begins again.
        var overlaps: [TrackID: SoundOverlap] = [:]
        /// The disk takes no packets, or only again.
        var outage: Outage?

        /// Whether a key frame has other parameters than the file that is written.
        mutating func changes(with packet: MediaPacket) -> Bool {
            guard packet.isKeyFrame, let index = tracks.firstIndex(where: { $0.id == leading && $0.id == packet.track })
            else { return false }
            return parameters.learn(packet, &tracks[index])
        }

        /// The packet with its time in the present file.
        mutating func placed(_ packet: MediaPacket) -> MediaPacket {
            overlaps[packet.track]?.add(packet)
            return overlaps[packet.track]?.shifted(packet) ?? packet
        }
    }

    private struct Outage {
        /// The time of the first packet that no file has.
        let begin: MediaTime
        /// When the next file is tried.
        var retry: MediaTime
        /// The time of the first packet of the file that has been begun since; nil without one.
        var resumption: MediaTime?
        /// The end of the last packet that no file has.
        var end: MediaTime
    }

    private let state: Locked<State>

    /// Writers gather about a second, so that a full disk shows only then. What fails earlier was no file.
    private static let probation = Duration.seconds(3)

    init(_ sink: any PacketSink, of output: SplitOutput) {
        self.output = output
        state = Locked(State(sink: sink))
    }

    func connectFeedback(_ feedback: PacketFeedback?) {
        let sink = state.withLock { state in
            state.feedback = feedback
            return state.sink
        }
        (sink as? any FeedbackSink)?.connectFeedback(feedback)
    }

    func begin(_ tracks: [TrackDescription]) throws {
        let sink = state.withLock { state in
            state.tracks = tracks
            let pictures = tracks.first { if case .video = $0.media { true } else { false } }
            state.leading = (pictures ?? tracks.first)?.id
            for track in tracks { state.overlaps[track.id] = SoundOverlap(track, kind: output.kind) }
            return state.sink
        }
        try sink.begin(tracks)
    }

    func beginsPart(at time: MediaTime) -> Bool {
        guard state.withLock({ $0.nextStart == nil }), output.isDue(at: time) else { return false }
        state.withLock { $0.nextStart = time }
        return true
    }

    func write(_ packet: MediaPacket) throws {
        let (outage, leading) = state.withLock { ($0.outage, $0.leading) }
        do {
            if let outage, outage.resumption == nil {
                state.withLock { $0.outage?.end = max(outage.end, packet.timestamp + packet.duration) }
                try resume(with: packet, outage)
            } else {
                try add(packet)
            }
            guard packet.track == leading, let begin = outage?.resumption,
                packet.timestamp - begin >= SplitSink.probation
            else { return }
            recover()
        } catch {
            try? finishFile()
            try output.abandon(error, isAgain: outage != nil)
            state.withLock { state in
                let retry = MonotonicClock().now + output.retryInterval
                state.outage = Outage(
                    begin: outage?.begin ?? packet.timestamp, retry: retry,
                    end: max(outage?.end ?? packet.timestamp, packet.timestamp + packet.duration))
                state.hasAsked = false
                state.nextStart = nil
            }
        }
    }

    /// Begins a file after an outage with the next key frame, once the disk may take it again.
    private func resume(with packet: MediaPacket, _ outage: Outage) throws {
        guard packet.track == state.withLock({ $0.leading }), MonotonicClock().now >= outage.retry else { return }
        guard packet.isKeyFrame else { return requestKeyFrame() }
        let destination = try output.next(at: packet.timestamp)
        state.withLock { state in
            state.outage?.resumption = packet.timestamp
            _ = state.changes(with: packet)
            // Sound of before the outage does not continue.
            for track in state.tracks { state.overlaps[track.id] = SoundOverlap(track, kind: output.kind) }
        }
        try beginNext(destination, with: packet)
    }

    /// The disk has taken a file again.
    private func recover() {
        guard let outage = state.withLock({ $0.outage.take() }), let end = outage.resumption else { return }
        output.didRecover(lost: end - outage.begin)
    }

    private func requestKeyFrame() {
        let feedback = state.withLock { state in
            defer { state.hasAsked = true }
            return state.hasAsked ? nil : state.feedback
        }
        feedback?.requestKeyFrame()
    }

    private func add(_ packet: MediaPacket) throws {
        let (sink, leading, nextStart, changes) = state.withLock { state in
            (state.sink, state.leading, state.nextStart, state.changes(with: packet))
        }
        // What comes before the announced start, as the last picture again, still belongs to this file, key frame or not.
        let isBefore = nextStart.map { packet.timestamp < $0 } ?? false
        // A header describes one kind of pictures.
        guard changes || packet.track == leading && !isBefore && output.isDue(at: packet.timestamp) else {
            return try put(packet, to: sink)
        }
        guard packet.isKeyFrame else {
            requestKeyFrame()
            return try put(packet, to: sink)
        }
        try finishFile()
        try beginNext(try output.next(at: packet.timestamp), with: packet)
    }

    private func finishFile() throws {
        let (sink, isFinished) = state.withLock { state in
            defer { state.isFinished = true }
            return (state.sink, state.isFinished)
        }
        guard !isFinished else { return }
        defer { (sink as? any FeedbackSink)?.connectFeedback(nil) }
        try sink.finish()
    }

    private func put(_ packet: MediaPacket, to sink: any PacketSink) throws {
        try sink.write(state.withLock { $0.placed(packet) })
        if packet.track == state.withLock({ $0.leading }) { output.record(packet) }
    }

    /// Begins a file with the end of the sound before it, and a key frame.
    private func beginNext(_ destination: OutputContext.Destination, with packet: MediaPacket) throws {
        guard case .sink(let next) = destination else {
            preconditionFailure("an output of packets has opened for frames")
        }
        let (tracks, sound, feedback) = state.withLock { state in
            (state.sink, state.isFinished) = (next, false)
            state.hasAsked = false
            state.nextStart = nil
            var sound: [MediaPacket] = []
            let tracks = state.tracks.map { track in
                guard let begun = state.overlaps[track.id]?.begin() else { return track }
                sound += begun.packets
                return begun.track
            }
            return (tracks, sound, state.feedback)
        }
        (next as? any FeedbackSink)?.connectFeedback(feedback)
        try next.begin(tracks)
        for packet in sound { try next.write(packet) }
        try put(packet, to: next)
    }

    func finish() throws {
        let outage = state.withLock { $0.outage }
        // The output reports the failure at its end.
        if let outage, outage.resumption == nil { return output.didStayAway(lost: outage.end - outage.begin) }
        try finishFile()
        recover()
    }
}

/// What a decoder needs of a track of pictures, by its key frames: a camera that was exchanged, or a sender that has returned,
/// may have another size or other parameter sets.
private struct PictureParameters {
    private var size: PixelSize?
    private var sets: [UInt8] = []

    /// Takes a key frame.
    ///
    /// - Parameter track: gets the size and the configuration of the key frame, where they differ from those before.
    /// - Returns: whether they differ; false for the first one.
    mutating func learn(_ packet: MediaPacket, _ track: inout TrackDescription) -> Bool {
        let configuration =
            track.codec == .h264 ? packet.data.withUnsafeBytes { try? AVCDecoderConfiguration(annexB: $0) } : nil
        let sets = configuration?.sequenceParameterSets.flatMap(\.self) ?? sets
        let stated = configuration?.parameters.map { PixelSize(width: $0.width, height: $0.height) }
        let size = stated ?? (packet.width > 0 ? PixelSize(width: packet.width, height: packet.height) : self.size)
        defer { (self.size, self.sets) = (size, sets) }
        guard let size, let earlier = self.size, size != earlier || sets != self.sets else { return false }
        if case .video(var video) = track.media {
            (video.width, video.height) = (size.width, size.height)
            track.media = .video(video)
        }
        if let configuration {
            track.decoderConfiguration = configuration.bytes.withUnsafeBytes { PacketBuffer(copying: $0) }
        }
        return true
    }
}
