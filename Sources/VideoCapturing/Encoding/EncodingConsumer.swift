/// Encodes frames and delivers the packets to any number of sinks, which can be added and removed at any time.
///
/// Add it to a publisher: encoding then runs on the thread of its queue and never delays the capture. A sink that throws is
/// finished and removed; the others continue. A sink that is added later begins with a key frame.
///
/// Safe to use from any thread, also from inside a sink and from the failure handler: no lock is held while they run.
/// Requests made there take effect when they have returned.
public final class EncodingConsumer: FeedbackConsumer {
    /// A sink or the encoder that has failed.
    public typealias Failure = EncodingFailure

    private struct State {
        var isKeyFrameRequested = false
        /// Whether a frame has been encoded; the first one is a key frame anyway.
        var hasEncoded = false
        /// As configured, without the limits of sinks; nil where the encoder has none.
        var bitrate: Int?
        /// What the encoder was given last.
        var appliedBitrate: Int?
        /// Until when the last picture is shown; nil for its own duration.
        var end: MediaTime?
        var feedback: CaptureFeedback?
        /// Reported last.
        var wants = CaptureWants()
        var encoderWants = CaptureWants()
        /// Whether it works only while there are sinks; see ``serveReceivers(layerCount:)``.
        var isOnDemand = false
    }

    private let sinks: SinkGroup
    private let state = Locked(State())
    private let counts = Locked(EncodingCounts())
    private let lastPicture = Locked(LastPicture())
    private let encoder: Confined<any VideoEncoder>
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
        self.clock = clock
        self.onFailure = onFailure
        self.onNotice = onNotice
        self.sinks = SinkGroup(track: track, beginsWithKeyFrame: true, onFailure: onFailure)
        state.withLock { state in
            state.bitrate = bitrate
            state.appliedBitrate = bitrate
        }
        for (name, sink) in sinks { add(sink, name: name) }
    }

    /// The track of its packets.
    public var track: TrackID { sinks.track }

    // MARK: Sinks

    /// Adds a sink, which begins with the next frame; that frame is a key frame. It is held until it is removed. After
    /// ``finish(at:)`` it is not added.
    ///
    /// - Parameters:
    ///   - sink: takes the packets, on the encoding thread.
    ///   - name: unique among the sinks; for failures and ``remove(_:)``.
    public func add(_ sink: any PacketSink, name: String) {
        let isAdded = sinks.add(sink, name: name) { number in
            PacketFeedback(
                onKeyFrame: { [weak self] in self?.requestKeyFrame() },
                onBitrate: { [weak self] limit in
                    guard let self else { return }
                    sinks.limitBitrate(of: number, to: limit, configured: state.withLock { $0.bitrate })
                },
                maximumBitrate: { [weak self] in self?.state.withLock { $0.bitrate } })
        }
        guard isAdded else { return }
        reportWants()
        if state.withLock({ $0.hasEncoded || $0.isOnDemand }) { requestKeyFrame() }
    }

    /// From here on it works only while there are sinks, and each is a receiver with a separate bandwidth: all share one
    /// bitrate, and a slow one gets fewer temporal layers; see ``LayerAllocation``. Called before anything is connected.
    package func serveReceivers(layerCount: Int) {
        let bitrate = state.withLock { state in
            state.isOnDemand = true
            return state.bitrate
        }
        if let bitrate { sinks.share(LayerAllocation(maximumBitrate: bitrate, layerCount: layerCount)) }
        state.withLock { $0.wants = presentWants($0) }
        encoder.withValue { $0.release() }
    }

    /// Removes and finishes a sink. When it returns, no call of the sink is running and none will come; called from
    /// inside a sink, that holds once the call has returned. Errors of finishing go to the failure handler.
    ///
    /// This wait has no timeout, because after a timeout the sink might still be called. The sink itself must limit the
    /// time of a write and of its end.
    public func remove(_ name: String) { remove(name, waits: true) }

    /// - Parameter waits: false to return at once; a frame that is being encoded may still reach the sink.
    package func remove(_ name: String, waits: Bool) {
        if sinks.requestRemoval(of: name) { work(waits: waits) { _ in } }
    }

    /// Whether there is a sink to serve.
    public var isActive: Bool { sinks.isActive }

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
            guard sinks.isActive else { return }
            let isKeyFrameRequested = state.withLock { state in
                state.hasEncoded = true
                defer { state.isKeyFrameRequested = false }
                return state.isKeyFrameRequested
            }
            let beginsPart = sinks.beginsPart(at: frame.timestamp)
            if beginsPart { showLastPicture(until: frame.timestamp, encoder) }
            if isKeyFrameRequested || beginsPart { encoder.requestKeyFrame() }
            encode(frame, encoder)
        }
    }

    private func applyBitrate(_ encoder: any VideoEncoder) {
        let (target, applied, isLimited) = state.withLock { state in
            let target = state.bitrate.map(sinks.limited)
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
                if let end, packet.timestamp == frame.timestamp {
                    var packet = packet
                    packet.duration = end - packet.timestamp
                    sinks.deliver(packet, of: encoder.track)
                } else {
                    sinks.deliver(packet, of: encoder.track)
                }
            }
            report(encoder.wants)
            if let notice = encoder.takeNotice() { onNotice(notice) }
        } catch {
            // An encoder that has failed is sent no more repeats.
            report(CaptureWants())
            onFailure(Failure(sink: nil, error: error))
            sinks.requestFinish()
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

    private func isIdle(_ state: State) -> Bool { state.isOnDemand && !sinks.isActive }

    /// Of an idle one: frames that others want, and next to none of them.
    private func presentWants(_ state: State) -> CaptureWants {
        isIdle(state) ? CaptureWants(maximumFrameRate: FrameRate(1, per: 3600), isPassive: true) : state.encoderWants
    }

    /// Reports the wants where they have changed, and again while sinks come and go on other threads.
    private func reportWants(after reported: CaptureWants? = nil) {
        var reported = reported
        while true {
            let change = state.withLock { state -> (CaptureFeedback?, CaptureWants)? in
                let wants = presentWants(state)
                guard wants != reported ?? state.wants else { return nil }
                state.wants = wants
                return (state.feedback, wants)
            }
            guard let (feedback, wants) = change else { return }
            feedback?.updateWants(wants)
            reported = wants
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
        state.withLock { $0.end = end }
        sinks.requestFinish()
        work { _ in }
    }

    /// The statistics so far. Never waits for a frame that is being encoded.
    public var statistics: EncodingConsumer.Statistics {
        counts.withLock { $0.statistics }
    }

    /// Runs `body` while no other thread does; see ``SinkGroup/work(waits:didRemove:flush:_:)``.
    private func work(waits: Bool = true, _ body: (any VideoEncoder) -> Void) {
        sinks.work(waits: waits, didRemove: releaseIfIdle, flush: flush) { encoder.withValue(body) }
    }

    private func releaseIfIdle() {
        let isIdle = state.withLock { state in
            let isIdle = self.isIdle(state)
            if isIdle { state.encoderWants = CaptureWants() }
            return isIdle
        }
        guard isIdle else { return }
        lastPicture.withLock { $0 = LastPicture() }
        encoder.withValue { $0.release() }
        reportWants()
    }

    private func flush() {
        encoder.withValue { encoder in
            if let end = state.withLock({ $0.end }) {
                _ = sinks.beginsPart(at: end)  // So that the picture does not begin another part.
                showLastPicture(until: end, encoder)
            }
            lastPicture.withLock { $0 = LastPicture() }
            do {
                try encoder.flush { sinks.deliver($0, of: encoder.track) }
            } catch {
                onFailure(Failure(sink: nil, error: error))
            }
        }
    }
}
