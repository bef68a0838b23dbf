import CaptureCore
import RTP
import VideoCapturing
import WebRTCTransport

/// Keeps a stream published: connects, waits, and connects again with growing delays, on a thread of its own.
///
/// Each connection is a session of its own at the server, which is notified of every end: by BYE and by DTLS at
/// the peer, then by the signalling.
final class PublishingLoop: Sendable {
    private struct Shared {
        var state = WebRTCOutput.State.idle
        var isEnding = false
        var tracks: [TrackDescription] = []
        var session: WebRTCSession?
        /// What waits for an answer, which the end must not wait for.
        var asking: (any PublishingAttempt)?
        var feedback: PacketFeedback?
        var thread: CaptureThread?
        /// Why the present session is over.
        var loss: Loss?
        var totals = WebRTCOutput.Statistics()
        var listeners: [AsyncStream<WebRTCOutput.State>.Continuation] = []
    }

    /// Why a session has ended.
    private struct Loss {
        var error: CaptureError
        /// Whether no further attempt makes sense.
        var isFinal = false
        var retryAfter: Duration?
    }

    let server: any PublishingServer
    let configuration: WebRTCOutput.Configuration
    private let shared = Locked(Shared())
    private let wake = ManualResetEvent()
    private let report: @Sendable (WebRTCOutput.State) -> Void

    /// - Parameter report: called with each state, on any thread and without a lock.
    init(
        _ server: any PublishingServer, _ configuration: WebRTCOutput.Configuration,
        report: @escaping @Sendable (WebRTCOutput.State) -> Void
    ) {
        self.server = server
        self.configuration = configuration
        self.report = report
    }

    // MARK: Callers

    var state: WebRTCOutput.State { shared.withLock { $0.state } }

    func makeStates() -> AsyncStream<WebRTCOutput.State> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: WebRTCOutput.State.self, bufferingPolicy: .bufferingNewest(64))
        shared.withLock { shared in
            continuation.yield(shared.state)
            if case .ended = shared.state { return continuation.finish() }
            shared.listeners.append(continuation)
        }
        return stream
    }

    func connectFeedback(_ feedback: PacketFeedback?) { shared.withLock { $0.feedback = feedback } }

    func begin(_ tracks: [TrackDescription]) throws(CaptureError) {
        let isFirst = shared.withLock { shared in
            guard shared.thread == nil, !shared.isEnding, shared.tracks.isEmpty else { return false }
            shared.tracks = tracks
            return true
        }
        guard isFirst else { return }
        let thread = try CaptureThread(name: "webrtc publish") { [self] in run() }
        shared.withLock { $0.thread = thread }
    }

    func write(_ packet: MediaPacket) { shared.withLock { $0.session }?.write(packet) }

    /// Ends the session at the server, and waits for that.
    func end() {
        let (asking, thread, hasEnded) = shared.withLock { shared in
            shared.isEnding = true
            if case .ended = shared.state { return (shared.asking, shared.thread, true) }
            return (shared.asking, shared.thread, false)
        }
        // The thread may be the caller: it reports the end, upon which the output is removed.
        guard !hasEnded else { return }
        shared.wakeAll()
        wake.raise()
        asking?.close()
        if let thread { thread.join() } else { setState(.ended(nil)) }
    }

    var statistics: WebRTCOutput.Statistics {
        let (session, totals, state) = shared.withLock { ($0.session, $0.totals, $0.state) }
        var result = totals
        result.state = state
        if let session { result.add(session.statistics) }
        return result
    }

    // MARK: The thread

    private func run() {
        var backoff = BackoffPolicy(budget: configuration.connectTimeout)
        var hasBeenLive = false
        while true {
            setState(.connecting)
            let (loss, wasLive) = publishOnce { backoff.didConnect(at: MonotonicClock().now) }
            guard !shared.withLock({ $0.isEnding }) else { return setState(.ended(nil)) }
            if wasLive, !hasBeenLive {
                hasBeenLive = true
                // A server that was there before is waited for.
                backoff.budget = configuration.reconnectTimeout
            }
            guard !loss.isFinal,
                let delay = backoff.nextDelay(at: MonotonicClock().now, retryAfter: loss.retryAfter)
            else { return setState(.ended(loss.error)) }
            if wasLive { shared.withLock { $0.totals.reconnects += 1 } }
            setState(.reconnecting(after: delay, loss.error))
            wake.wait(until: MonotonicClock().now.advanced(by: delay))
        }
    }

    private func setState(_ state: WebRTCOutput.State) {
        let listeners = shared.withLock { shared -> [AsyncStream<WebRTCOutput.State>.Continuation] in
            guard shared.state != state else { return [] }
            if case .ended = shared.state { return [] }
            shared.state = state
            return shared.listeners
        }
        for listener in listeners {
            listener.yield(state)
            if case .ended = state { listener.finish() }
        }
        report(state)
    }

    /// Publishes until the session is over.
    ///
    /// - Parameter live: called once media flows.
    private func publishOnce(_ live: () -> Void) -> (loss: Loss, wasLive: Bool) {
        shared.withLock { $0.loss = nil }
        let attempt = server.makeAttempt { [weak self] error in
            self?.lose(Loss(error: CaptureError(error), isFinal: false))
        }
        var session: WebRTCSession?
        defer {
            let feedback = shared.withLock { shared in
                shared.session = nil
                shared.asking = nil
                return shared.feedback
            }
            if let session {
                let last = session.statistics
                session.close()
                shared.withLock { $0.totals.addTotals(last) }
            }
            // Encoders go on at the bitrate of their configuration, until the next peer is known.
            feedback?.requestBitrate(nil)
            attempt.close()
        }
        do {
            let made = try makeSession()
            session = made
            let offer = try made.makeOffer()
            let mayAsk = shared.withLock { shared in
                if !shared.isEnding { shared.asking = attempt }
                return !shared.isEnding
            }
            guard mayAsk else { return (Loss(error: .closedSession), false) }
            let answer: PublishingAnswer
            do {
                answer = try attempt.publish(offer: offer)
            } catch {
                return (Loss(error: CaptureError(error), isFinal: !error.code.mayRecover), false)
            }
            shared.withLock { $0.asking = nil }
            switch answer {
            case .busy(let delay):
                let error = CaptureError(
                    .deviceBusy, operation: "publish", subject: server.name,
                    message: "The server takes no publisher now; it is asked again.")
                return (Loss(error: error, retryAfter: delay), false)
            case .accepted(let sdp, let candidates, let servers):
                do {
                    try made.accept(answer: sdp, candidates: candidates)
                } catch {
                    let isFinal = error.code == .refused || error.code == .noCommonCodec
                    return (Loss(error: CaptureError(error), isFinal: isFinal), false)
                }
                made.add(servers.compactMap(\.forTransport))
            }
            shared.withLock { $0.session = made }
            return wait(for: made, live)
        } catch {
            return (Loss(error: error, isFinal: error.code == .formatUnsupported), false)
        }
    }

    private func makeSession() throws(CaptureError) -> WebRTCSession {
        let (tracks, feedback) = shared.withLock { ($0.tracks, $0.feedback) }
        var addresses: [String] = []
        if !configuration.offersAllAddresses { addresses = [try localAddress(towards: server.host, port: server.port)] }
        var peer = PeerConnection.Configuration(
            isControlling: true, localAddresses: addresses, servers: configuration.servers.compactMap(\.forTransport))
        peer.isRelayOnly = configuration.isRelayOnly
        peer.connectTimeout = configuration.connectTimeout
        var session = WebRTCSession.Configuration(tracks, peer: peer)
        if let maximum = feedback?.maximumBitrate { session.maximumBitrate = maximum }
        for track in tracks {
            if case .audio(let audio) = track.media { session.audioBitrate = 48_000 * audio.channelCount }
        }
        let maximum = session.maximumBitrate
        return try WebRTCSession(
            session,
            WebRTCSession.Handlers(
                stateChanged: { [weak self] state in
                    if case .closed(let reason) = state {
                        // Someone stands between, which another attempt would not change.
                        self?.lose(Loss(error: reason ?? .closedSession, isFinal: reason?.code == .permissionDenied))
                    } else {
                        self?.shared.wakeAll()
                    }
                },
                keyFrameNeeded: { [weak self] in self?.shared.withLock { $0.feedback }?.requestKeyFrame() },
                bitrateChanged: { [weak self] bitrate in
                    self?.shared.withLock { $0.feedback }?.requestBitrate(bitrate < maximum ? bitrate : nil)
                }))
    }

    private func lose(_ loss: Loss) {
        shared.withLock { shared in shared.loss = shared.loss ?? loss }
        shared.wakeAll()
    }

    private func wait(for session: WebRTCSession, _ live: () -> Void) -> (loss: Loss, wasLive: Bool) {
        var isLive = false
        while true {
            let loss: Loss?? = shared.wait { shared -> Loss?? in
                if shared.isEnding { return .some(Loss(error: .closedSession)) }
                if let loss = shared.loss { return .some(loss) }
                return !isLive && session.state == .live ? .some(nil) : nil
            }
            if case .some(.some(let loss)) = loss { return (loss, isLive) }
            isLive = true
            live()
            setState(.live)
        }
    }
}
