import AudioCapturing
import VideoCapturing

/// One output at its publisher.
///
/// `output` is opened, closed and discarded by one thread at a time, as ``MediaPublisher`` demands of its users.
final class OutputRecord: Sendable {
    let id: MediaPublisher.OutputID
    let output: any MediaOutput
    /// How to encode for it; nil for the publisher's settings.
    let encoding: EncodingSettings?
    /// What becomes of the frames for it.
    let frames: MediaPublisher.FrameSettings
    /// The output that it belongs to; nil for most.
    let owner: MediaPublisher.OutputID?

    struct State {
        var isOpen = false
        var hasFailed = false
        var hasCompleted = false
        /// The threads that end its supply.
        var endings = 0
        /// Of an output that takes frames.
        var subscription: PublisherSubscription?
        /// Of an output that takes packets.
        var stage: EncoderStage?
        /// Of an output that takes sound.
        var audio: AudioStage?
        /// Of an output that packets are passed on to.
        var relay: PacketRelay?
        /// Of an output whose receivers get packets that are passed on.
        var receivers: PacketReceivers?
        /// Of an output that packets are not passed on to, though there are some.
        var reasonToDecode: String?
        /// The names of its sinks at its encoders: its own, and those of receivers.
        var sinks: Set<String>
    }

    let state: Locked<State>

    init(
        _ output: any MediaOutput, id: MediaPublisher.OutputID, encoding: EncodingSettings?,
        frames: MediaPublisher.FrameSettings, owner: MediaPublisher.OutputID? = nil
    ) {
        state = Locked(State(sinks: ["\(id.index)"]))
        self.frames = frames
        self.owner = owner
        self.output = output
        self.id = id
        self.encoding = encoding
    }

    var subscription: PublisherSubscription? { state.withLock { $0.subscription } }
    var stage: EncoderStage? { state.withLock { $0.stage } }
    var audio: AudioStage? { state.withLock { $0.audio } }
    var relay: PacketRelay? { state.withLock { $0.relay } }
    var receivers: PacketReceivers? { state.withLock { $0.receivers } }
    var sinks: Set<String> { state.withLock { $0.sinks } }
    /// Whether what feeds it alone takes nothing.
    var isStalled: Bool { subscription?.statistics.isStalled ?? relay?.isStalled ?? false }
    var hasFailed: Bool { state.withLock { $0.hasFailed } }
    var takesMore: Bool { state.withLock { !$0.hasFailed && !$0.hasCompleted } }

    /// Whether the caller is this output.
    var isOnOwnThread: Bool {
        subscription?.isOnOwnThread ?? false || audio?.subscription?.isOnOwnThread ?? false
            || relay?.isOnOwnThread ?? false
    }

    /// Something ends its supply, until ``endEnding()``; it is not closed meanwhile.
    func beginEnding() { state.withLock { $0.endings += 1 } }

    func endEnding() {
        state.withLock { $0.endings -= 1 }
        state.wakeAll()
    }

    /// Marks it as failed; false when it is already.
    func markFailed() -> Bool {
        state.withLock { state in
            defer { state.hasFailed = true }
            return !state.hasFailed
        }
    }

    /// Marks it as completed; false when it is already, or has failed.
    func markCompleted() -> Bool {
        state.withLock { state in
            guard !state.hasFailed, !state.hasCompleted else { return false }
            state.hasCompleted = true
            return true
        }
    }

    /// Removes what was opened for a run that has not begun.
    func discard(from video: VideoPublisher) {
        let (wasOpen, subscription, stage, audio, relay) = state.withLock { state in
            defer { state.isOpen = false }
            return (state.isOpen, state.subscription, state.stage, state.audio, state.relay)
        }
        relay?.finish()
        if let subscription { video.remove(subscription) }
        stage?.encoding.remove("\(id.index)")
        audio?.encoder?.encoding.remove("\(id.index)")
        if wasOpen { output.discard() }
    }

    /// Completes it, and reports what that throws.
    func close(at end: MediaTime?, hasFrames: Bool, reportingTo publisher: MediaPublisher) {
        let (wasOpen, hasFailed) = state.withLock { state in
            defer { state.isOpen = false }
            return (state.isOpen, state.hasFailed)
        }
        let isStalled =
            isStalled || stage?.isStalled ?? false
            || audio?.subscription?.statistics.isStalled ?? false
        guard wasOpen, !isStalled else { return }
        _ = state.wait { $0.endings == 0 ? () : nil }
        do {
            try output.close(at: end)
        } catch {
            if !hasFailed { publisher.fail(self, error) }
        }
        if !hasFrames, output.outputStatistics.bytes == 0 { output.discard() }
    }
}

/// An encoder with the outputs that share it.
final class EncoderStage: Sendable {
    /// What outputs must have in common to share an encoder.
    struct Key: Hashable {
        var encoder: String
        var settings: EncodingSettings
        var frames: MediaPublisher.FrameSettings
        var purpose: EncodingSettings.Purpose
        /// Whether pixels of another shape are made square.
        var squaresPixels: Bool
    }

    /// Unique at its publisher.
    let number: Int
    let key: Key
    let codec: Codec
    /// The color of the frames for the encoder; nil for any.
    let color: ColorDescription?
    /// Bits per second at the beginning.
    let bitrate: Int
    let contentHint: VideoContentHint
    /// Whether further outputs may share it.
    let isShared: Bool
    let encoding: EncodingConsumer
    private struct State {
        var subscription: PublisherSubscription?
        var isRetired = false
    }
    private let state = Locked(State())

    init(
        _ number: Int, _ key: Key, _ entry: EncoderEntry, _ request: EncoderEntry.Request, isShared: Bool,
        encoding: EncodingConsumer
    ) {
        self.number = number
        self.key = key
        codec = entry.codec
        color = entry.encodedColor
        bitrate = request.bitrate
        contentHint = request.contentHint
        self.isShared = isShared
        self.encoding = encoding
    }

    var name: String { key.encoder }

    var subscription: PublisherSubscription? {
        get { state.withLock { $0.subscription } }
        set { state.withLock { $0.subscription = newValue } }
    }

    /// Whether it has ended, since no output was left, or it has failed.
    var isRetired: Bool { state.withLock { $0.isRetired } }

    /// Ends it when no output is left, so that nothing is converted for it.
    func retireIfIdle(at video: VideoPublisher) {
        if !encoding.isActive { retire(at: video) }
    }

    /// Ends its supply; no further output shares it.
    func retire(at video: VideoPublisher) {
        state.withLock { $0.isRetired = true }
        if let subscription { video.remove(subscription) }
    }

    /// Whether a call of the encoder, or of an output of it, does not return.
    var isStalled: Bool { subscription?.statistics.isStalled ?? false }
}
