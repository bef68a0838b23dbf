/// Encodes the sound it is given and hands the packets to any number of sinks, which come and go meanwhile: what
/// `EncodingConsumer` is for pictures.
///
/// Put it behind a publisher's queue: encoding then runs on that queue's thread and never delays the capture. A sink that
/// throws is finished and removed; the others go on.
///
/// Safe to use from any thread, also from inside a sink and from the failure handler: no lock is held while they run.
/// Requests made there take effect when they have returned.
public final class AudioEncodingConsumer: AudioCaptureConsumer {
    /// A sink or the encoder that has failed.
    public struct Failure: Sendable {
        /// The sink's name; nil when the encoder itself failed, which ends all of them.
        public var sink: String?
        /// Why.
        public var error: any Error
    }

    /// Statistics of the consumer.
    public struct Statistics: Sendable, Hashable {
        /// Frames of sound given to the encoder.
        public var framesIn: UInt64 = 0
        /// Packets handed out.
        public var packets: UInt64 = 0
        /// Encoded bytes.
        public var bytes: UInt64 = 0
        /// The time to encode a chunk that half of the chunks did not exceed.
        public var p50EncodeTime: Duration?
        /// The time to encode a chunk that 99 of 100 chunks did not exceed.
        public var p99EncodeTime: Duration?
        /// The time from a packet's last sample to the packet that 99 of 100 packets did not exceed.
        public var p99Latency: Duration?

        /// Counts that are all zero.
        public init() {}
    }

    /// A sink at its encoder.
    private final class Output {
        let name: String
        let sink: any PacketSink
        var hasBegun = false

        init(name: String, sink: any PacketSink) {
            self.name = name
            self.sink = sink
        }
    }

    private struct State {
        /// The thread that has the encoder and calls sinks; nil when none does.
        var worker: UInt?
        var outputs: [Output] = []
        var bitrate: Int?
        /// Sinks to be removed when the worker is done.
        var removals: [String] = []
        var isFinishRequested = false
        var hasFinished = false
    }

    private struct Counts {
        var statistics = Statistics()
        var encodeTime = LatencyHistogram()
        var latency = LatencyHistogram()
    }

    private let state = Locked(State())
    private let counts = Locked(Counts())
    private let encoder: ConfinedEncoder
    /// The track of its packets.
    public let track: TrackID
    private let clock: any CaptureClock
    private let onFailure: @Sendable (Failure) -> Void

    /// A consumer with an encoder.
    ///
    /// - Parameters:
    ///   - encoder: handed over for good.
    ///   - sinks: the first sinks, each with a name for failures; see ``add(_:name:)``.
    ///   - track: the identifier of the packets' track; sinks that are given several tracks need different ones.
    ///   - clock: the clock of the chunks' timestamps.
    ///   - onFailure: called on the encoding thread for each sink that fails, and when the encoder does.
    public init(
        _ encoder: sending any AudioEncoder, to sinks: [(name: String, sink: any PacketSink)] = [],
        track: TrackID = 0, clock: any CaptureClock = MonotonicClock(),
        onFailure: @escaping @Sendable (Failure) -> Void = { _ in }
    ) {
        self.encoder = ConfinedEncoder(encoder)
        self.track = track
        self.clock = clock
        self.onFailure = onFailure
        state.withLock { $0.outputs = sinks.map { Output(name: $0.name, sink: $0.sink) } }
        for (_, sink) in sinks { connectFeedback(of: sink) }
    }

    // MARK: Sinks

    /// Adds a sink, which begins with the next packet. It is held until it is removed. After ``finish()`` it is not added.
    ///
    /// - Parameters:
    ///   - sink: takes the packets, on the encoding thread.
    ///   - name: unique among the sinks; for failures and ``remove(_:)``.
    public func add(_ sink: any PacketSink, name: String) {
        connectFeedback(of: sink)
        let isAdded = state.withLock { state in
            guard !state.hasFinished else { return false }
            state.outputs.append(Output(name: name, sink: sink))
            return true
        }
        if !isAdded { disconnectFeedback(of: sink) }
    }

    /// Removes and finishes a sink. When it returns, no call of the sink is running and none will come; called from
    /// inside a sink, that is so once the call has returned. What finishing throws goes to the failure handler.
    public func remove(_ name: String) {
        guard state.withLock({ state in state.outputs.contains { $0.name == name } }) else { return }
        state.withLock { $0.removals.append(name) }
        work { _ in }
    }

    /// Whether there is a sink to serve.
    public var isActive: Bool { state.withLock { !$0.hasFinished && !$0.outputs.isEmpty } }

    private func connectFeedback(of sink: any PacketSink) {
        // Every packet of sound is a key frame. Bitrates are asked for by outputs that are congested by pictures, of which
        // sound is a small part; it is what suffers last.
        (sink as? any FeedbackSink)?.connectFeedback(PacketFeedback(onKeyFrame: {}, onBitrate: { _ in }))
    }

    private func disconnectFeedback(of sink: any PacketSink) { (sink as? any FeedbackSink)?.connectFeedback(nil) }

    /// Aims at a bitrate, in bits per second, from the next chunk on. One that the encoder does not take is reported to
    /// the failure handler and ends nothing.
    public func setBitrate(_ bitrate: Int) { state.withLock { $0.bitrate = bitrate } }

    // MARK: Encoding

    public func consumeAudio(_ chunk: AudioChunk) {
        work { encoder in
            let (isWanted, bitrate) = state.withLock { state in (!state.outputs.isEmpty, state.bitrate.take()) }
            if let bitrate {
                do { try encoder.setBitrate(bitrate) } catch { onFailure(Failure(sink: nil, error: error)) }
            }
            guard isWanted else { return }
            encode(chunk, encoder)
        }
    }

    private func encode(_ chunk: AudioChunk, _ encoder: any AudioEncoder) {
        let begin = clock.now
        var sinkTime = Duration.zero
        do {
            try encoder.encode(chunk) { packet in
                let now = clock.now
                count(packet, latency: now - packet.timestamp.advanced(by: packet.duration))
                deliver(packet, of: encoder.track)
                // What sinks do is not the encoder's time.
                sinkTime += clock.now - now
            }
        } catch {
            onFailure(Failure(sink: nil, error: error))
            state.withLock { $0.isFinishRequested = true }
        }
        let encodeTime = clock.now - begin - sinkTime
        counts.withLock { counts in
            counts.statistics.framesIn += UInt64(chunk.frameCount)
            counts.encodeTime.record(nanoseconds: encodeTime.nanoseconds)
        }
    }

    private func count(_ packet: MediaPacket, latency: Duration?) {
        counts.withLock { counts in
            counts.statistics.packets += 1
            counts.statistics.bytes += UInt64(packet.data.count)
            if let latency { counts.latency.record(nanoseconds: latency.nanoseconds) }
        }
    }

    /// On the thread that has the encoder.
    private func deliver(_ packet: consuming MediaPacket, of description: TrackDescription?) {
        packet.track = track
        for output in state.withLock({ $0.outputs }) {
            do {
                if !output.hasBegun {
                    guard var description else { continue }
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

    /// Hands out what the encoder holds back and finishes every sink. Chunks that come later are not taken. Call it when
    /// the queue has been drained (after the publisher's stop); repeated calls are harmless. Called from inside a sink,
    /// it takes effect when that has returned.
    public func finish() {
        state.withLock { $0.isFinishRequested = true }
        work { _ in }
    }

    /// The statistics so far. Never waits for a chunk that is being encoded.
    public var statistics: AudioEncodingConsumer.Statistics {
        counts.withLock { counts in
            var result = counts.statistics
            result.p50EncodeTime = counts.encodeTime.quantile(0.5)
            result.p99EncodeTime = counts.encodeTime.quantile(0.99)
            result.p99Latency = counts.latency.quantile(0.99)
            return result
        }
    }

    /// Runs `body` and then the requests made meanwhile, while no other thread does; from inside itself, or after the
    /// end, it does nothing.
    private func work(_ body: (any AudioEncoder) -> Void) {
        let thread = CaptureThread.currentIdentifier
        let mayWork = state.wait { state -> Bool? in
            if state.worker == thread || state.hasFinished { return false }
            guard state.worker == nil else { return nil }
            state.worker = thread
            return true
        }
        guard mayWork == true else { return }
        encoder.withValue(body)
        while let task = nextTask() {
            switch task {
            case .remove(let output): finish(output)
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
                return .remove(state.outputs.remove(at: index))
            }
            if state.isFinishRequested, !state.hasFinished { return .finish }
            state.worker = nil
            return nil
        }
    }

    private func finishAll() {
        encoder.withValue { encoder in
            do {
                try encoder.flush { packet in
                    count(packet, latency: nil)
                    deliver(packet, of: encoder.track)
                }
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

/// An encoder that one thread at a time uses, which its owner ensures.
///
/// `@unchecked Sendable`: `AudioEncodingConsumer.work` lets one thread in, and hands over through its lock.
private final class ConfinedEncoder: @unchecked Sendable {
    @exclusivity(unchecked) private var value: any AudioEncoder

    init(_ value: sending any AudioEncoder) { self.value = value }

    func withValue(_ body: (any AudioEncoder) -> Void) { body(value) }
}
