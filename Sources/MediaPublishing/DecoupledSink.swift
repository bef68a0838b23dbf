import VideoCapturing

/// Writes the packets of one output on a separate thread, so that a reader that takes nothing delays neither the encoder
/// nor the outputs that share it. What waits longer than the write timeout allows is dropped in whole groups of pictures.
final class DecoupledSink: FeedbackSink {
    private struct State {
        var error: (any Error)?
        var hasEnded = true
        var feedback: PacketFeedback?
        var hasDropped = false
    }

    private let sink: any PacketSink
    private let queue: PacketQueue
    private let onDrop: @Sendable () -> Void
    private let state = Locked(State())

    /// - Parameters:
    ///   - sink: what writes.
    ///   - timeout: how long a write may take; after it the sink throws.
    ///   - onDrop: called with the first packet that is dropped.
    init(_ sink: any PacketSink, timeout: Duration, onDrop: @escaping @Sendable () -> Void) {
        self.sink = sink
        self.onDrop = onDrop
        queue = PacketQueue(.init(packets: 4096, bytes: 64 << 20, duration: timeout + .seconds(2)))
    }

    func connectFeedback(_ feedback: PacketFeedback?) {
        state.withLock { $0.feedback = feedback }
        (sink as? any FeedbackSink)?.connectFeedback(feedback)
    }

    func begin(_ tracks: [TrackDescription]) throws {
        try sink.begin(tracks)
        state.withLock { $0.hasEnded = false }
        do {
            try CaptureThread(name: "writer") { [self] in run() }
        } catch {
            state.withLock { $0.hasEnded = true }
            throw error
        }
    }

    private func run() {
        do {
            while let packet = queue.pop() { try sink.write(packet) }
        } catch {
            queue.close(discardingWaitingPackets: true)
            state.withLock { $0.error = error }
        }
        state.withLock { $0.hasEnded = true }
        state.wakeAll()
    }

    func write(_ packet: MediaPacket) throws {
        if let error = state.withLock({ $0.error }) { throw error }
        guard queue.push(packet) == .needsKeyFrame else { return }
        let (feedback, isFirst) = state.withLock { state in
            defer { state.hasDropped = true }
            return (state.feedback, !state.hasDropped)
        }
        feedback?.requestKeyFrame()
        if isFirst { onDrop() }
    }

    /// Waits until the queued packets are written, or the sink has thrown.
    func finish() throws {
        queue.close()
        let error = state.wait { $0.hasEnded ? .some($0.error) : nil } ?? nil
        let finished = Result { try sink.finish() }
        if let error { throw error }
        try finished.get()
    }
}
