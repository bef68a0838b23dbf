import AudioCapturing
import VideoCapturing

/// The sound in flight to an encoder, or to a consumer of samples: put on the time line of the pictures, and handed on.
///
/// Safe to use from any thread; what comes next is called by one at a time, and with no lock held.
final class AudioStage: AudioCaptureConsumer {
    /// What outputs must have in common to share an encoder.
    struct Key: Hashable {
        var encoder: String
        var settings: AudioEncodingSettings
        var isLive: Bool
    }

    /// The encoder, and what outputs share it by; nil for a consumer of samples.
    let encoder: (key: Key, codec: Codec, track: TrackDescription?, encoding: AudioEncodingConsumer)?

    /// How long sound may come later than pictures of its time before silence takes its place: less than the second for
    /// which containers hold pictures back.
    private static let lateness = Duration.milliseconds(500)
    /// Live, sound that comes so much later than pictures of its time is left out, and what follows it until it is of the
    /// present: this machine does not keep up, and the delay would stay.
    private static let longestDelay = Duration.milliseconds(800)
    /// The same once more than ``audibleHole`` is missing.
    private static let longestDelayAfterHole = Duration.milliseconds(600)
    private static let audibleHole = Duration.milliseconds(200)
    private static let longestHole = Duration.seconds(3)
    /// Chunks that wait for the first picture: two seconds of 20 ms; older ones are left out.
    private static let maximumWaiting = 100

    private struct State {
        var isBusy = false
        var hasEnded = false
        var waiting: [AudioChunk] = []
        /// The end of the newest chunk.
        var inputEnd: MediaTime?
        /// The time of the newest picture.
        var pictureTime: MediaTime?
        var statistics = AudioSynchronizer.Statistics()
        var subscription: AudioSubscription?
    }

    private let state = Locked(State())
    private let line: Line
    private let next: any AudioCaptureConsumer
    private let startTime: @Sendable (AudioChunk?) -> MediaTime?
    private let endTime: @Sendable () -> MediaTime?
    private let isLive: Bool
    private let maximumDuration: Duration?
    private let onLimit: @Sendable () -> Void
    private let onFailure: @Sendable (any Error) -> Void

    /// - Parameters:
    ///   - format: that of the capture, whose channels are kept.
    ///   - encoder: what it feeds.
    ///   - consumer: what it feeds; the encoder's consumer where there is one.
    ///   - isLive: whether it is better to lose sound than to delay it.
    ///   - startTime: the time of the first frame, which may follow from the first chunk; nil while it is unknown.
    ///   - endTime: where the pictures end; nil while that is unknown.
    ///   - maximumDuration: how much is given.
    ///   - onLimit: called, possibly more than once, when all of that has been given.
    ///   - onFailure: called when nothing more can be given.
    init(
        _ format: AudioFormat,
        encoder: (key: Key, codec: Codec, track: TrackDescription?, encoding: AudioEncodingConsumer)?,
        to consumer: any AudioCaptureConsumer, isLive: Bool, maximumDuration: Duration?,
        startTime: @escaping @Sendable (AudioChunk?) -> MediaTime?,
        endTime: @escaping @Sendable () -> MediaTime?, onLimit: @escaping @Sendable () -> Void,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) {
        line = Line(channels: format.channels)
        self.encoder = encoder
        next = consumer
        self.isLive = isLive
        self.startTime = startTime
        self.endTime = endTime
        self.maximumDuration = maximumDuration
        self.onLimit = onLimit
        self.onFailure = onFailure
    }

    var subscription: AudioSubscription? {
        get { state.withLock { $0.subscription } }
        set { state.withLock { $0.subscription = newValue } }
    }

    var statistics: AudioSynchronizer.Statistics { state.withLock { $0.statistics } }

    func consumeAudio(_ chunk: AudioChunk) {
        exclusively { line in
            state.withLock { state in
                state.inputEnd = chunk.endTimestamp
                if state.waiting.count == AudioStage.maximumWaiting { state.waiting.removeFirst() }
                if line.synchronizer == nil { state.waiting.append(chunk) }
            }
            state.wakeAll()
            guard let synchronizer = line.synchronizer else { return try begin(with: chunk) }
            guard !isTooLate(chunk, line, synchronizer) else {
                synchronizer.leaveOut(chunk)
                return state.withLock { $0.statistics = synchronizer.statistics }
            }
            // Sound that is read ahead of the clock would go on beyond the last picture.
            if let end = endTime() { synchronizer.setEnd(end) }
            try give { try $0.add(chunk, to: $1) }
        }
    }

    /// Whether a live chunk is left out. Then so much is, that the hole is jumped over: silence in its place would cost what
    /// the sound does.
    private func isTooLate(_ chunk: AudioChunk, _ line: Line, _ synchronizer: AudioSynchronizer) -> Bool {
        guard isLive, let picture = state.withLock({ $0.pictureTime }) else { return false }
        let delay = picture - chunk.endTimestamp
        let hole = synchronizer.hole(before: chunk.timestamp)
        if line.isLate {
            line.isLate = delay > AudioStage.lateness || hole <= AudioSynchronizer.longestSilence
        } else {
            let isBehind = hole > AudioStage.audibleHole && delay > AudioStage.longestDelayAfterHole
            line.isLate = isBehind || delay > AudioStage.longestDelay
        }
        return line.isLate
    }

    /// A picture of a time has come: sound that is much later than that is given up.
    ///
    /// - Parameter waiting: the chunks that wait in its queue; nil for those of its subscription.
    func advance(to time: MediaTime, waiting: Int? = nil) {
        state.withLock { $0.pictureTime = time }
        // What waits in the queue has come in time.
        guard (waiting ?? subscription?.statistics.waiting) == 0 else { return }
        exclusively { line in
            if line.isLate, let synchronizer = line.synchronizer {
                // The hole is jumped over, once sound of the present comes, or none.
                guard synchronizer.hole(before: time) > AudioStage.longestHole else { return }
                line.isLate = false
            }
            if line.synchronizer == nil { try begin(with: nil) }
            try give { try $0.fill(until: time.advanced(by: .zero - AudioStage.lateness), to: $1) }
        }
    }

    /// Blocks until sound up to a time has come, or the limit of real time has passed.
    func awaitSound(until end: MediaTime, atMost limit: Duration) {
        _ = state.wait(until: MonotonicClock().now.advanced(by: limit)) { state -> Void? in
            state.hasEnded || state.inputEnd.map { $0.advanced(by: .milliseconds(2)) >= end } ?? false ? () : nil
        }
    }

    /// Gives everything up to a time, or all that came, and ends.
    func finish(at end: MediaTime?) {
        exclusively { line in
            if line.synchronizer == nil { try begin(with: nil) }
            try give { try $0.finish(at: end, to: $1) }
        }
        markEnded()
        encoder?.encoding.finish()
    }

    private func markEnded() {
        state.withLock { $0.hasEnded = true }
        state.wakeAll()
    }

    /// Makes the time line, once its start is known, and gives what waited for that.
    private func begin(with chunk: AudioChunk?) throws {
        guard let start = startTime(chunk) else { return }
        let synchronizer = AudioSynchronizer(from: start, channels: line.channels, mayJump: isLive)
        if let maximumDuration { synchronizer.setEnd(start.advanced(by: maximumDuration)) }
        line.synchronizer = synchronizer
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for chunk in waiting { try give { try $0.add(chunk, to: $1) } }
    }

    private func give(_ body: (AudioSynchronizer, (AudioChunk) throws -> Void) throws -> Void) throws {
        guard let synchronizer = line.synchronizer else { return }
        try body(synchronizer) { next.consumeAudio($0) }
        state.withLock { $0.statistics = synchronizer.statistics }
        if synchronizer.hasReachedEnd { onLimit() }
    }

    /// Runs `body` while no other thread does; not after the end.
    private func exclusively(_ body: (Line) throws -> Void) {
        let mayRun = state.wait { state -> Bool? in
            guard !state.isBusy else { return nil }
            guard !state.hasEnded else { return false }
            state.isBusy = true
            return true
        }
        guard mayRun == true else { return }
        do {
            try body(line)
        } catch {
            state.withLock { $0.hasEnded = true }
            onFailure(error)
        }
        state.withLock { $0.isBusy = false }
        state.wakeAll()
    }

    /// `@unchecked Sendable`: ``exclusively(_:)`` lets one thread in, and hands over through its lock.
    private final class Line: @unchecked Sendable {
        let channels: ChannelLayout
        @exclusivity(unchecked) var synchronizer: AudioSynchronizer?
        /// Whether sound is left out until it is of the present.
        @exclusivity(unchecked) var isLate = false

        init(channels: ChannelLayout) { self.channels = channels }
    }
}

/// Passes the times of the pictures to the stages of the sound, on a separate thread, so that no capture waits for them.
final class PictureClock: FeedbackConsumer {
    private let onFrame: @Sendable (MediaTime) -> Void

    init(onFrame: @escaping @Sendable (MediaTime) -> Void) { self.onFrame = onFrame }

    func connectFeedback(_ feedback: CaptureFeedback?) {
        // Any frame is right.
        feedback?.updateWants(CaptureWants(acceptsCompressed: true, acceptsNativeFormat: true, isPassive: true))
    }

    func consumeFrame(_ frame: VideoFrame) { onFrame(frame.timestamp) }
}

extension AudioSynchronizer {
    /// What it has done, in frames of 48 kHz and of the capture.
    struct Statistics: Sendable, Hashable {
        /// Silence in place of sound that is missing, and holes that were jumped over.
        var framesOfSilence: Int64 = 0
        /// Sound that came too late, or twice.
        var framesLeftOut: Int64 = 0
    }

    /// A hole that is longer is jumped over, where that is allowed: more than the gaps that Opus fills with silence.
    static let longestSilence = Duration.milliseconds(1100)
}
