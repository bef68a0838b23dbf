/// Encodes frames and delivers the packets to any number of sinks, which can be added and removed at any time.
///
/// Add it to a publisher: encoding then runs on the thread of its queue and never delays the capture. A sink that throws is
/// finished and removed; the others continue. A sink that is added later begins with a key frame.
///
/// Safe to use from any thread, also from inside a sink and from the failure handler: no lock is held while they run.
/// Requests made there take effect when they have returned.
public final class EncodingConsumer: FeedbackConsumer {
    /// A sink or the encoder that has failed.
    public struct Failure: Sendable {
        /// The sink's name; nil when the encoder itself failed, which ends all of them.
        public var sink: String?
        /// Why.
        public var error: any Error
    }

    private let state = Locked(State())
    private let counts = Locked(EncodingCounts())
    private let lastPicture = Locked(LastPicture())
    private let encoder: Confined<any VideoEncoder>
    /// The track of its packets.
    public let track: TrackID
    private let clock: any CaptureClock
    private let onFailure: @Sendable (Failure) -> Void
    private let onNotice: @Sendable (String) -> Void

    /// - Parameters:
    ///   - encoder: makes the packets; do not use it afterwards.
    ///   - sinks: the first sinks, each with a name for failures; see ``add(_:name:)``.
    ///   - track: the identifier of the packets' track; sinks that are given several tracks need different ones.
    ///   - clock: the clock of the frames' timestamps.
    ///   - onFailure: called on the encoding thread for each sink that fails, and when the encoder does.
    ///   - onNotice: called on the encoding thread with a sentence for the user, such as that a setting could not be kept.
    public init(
        _ encoder: sending any VideoEncoder, to sinks: [(name: String, sink: any PacketSink)] = [],
        track: TrackID = 0, clock: any CaptureClock = MonotonicClock(),
        onFailure: @escaping @Sendable (Failure) -> Void = { _ in },
        onNotice: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        let bitrate = encoder.bitrate
        self.encoder = Confined(encoder)
        self.track = track
        self.clock = clock
        self.onFailure = onFailure
        self.onNotice = onNotice
        state.withLock { state in
            state.outputs = sinks.enumerated().map { Output(number: $0, name: $1.name, sink: $1.sink) }
            state.outputsMade = sinks.count
            state.bitrate = bitrate
            state.appliedBitrate = bitrate
        }
        for (number, (_, sink)) in sinks.enumerated() { connectFeedback(of: sink, number: number) }
    }

    // MARK: Sinks

    /// Adds a sink, which begins with the next frame; that frame is a key frame. It is held until it is removed. After
    /// ``finish(at:)`` it is not added.
    ///
    /// - Parameters:
    ///   - sink: takes the packets, on the encoding thread.
    ///   - name: unique among the sinks; for failures and ``remove(_:)``.
    public func add(_ sink: any PacketSink, name: String) {
        let number = state.withLock { state in
            defer { state.outputsMade += 1 }
            return state.outputsMade
        }
        connectFeedback(of: sink, number: number)
        let (isAdded, isLate) = state.withLock { state in
            guard !state.hasFinished else { return (false, false) }
            state.outputs.append(Output(number: number, name: name, sink: sink))
            state.allocation?.setReceivers(state.outputs.map(\.name))
            return (true, state.hasEncoded || state.isOnDemand)
        }
        guard isAdded else { return disconnectFeedback(of: sink) }
        reportWants()
        if isLate { requestKeyFrame() }
    }

    /// From here on it works only while there are sinks, and each is a receiver with a separate bandwidth: all share one
    /// bitrate, and a slow one gets fewer temporal layers; see ``LayerAllocation``. Called before anything is connected.
    package func serveReceivers(layerCount: Int) {
        state.withLock { state in
            state.isOnDemand = true
            state.allocation = state.bitrate.map { LayerAllocation(maximumBitrate: $0, layerCount: layerCount) }
            state.wants = state.presentWants
        }
        encoder.withValue { $0.release() }
    }

    private func connectFeedback(of sink: any PacketSink, number: Int) {
        (sink as? any FeedbackSink)?.connectFeedback(
            PacketFeedback(
                onKeyFrame: { [weak self] in self?.requestKeyFrame() },
                onBitrate: { [weak self] limit in
                    self?.state.withLock { state in
                        guard let output = state.outputs.first(where: { $0.number == number }) else { return }
                        output.bitrateLimit = limit
                        if let limit = limit ?? state.bitrate { state.allocation?.setBitrate(limit, of: output.name) }
                    }
                },
                maximumBitrate: { [weak self] in self?.state.withLock { $0.bitrate } }))
    }

    private func disconnectFeedback(of sink: any PacketSink) { (sink as? any FeedbackSink)?.connectFeedback(nil) }

    /// Removes and finishes a sink. When it returns, no call of the sink is running and none will come; called from
    /// inside a sink, that holds once the call has returned. Errors of finishing go to the failure handler.
    ///
    /// This wait has no timeout, because after a timeout the sink might still be called. The sink itself must limit the
    /// time of a write and of its end.
    public func remove(_ name: String) { remove(name, waits: true) }

    /// - Parameter waits: false to return at once; a frame that is being encoded may still reach the sink.
    package func remove(_ name: String, waits: Bool) {
        guard state.withLock({ state in state.outputs.contains { $0.name == name } }) else { return }
        state.withLock { $0.removals.append(name) }
        work(waits: waits) { _ in }
    }

    /// Whether there is a sink to serve.
    public var isActive: Bool { state.withLock { !$0.hasFinished && !$0.outputs.isEmpty } }

    // MARK: Feedback

    public func connectFeedback(_ feedback: CaptureFeedback?) {
        let wants = state.withLock { state in
            state.feedback = feedback
            return state.wants
        }
        feedback?.updateWants(wants)
        reportWants(after: wants)
    }

    /// Makes the next frame a key frame, and asks the capture for a fresh frame.
    public func requestKeyFrame() {
        let feedback = state.withLock { state in
            state.isKeyFrameRequested = true
            return state.feedback
        }
        feedback?.requestRefreshFrame()
    }

    /// Aims at a bitrate, in bits per second, from the next frame on; at a lower one while no sink can take it. One that
    /// the encoder does not take is reported to the failure handler and ends nothing.
    public func setBitrate(_ bitrate: Int) {
        state.withLock { $0.bitrate = bitrate }
    }

    // MARK: Encoding

    public func consumeFrame(_ frame: VideoFrame) {
        work { encoder in
            applyBitrate(encoder)
            let (isWanted, isKeyFrameRequested) = state.withLock { state in
                let isWanted = !state.outputs.isEmpty
                defer {
                    if isWanted {
                        state.isKeyFrameRequested = false
                        state.hasEncoded = true
                    }
                }
                return (isWanted, state.isKeyFrameRequested)
            }
            guard isWanted else { return }
            let beginsPart = beginsPart(at: frame.timestamp)
            if beginsPart { showLastPicture(until: frame.timestamp, encoder) }
            if isKeyFrameRequested || beginsPart { encoder.requestKeyFrame() }
            encode(frame, encoder)
        }
    }

    private func applyBitrate(_ encoder: any VideoEncoder) {
        let (target, applied, isLimited) = state.withLock { state in
            let target = state.targetBitrate
            defer { state.appliedBitrate = target }
            return (target, state.appliedBitrate, target != state.bitrate)
        }
        guard let target, target != applied else { return }
        do {
            try encoder.setBitrate(target)
        } catch  where isLimited {
            // The encoder cannot go as low as a sink would like, which then drops frames.
        } catch {
            state.withLock { state in
                state.bitrate = applied
                state.appliedBitrate = applied
            }
            onFailure(Failure(sink: nil, error: error))
        }
    }

    /// Asks each sink, since each has its own parts.
    private func beginsPart(at time: MediaTime) -> Bool {
        let sinks = state.withLock { state in state.outputs.compactMap { $0.hasBegun ? $0.splitting : nil } }
        return sinks.reduce(false) { $1.beginsPart(at: time) || $0 }
    }

    /// Encodes the last picture again, where it would not be shown up to `end`.
    private func showLastPicture(until end: MediaTime, _ encoder: any VideoEncoder) {
        if let frame = lastPicture.withLock({ $0.makeRepeat(until: end) }) { encode(frame, encoder, until: end) }
    }

    /// - Parameter end: the end of the packet; nil for what the encoder says.
    private func encode(_ frame: VideoFrame, _ encoder: any VideoEncoder, until end: MediaTime? = nil) {
        let begin = clock.now
        var packets = 0
        let unchangedBefore = encoder.framesUnchanged
        do {
            try encoder.encode(frame) { packet in
                packets += 1
                lastPicture.withLock { $0.add(packet, with: frame) }
                // Before it is handed on: what sinks do is not the encoder's time.
                let now = clock.now
                counts.withLock {
                    $0.add(
                        packet, isRefinement: frame.isRepeat, encodeTime: now - begin, latency: now - frame.timestamp)
                }
                deliver(packet, of: encoder.track, until: packet.timestamp == frame.timestamp ? end : nil)
            }
            report(encoder.wants)
            if let notice = encoder.takeNotice() { onNotice(notice) }
        } catch {
            // An encoder that has failed is sent no more repeats.
            report(CaptureWants())
            onFailure(Failure(sink: nil, error: error))
            state.withLock { $0.isFinishRequested = true }
        }
        let unchanged = encoder.framesUnchanged - unchangedBefore
        lastPicture.withLock { $0.add(frame) }
        counts.withLock {
            $0.framesIn += 1
            $0.framesUnchanged += unchanged
            $0.framesDropped += packets == 0 && unchanged == 0 ? 1 : 0
        }
    }

    private func report(_ wants: CaptureWants) {
        state.withLock { $0.encoderWants = wants }
        reportWants()
    }

    /// Reports the wants where they have changed, and again while sinks come and go on other threads.
    private func reportWants(after reported: CaptureWants? = nil) {
        var reported = reported
        while true {
            let change = state.withLock { state -> (CaptureFeedback?, CaptureWants)? in
                let wants = state.presentWants
                guard wants != reported ?? state.wants else { return nil }
                state.wants = wants
                return (state.feedback, wants)
            }
            guard let (feedback, wants) = change else { return }
            feedback?.updateWants(wants)
            reported = wants
        }
    }

    /// On the thread that has the encoder.
    private func deliver(
        _ packet: consuming MediaPacket, of description: TrackDescription?, until end: MediaTime? = nil
    ) {
        packet.track = track
        if let end { packet.duration = end - packet.timestamp }
        let (outputs, allocation) = state.withLock { ($0.outputs, $0.allocation) }
        for output in outputs {
            // A layer is only resumed at a frame of the base layer.
            if let allocation, packet.temporalLayer == 0 { output.layer = allocation.layer(of: output.name) }
            guard packet.temporalLayer <= output.layer else { continue }
            do {
                if !output.hasBegun {
                    guard packet.isKeyFrame, var description else { continue }
                    description.id = track
                    output.hasBegun = true
                    try output.sink.begin([description])
                }
                try output.sink.write(packet)
            } catch {
                state.withLock { state in state.outputs.removeAll { $0 === output } }
                // Its first error is the one to report; the bytes written so far are closed as well as possible.
                try? output.sink.finish()
                disconnectFeedback(of: output.sink)
                onFailure(Failure(sink: output.name, error: error))
            }
        }
    }

    // MARK: The end

    /// Hands out what the encoder holds back and finishes every sink. Frames that come later are not taken. Call it when
    /// the queue has been drained (after the publisher's stop); repeated calls are harmless. Called from inside a sink,
    /// it takes effect when that has returned.
    ///
    /// - Parameter end: the time up to which the last picture is shown: it is encoded again where its packet would end
    ///   earlier. Nil for the packet's duration.
    public func finish(at end: MediaTime? = nil) {
        state.withLock { state in
            state.isFinishRequested = true
            state.end = end
        }
        work { _ in }
    }

    /// The statistics so far. Never waits for a frame that is being encoded.
    public var statistics: EncodingConsumer.Statistics {
        counts.withLock { $0.statistics }
    }

    /// Runs `body` and then the requests made meanwhile, while no other thread does; from inside itself, or after the
    /// end, it does nothing.
    private func work(waits: Bool = true, _ body: (any VideoEncoder) -> Void) {
        let thread = CaptureThread.currentIdentifier
        let mayWork = state.wait { state -> Bool? in
            if state.worker == thread || state.hasFinished { return false }
            guard state.worker == nil else { return waits ? nil : false }
            state.worker = thread
            return true
        }
        guard mayWork == true else { return }
        encoder.withValue(body)
        while let task = nextTask() {
            switch task {
            case .remove(let output):
                finish(output)
                releaseIfIdle()
            case .finish: finishAll()
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

    private func releaseIfIdle() {
        let isIdle = state.withLock { state in
            if state.isIdle { state.encoderWants = CaptureWants() }
            return state.isIdle
        }
        guard isIdle else { return }
        lastPicture.withLock { $0 = LastPicture() }
        encoder.withValue { $0.release() }
        reportWants()
    }

    private func finishAll() {
        encoder.withValue { encoder in
            if let end = state.withLock({ $0.end }) {
                _ = beginsPart(at: end)  // So that the picture does not begin another part.
                showLastPicture(until: end, encoder)
            }
            lastPicture.withLock { $0 = LastPicture() }
            do {
                try encoder.flush { deliver($0, of: encoder.track) }
            } catch {
                onFailure(Failure(sink: nil, error: error))
            }
        }
        let outputs = state.withLock { state in
            state.hasFinished = true
            defer { state.outputs = [] }
            return state.outputs
        }
        for output in outputs { finish(output) }
    }

    private func finish(_ output: Output) {
        do { try output.sink.finish() } catch { onFailure(Failure(sink: output.name, error: error)) }
        disconnectFeedback(of: output.sink)
    }
}

/// A value that one thread at a time uses, which its owner ensures.
///
/// `@unchecked Sendable`: `EncodingConsumer.work` lets one thread in, and hands over through its lock.
private final class Confined<Value>: @unchecked Sendable {
    @exclusivity(unchecked) private var value: Value

    init(_ value: sending Value) { self.value = value }

    func withValue<Result>(_ body: (Value) -> Result) -> Result { body(value) }
}
