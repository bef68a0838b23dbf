import PacketCapturing
import VideoCapturing

/// Hands each packet of a capture to the outputs that it is passed on to, which come and go meanwhile.
final class PacketFanOut: PacketCaptureConsumer {
    /// Where the packets come from.
    let capture: any PacketCapture
    /// Takes the packets of the leading track for consumers of frames.
    private let frames: PacketsAsVideo?

    private struct State {
        var relays: [PacketRelay] = []
        /// Of which the line counts packets; nil before the first one.
        var leading: TrackID?
        var hasBegun = false
        var isHurried = false
    }

    private let line: FrameLine
    private let state = Locked(State())

    /// - Parameters:
    ///   - capture: where the packets come from; this becomes its consumer.
    ///   - frames: the same in the shape of a video capture.
    ///   - line: counts the pictures, and ends the run.
    init(_ capture: any PacketCapture, frames: PacketsAsVideo?, line: FrameLine) {
        self.capture = capture
        self.frames = frames
        self.line = line
        capture.packetCaptureConsumer = self
    }

    /// Whether the program has a decoder for a track.
    func decodes(_ track: TrackDescription) -> Bool { frames?.canDecode(track) ?? false }

    /// The tracks; known once the capture is initialized.
    var tracks: [TrackDescription] { capture.captureSettings().tracks }

    /// Begins to hand packets to a sink.
    ///
    /// - Throws: what the sink throws of the tracks.
    func add(
        _ sink: any PacketSink, _ tracks: [TrackDescription], _ policy: PacketRelay.Policy,
        onFailure: @escaping @Sendable (any Error) -> Void
    ) throws -> PacketRelay {
        let isLate = state.withLock { $0.hasBegun }
        // A sink that asks in vain would wait for an answer.
        let feedback =
            capture.requestKeyFrame()
            ? PacketFeedback(onKeyFrame: { [weak self] in self?.capture.requestKeyFrame() }, onBitrate: { _ in }) : nil
        let relay = try PacketRelay(
            to: sink, tracks, policy, isLate: isLate, feedback: feedback, onFailure: onFailure)
        let isHurried = state.withLock { state in
            state.relays.append(relay)
            return state.isHurried
        }
        if isHurried { relay.hurry() }
        // The key frame that was asked for above may have passed.
        if isLate { capture.requestKeyFrame() }
        return relay
    }

    /// Finishes the sink of a relay, and waits for that.
    func remove(_ relay: PacketRelay) {
        state.withLock { state in state.relays.removeAll { $0 === relay } }
        relay.finish()
    }

    func consumePacket(_ packet: MediaPacket) {
        let leading = state.withLock { $0.leading } ?? capture.captureSettings().leadingTrack?.id
        let (isPassed, isLast) =
            packet.track == leading ? line.admit(at: packet.decodeTimestamp ?? packet.timestamp) : (!line.isOver, false)
        if isPassed {
            let relays = state.withLock { state in
                state.hasBegun = true
                state.leading = leading
                return state.relays
            }
            for relay in relays where relay.push(packet) { capture.requestKeyFrame() }
            if packet.track == leading { frames?.decode(packet) }
        }
        if isLast {
            // Before the stop, after which no file is waited for.
            frames?.flush()
            // Inside the consumer a stop takes effect when this returns.
            try? capture.stopCapture()
            line.onLimit()
        }
    }

    /// Gives consumers of frames the pictures that a decoder holds back, where the capture has ended: a queue that is stopped has
    /// no room for all of them.
    func flushAfterEnd() {
        if case .stopped = capture.state { frames?.flush() }
    }

    /// From here on no output delays the end of the capture.
    func hurry() {
        let relays = state.withLock { state in
            state.isHurried = true
            return state.relays
        }
        for relay in relays { relay.hurry() }
    }

    /// Finishes all sinks with what waits for them.
    func finish() { for relay in state.withLock({ $0.relays }) { relay.finish() } }
}
