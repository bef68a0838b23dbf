import VideoCapturing

/// Hands the packets of a video and a sound encoder to one sink, which is begun once, with both tracks.
///
/// The sound is known from the beginning, the video with its first key frame; sound waits for it, and what is earlier than
/// that picture is left out. The sink is called by one thread at a time, and with no lock held; it is finished when both
/// have ended, or one has failed.
final class TrackJoiner: Sendable {
    /// The identifiers of the tracks, for the encoders.
    static let videoTrack: TrackID = 0
    static let audioTrack: TrackID = 1

    /// Sound that waits for the first picture: five seconds in packets of 20 ms; older packets are left out.
    private static let maximumWaiting = 250

    private struct State {
        /// A thread is calling the sink.
        var isBusy = false
        var hasBegun = false
        /// The sink has been finished, or has failed.
        var hasEnded = false
        var openSides = 2
        var waiting: [MediaPacket] = []
    }

    private let sink: any PacketSink
    private let audio: TrackDescription
    private let state = Locked(State())

    /// - Parameters:
    ///   - sink: takes both tracks.
    ///   - audio: the track of the sound, whose identifier is replaced.
    init(_ sink: any PacketSink, audio: TrackDescription) {
        self.sink = sink
        var audio = audio
        audio.id = TrackJoiner.audioTrack
        self.audio = audio
    }

    /// The sink for the video encoder.
    var video: any PacketSink {
        sink is any FeedbackSink ? FeedbackInlet(self, isVideo: true) : Inlet(self, isVideo: true)
    }

    /// The sink for the sound encoder.
    var sound: any PacketSink { Inlet(self, isVideo: false) }

    private func begin(_ track: TrackDescription) throws { try exclusively { try sink.begin([track, audio]) } }

    private func write(_ packet: MediaPacket, isVideo: Bool) throws {
        try exclusively {
            let (isReady, waiting) = state.withLock { state -> (Bool, [MediaPacket]) in
                if isVideo, !state.hasBegun {
                    state.hasBegun = true
                    defer { state.waiting = [] }
                    return (true, state.waiting)
                }
                if !state.hasBegun {
                    if state.waiting.count == TrackJoiner.maximumWaiting { state.waiting.removeFirst() }
                    state.waiting.append(packet)
                }
                return (state.hasBegun, [])
            }
            for sound in waiting where sound.timestamp.advanced(by: sound.duration) > packet.timestamp {
                try sink.write(sound)
            }
            if isReady { try sink.write(packet) }
        }
    }

    private func finish() throws {
        let isLast = state.withLock { state in
            state.openSides -= 1
            return state.openSides <= 0
        }
        guard isLast else { return }
        try exclusively {
            state.withLock { $0.hasEnded = true }
            try sink.finish()
        }
    }

    /// Runs `body` while no other thread does; not after the end. What it throws ends the sink.
    private func exclusively(_ body: () throws -> Void) throws {
        let mayCall = state.wait { state -> Bool? in
            guard !state.isBusy else { return nil }
            guard !state.hasEnded else { return false }
            state.isBusy = true
            return true
        }
        guard mayCall == true else { return }
        defer {
            state.withLock { $0.isBusy = false }
            state.wakeAll()
        }
        do {
            try body()
        } catch {
            let isFirst = state.withLock { state in
                defer { state.hasEnded = true }
                return !state.hasEnded
            }
            if isFirst { try? sink.finish() }
            throw error
        }
    }

    /// One side of it.
    private class Inlet: SplittingSink, @unchecked Sendable {
        let joiner: TrackJoiner
        private let isVideo: Bool
        private let hasFinished = Locked(false)

        init(_ joiner: TrackJoiner, isVideo: Bool) {
            self.joiner = joiner
            self.isVideo = isVideo
        }

        func begin(_ tracks: [TrackDescription]) throws {
            if isVideo, let track = tracks.first { try joiner.begin(track) }
        }

        func beginsPart(at time: MediaTime) -> Bool {
            isVideo && (joiner.sink as? any SplittingSink)?.beginsPart(at: time) ?? false
        }

        func write(_ packet: MediaPacket) throws { try joiner.write(packet, isVideo: isVideo) }

        func finish() throws {
            let isFirst = hasFinished.withLock { hasFinished in
                defer { hasFinished = true }
                return !hasFinished
            }
            if isFirst { try joiner.finish() }
        }
    }

    /// The side of the video, where the sink asks for key frames.
    private final class FeedbackInlet: Inlet, FeedbackSink, @unchecked Sendable {
        func connectFeedback(_ feedback: PacketFeedback?) {
            (joiner.sink as? any FeedbackSink)?.connectFeedback(feedback)
        }
    }
}
