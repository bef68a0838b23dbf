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
    public typealias Failure = EncodingFailure

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

    private struct Counts {
        var statistics = Statistics()
        var encodeTime = LatencyHistogram()
        var latency = LatencyHistogram()
    }

    private let sinks: SinkGroup
    /// A bitrate that the encoder has not been given yet.
    private let newBitrate = Locked<Int?>(nil)
    private let counts = Locked(Counts())
    private let encoder: Confined<any AudioEncoder>
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
        self.encoder = Confined(encoder)
        self.clock = clock
        self.onFailure = onFailure
        self.sinks = SinkGroup(track: track, beginsWithKeyFrame: false, onFailure: onFailure)
        for (name, sink) in sinks { add(sink, name: name) }
    }

    /// The track of its packets.
    public var track: TrackID { sinks.track }

    // MARK: Sinks

    /// Adds a sink, which begins with the next packet. It is held until it is removed. After ``finish()`` it is not added.
    ///
    /// - Parameters:
    ///   - sink: takes the packets, on the encoding thread.
    ///   - name: unique among the sinks; for failures and ``remove(_:)``.
    public func add(_ sink: any PacketSink, name: String) {
        // Every packet of sound is a key frame. Bitrates are asked for by outputs that are congested by pictures, of which
        // sound is a small part; it is what suffers last.
        sinks.add(sink, name: name) { _ in PacketFeedback(onKeyFrame: {}, onBitrate: { _ in }) }
    }

    /// Removes and finishes a sink. When it returns, no call of the sink is running and none will come; called from
    /// inside a sink, that is so once the call has returned. What finishing throws goes to the failure handler.
    public func remove(_ name: String) {
        if sinks.requestRemoval(of: name) { work { _ in } }
    }

    /// Whether there is a sink to serve.
    public var isActive: Bool { sinks.isActive }

    /// Aims at a bitrate, in bits per second, from the next chunk on. One that the encoder does not take is reported to
    /// the failure handler and ends nothing.
    public func setBitrate(_ bitrate: Int) { newBitrate.withLock { $0 = bitrate } }

    // MARK: Encoding

    public func consumeAudio(_ chunk: AudioChunk) {
        work { encoder in
            if let bitrate = newBitrate.withLock({ $0.take() }) {
                do { try encoder.setBitrate(bitrate) } catch { onFailure(Failure(sink: nil, error: error)) }
            }
            if sinks.isActive { encode(chunk, encoder) }
        }
    }

    private func encode(_ chunk: AudioChunk, _ encoder: any AudioEncoder) {
        let begin = clock.now
        var sinkTime = Duration.zero
        do {
            try encoder.encode(chunk) { packet in
                let now = clock.now
                count(packet, latency: now - packet.timestamp.advanced(by: packet.duration))
                sinks.deliver(packet, of: encoder.track)
                // What sinks do is not the encoder's time.
                sinkTime += clock.now - now
            }
        } catch {
            onFailure(Failure(sink: nil, error: error))
            sinks.requestFinish()
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

    // MARK: The end

    /// Hands out what the encoder holds back and finishes every sink. Chunks that come later are not taken. Call it when
    /// the queue has been drained (after the publisher's stop); repeated calls are harmless. Called from inside a sink,
    /// it takes effect when that has returned.
    public func finish() {
        sinks.requestFinish()
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

    /// Runs `body` while no other thread does; see ``SinkGroup/work(waits:didRemove:flush:_:)``.
    private func work(_ body: (any AudioEncoder) -> Void) {
        sinks.work(flush: flush) { encoder.withValue(body) }
    }

    private func flush() {
        encoder.withValue { encoder in
            do {
                try encoder.flush { packet in
                    count(packet, latency: nil)
                    sinks.deliver(packet, of: encoder.track)
                }
            } catch {
                onFailure(Failure(sink: nil, error: error))
            }
        }
    }
}
