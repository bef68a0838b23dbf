/// A sink or an encoder that has failed.
public struct EncodingFailure: Sendable {
    /// The sink's name; nil when the encoder itself failed, which ends all of them.
    public var sink: String?
    /// Why.
    public var error: any Error

    package init(sink: String?, error: any Error) {
        self.sink = sink
        self.error = error
    }
}

/// The sinks of one encoder, which come and go while it works, and the turn of the thread that encodes. `EncodingConsumer`
/// and `AudioEncodingConsumer` stand on it, and so do the receivers of packets that are passed on.
///
/// Safe to use from any thread, also from inside a sink and from the failure handler: no lock is held while they run.
/// Requests made there take effect when they have returned.
package final class SinkGroup: Sendable {
    /// A sink at its encoder.
    private final class Output {
        /// Unique at its group.
        let number: Int
        let name: String
        let sink: any PacketSink
        let splitting: (any SplittingSink)?
        var hasBegun = false
        /// The bitrate that it can take; nil for any. Guarded by the state's lock.
        var bitrateLimit: Int?
        /// The highest temporal layer that it gets.
        var layer = Int.max

        init(number: Int, name: String, sink: any PacketSink) {
            self.number = number
            self.name = name
            self.sink = sink
            splitting = sink as? any SplittingSink
        }
    }

    private struct State {
        /// The thread that has the encoder and calls sinks; nil when none does.
        var worker: UInt?
        var outputs: [Output] = []
        var outputsMade = 0
        /// Sinks to be removed when the worker is done.
        var removals: [String] = []
        /// Shares the bitrate among receivers; nil for other sinks, and where the encoder has no bitrate.
        var allocation: LayerAllocation?
        var isFinishRequested = false
        var hasFinished = false
    }

    private let state = Locked(State())
    /// The track of the packets.
    package let track: TrackID
    private let beginsWithKeyFrame: Bool
    private let onFailure: @Sendable (EncodingFailure) -> Void

    /// - Parameters:
    ///   - track: the identifier that the packets get.
    ///   - beginsWithKeyFrame: whether a sink is handed nothing before the next key frame.
    ///   - onFailure: called on the encoding thread.
    package init(
        track: TrackID, beginsWithKeyFrame: Bool, onFailure: @escaping @Sendable (EncodingFailure) -> Void
    ) {
        self.track = track
        self.beginsWithKeyFrame = beginsWithKeyFrame
        self.onFailure = onFailure
    }

    // MARK: Sinks

    /// Adds a sink, unless the group has finished.
    ///
    /// - Parameter feedback: makes the feedback of the sink with a number; see ``limitBitrate(of:to:)``.
    /// - Returns: whether it was added.
    @discardableResult
    package func add(_ sink: any PacketSink, name: String, feedback: (Int) -> PacketFeedback) -> Bool {
        let number = state.withLock { state in
            defer { state.outputsMade += 1 }
            return state.outputsMade
        }
        (sink as? any FeedbackSink)?.connectFeedback(feedback(number))
        let isAdded = state.withLock { state in
            guard !state.hasFinished else { return false }
            state.outputs.append(Output(number: number, name: name, sink: sink))
            state.allocation?.setReceivers(state.outputs.map(\.name))
            return true
        }
        if !isAdded { disconnectFeedback(of: sink) }
        return isAdded
    }

    private func disconnectFeedback(of sink: any PacketSink) { (sink as? any FeedbackSink)?.connectFeedback(nil) }

    /// Has a sink removed and finished when the worker's turn ends. False where there is no such sink.
    package func requestRemoval(of name: String) -> Bool {
        state.withLock { state in
            guard state.outputs.contains(where: { $0.name == name }) else { return false }
            state.removals.append(name)
            return true
        }
    }

    /// Whether there is a sink to serve.
    package var isActive: Bool { state.withLock { !$0.hasFinished && !$0.outputs.isEmpty } }

    /// From here on each sink is a receiver with a separate bandwidth. Called before the first one is added.
    package func share(_ allocation: LayerAllocation) { state.withLock { $0.allocation = allocation } }

    /// Sets the bitrate that a sink can take; nil for any.
    ///
    /// - Parameter configured: the bitrate of the encoder without limits; nil where it has none.
    package func limitBitrate(of number: Int, to limit: Int?, configured: Int?) {
        state.withLock { state in
            guard let output = state.outputs.first(where: { $0.number == number }) else { return }
            output.bitrateLimit = limit
            if let limit = limit ?? configured { state.allocation?.setBitrate(limit, of: output.name) }
        }
    }

    /// The bitrate to encode with. A sink without a limit, such as a file, keeps it where it was configured; of several
    /// limits the highest counts, so that the slowest sink drops frames and the others lose nothing.
    package func limited(_ bitrate: Int) -> Int {
        state.withLock { state in
            guard !state.outputs.isEmpty else { return bitrate }
            if let allocation = state.allocation { return min(bitrate, allocation.bitrate) }
            var highest = 0
            for output in state.outputs {
                guard let limit = output.bitrateLimit else { return bitrate }
                highest = max(highest, limit)
            }
            return min(bitrate, highest)
        }
    }

    // MARK: On the thread that has the encoder

    /// Whether a sink begins another part at this time. Asks each, since each has its own parts.
    package func beginsPart(at time: MediaTime) -> Bool {
        let sinks = state.withLock { state in state.outputs.compactMap { $0.hasBegun ? $0.splitting : nil } }
        return sinks.reduce(false) { $1.beginsPart(at: time) || $0 }
    }

    /// Hands a packet of the encoder to every sink. One that throws is finished and removed; the others go on.
    package func deliver(_ packet: consuming MediaPacket, of description: TrackDescription?) {
        packet.track = track
        deliver(packet) { [track] in
            guard var description else { return nil }
            description.id = track
            return [description]
        }
    }

    /// Hands a packet of any track to every sink; sinks begin with a packet of the group's track.
    ///
    /// - Parameter tracks: those that a sink begins with; nil where they are not known yet.
    package func deliver(_ packet: MediaPacket, of tracks: () -> [TrackDescription]?) {
        let mayBegin = packet.track == track && (packet.isKeyFrame || !beginsWithKeyFrame)
        let (outputs, allocation) = state.withLock { ($0.outputs, $0.allocation) }
        for output in outputs {
            // A layer is only resumed at a frame of the base layer.
            if let allocation, packet.temporalLayer == 0 { output.layer = allocation.layer(of: output.name) }
            guard packet.temporalLayer <= output.layer else { continue }
            do {
                if !output.hasBegun {
                    guard mayBegin, let tracks = tracks() else { continue }
                    output.hasBegun = true
                    try output.sink.begin(tracks)
                }
                try output.sink.write(packet)
            } catch {
                state.withLock { state in state.outputs.removeAll { $0 === output } }
                // Its first error is the one to report; the bytes written so far are closed as well as possible.
                try? output.sink.finish()
                disconnectFeedback(of: output.sink)
                onFailure(EncodingFailure(sink: output.name, error: error))
            }
        }
    }

    /// Has every sink finished when the worker's turn ends.
    package func requestFinish() { state.withLock { $0.isFinishRequested = true } }

    /// Runs `body` and then the requests made meanwhile, while no other thread does; from inside itself, or after the
    /// end, it does nothing.
    ///
    /// - Parameters:
    ///   - waits: false to leave the requests to the thread that works at present.
    ///   - didRemove: called after each removal.
    ///   - flush: delivers what the encoder holds back, before all sinks are finished.
    package func work(
        waits: Bool = true, didRemove: () -> Void = {}, flush: () -> Void = {}, _ body: () -> Void
    ) {
        let thread = CaptureThread.currentIdentifier
        let mayWork = state.wait { state -> Bool? in
            if state.worker == thread || state.hasFinished { return false }
            guard state.worker == nil else { return waits ? nil : false }
            state.worker = thread
            return true
        }
        guard mayWork == true else { return }
        body()
        while let task = nextTask() {
            switch task {
            case .remove(let output):
                finish(output)
                didRemove()
            case .finish:
                flush()
                finishAll()
            }
        }
        state.wakeAll()
    }

    private enum Task {
        case remove(Output)
        case finish
    }

    /// The next request to serve before the worker ends; nil when it has ended.
    private func nextTask() -> Task? {
        state.withLock { state in
            while let name = state.removals.popLast() {
                guard let index = state.outputs.firstIndex(where: { $0.name == name }) else { continue }
                let output = state.outputs.remove(at: index)
                state.allocation?.setReceivers(state.outputs.map(\.name))
                return .remove(output)
            }
            if state.isFinishRequested, !state.hasFinished { return .finish }
            state.worker = nil
            return nil
        }
    }

    private func finishAll() {
        let outputs = state.withLock { state in
            state.hasFinished = true
            defer { state.outputs = [] }
            return state.outputs
        }
        for output in outputs { finish(output) }
    }

    private func finish(_ output: Output) {
        do { try output.sink.finish() } catch { onFailure(EncodingFailure(sink: output.name, error: error)) }
        disconnectFeedback(of: output.sink)
    }
}

/// A value that one thread at a time uses, which its owner ensures.
///
/// `@unchecked Sendable`: its owner hands over through ``SinkGroup/work(waits:didRemove:flush:_:)``, which lets one thread in.
@usableFromInline package final class Confined<Value>: @unchecked Sendable {
    @usableFromInline @exclusivity(unchecked) package var value: Value

    package init(_ value: sending Value) { self.value = value }

    @inlinable package func withValue<Result>(_ body: (Value) -> Result) -> Result { body(value) }
}
