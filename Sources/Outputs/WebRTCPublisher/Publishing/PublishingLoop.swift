import CaptureCore
import RTP
import VideoCapturing
import WebRTCTransport

/// Keeps a stream published: connects, waits, and connects again with growing delays, on a separate thread.
///
/// A lost path is looked for again within the session, if the server supports that (ICE restart). Otherwise each
/// connection is a new session at the server. The server is notified of every end: by BYE and by DTLS at the peer, then
/// by the signalling.
final class PublishingLoop: Sendable {
    private struct Shared {
        var state = WebRTCOutput.State.idle
        var isEnding = false
        var tracks: [TrackDescription] = []
        /// Whether the packets are those of a source.
        var isPassedOn = false
        var session: WebRTCSession?
        /// What waits for STUN and TURN servers, which the end must not wait for either.
        var gathering: WebRTCSession?
        /// What waits for an answer, which the end must not wait for.
        var asking: (any PublishingAttempt)?
        var feedback: PacketFeedback?
        var thread: CaptureThread?
        /// Why the present session is over.
        var loss: Loss?
        /// Why the last one is, before the end was asked for.
        var lastError: CaptureError?
        var hasBeenLive = false
        /// Whether there was anything to publish.
        var hasPackets = false
        /// Why the peer does not receive at the end.
        var failure: CaptureError?
        var media = TakenMedia()
        /// The warnings given already, because each session may repeat them.
        var warnings: Set<String> = []
        var totals = WebRTCOutput.Statistics()
        let changes = ObserverStreams<WebRTCOutput.State>()
    }

    /// Why a session has ended.
    private struct Loss {
        var error: CaptureError
        /// Whether no further attempt makes sense.
        var isFinal = false
        /// Whether the answer was against the protocol: the next one may be right, but hardly a third.
        var isWrongAnswer = false
        var retryAfter: Duration?
    }

    let server: any PublishingServer
    let configuration: WebRTCOutput.Configuration
    private let shared = Locked(Shared())
    private let wake = ManualResetEvent()
    private let report: @Sendable (WebRTCOutput.State) -> Void
    private let warn: @Sendable (String) -> Void

    /// - Parameters:
    ///   - report: called with each state, on any thread and without a lock.
    ///   - warn: called likewise with each sentence for the user, once.
    init(
        _ server: any PublishingServer, _ configuration: WebRTCOutput.Configuration,
        report: @escaping @Sendable (WebRTCOutput.State) -> Void, warn: @escaping @Sendable (String) -> Void
    ) {
        self.server = server
        self.configuration = configuration
        self.report = report
        self.warn = warn
    }

    // MARK: Callers

    var state: WebRTCOutput.State { shared.withLock { $0.state } }

    func makeStates() -> AsyncStream<WebRTCOutput.State> {
        shared.withLock { shared in
            shared.changes.stream(bufferingPolicy: .bufferingNewest(64), beginningWith: shared.state)
        }
    }

    func connectFeedback(_ feedback: PacketFeedback?) { shared.withLock { $0.feedback = feedback } }

    func begin(_ tracks: [TrackDescription], isPassedOn: Bool) throws(CaptureError) {
        let isFirst = shared.withLock { shared in
            guard shared.thread == nil, !shared.isEnding, shared.tracks.isEmpty else { return false }
            shared.tracks = tracks
            shared.isPassedOn = isPassedOn
            return true
        }
        guard isFirst else { return }
        let thread = try CaptureThread(name: "webrtc publish") { [self] in run() }
        shared.withLock { $0.thread = thread }
    }

    func write(_ packet: MediaPacket) {
        let session = shared.withLock { shared in
            shared.hasPackets = true
            return shared.session
        }
        session?.write(packet)
    }

    /// Ends the session at the server, and waits for that.
    func end() {
        let (asking, gathering, thread, hasEnded) = shared.withLock { shared in
            if case .ended = shared.state { return (shared.asking, shared.gathering, shared.thread, true) }
            if !shared.isEnding, shared.hasPackets, shared.state != .live { shared.failure = failure(shared) }
            shared.isEnding = true
            return (shared.asking, shared.gathering, shared.thread, false)
        }
        // The thread may be the caller: it reports the end, upon which the output is removed.
        guard !hasEnded else { return }
        shared.wakeAll()
        wake.raise()
        gathering?.close()
        asking?.close()
        if let thread { thread.join() } else { setState(.ended(nil)) }
    }

    /// The last packets before the end have not reached a peer, or not all of them.
    private func failure(_ shared: Shared) -> CaptureError {
        let reason =
            shared.lastError?.message ?? "The server or the peer had not answered; check both, and the network."
        return CaptureError(
            shared.lastError?.code ?? .stalled, operation: "publish", subject: server.name,
            message: shared.hasBeenLive
                ? "The connection was lost, and not there again at the end. \(reason)"
                : "Nothing was published. \(reason)")
    }

    /// Why the peer did not receive all that it should have when the end was asked for, which is said once; nil where it did, or
    /// that has been said.
    func takeFailure() -> CaptureError? {
        shared.withLock { shared in
            if let failure = shared.failure.take() { return failure }
            guard shared.hasBeenLive, let missing = shared.media.takeMissing() else { return nil }
            return CaptureError(
                .formatUnsupported, operation: "publish", subject: server.name,
                message: "The \(missing.noun) was never taken: \(missing.reason).")
        }
    }

    var statistics: WebRTCOutput.Statistics {
        let (session, totals, state, refusals) = shared.withLock {
            ($0.session, $0.totals, $0.state, $0.media.refusals)
        }
        // Measured values are of the present session, counts of all sessions.
        var result = session?.statistics ?? WebRTCOutput.Statistics()
        result.addCounters(of: totals)
        (result.state, result.reconnects) = (state, totals.reconnects)
        result.refusals = refusals.map { "\($0.media): \($0.reason)" }
        return result
    }

    // MARK: The thread

    private func run() {
        var backoff = BackoffPolicy(budget: configuration.connectTimeout)
        var wrongAnswers = 0
        while true {
            setState(.connecting)
            let (loss, wasLive) = publishOnce { backoff.didConnect(at: MonotonicClock().now) }
            let (isEnding, isFirst) = shared.withLock { shared in
                if !shared.isEnding { shared.lastError = loss.error }
                defer { shared.hasBeenLive = shared.hasBeenLive || wasLive }
                return (shared.isEnding, wasLive && !shared.hasBeenLive)
            }
            guard !isEnding else { return setState(.ended(nil)) }
            // A server that was there before is waited for.
            if isFirst { backoff.budget = configuration.reconnectTimeout }
            wrongAnswers = loss.isWrongAnswer ? wrongAnswers + 1 : 0
            let isWrongForGood = wrongAnswers > 1 && !shared.withLock { $0.hasBeenLive }
            guard !loss.isFinal, !isWrongForGood,
                let delay = backoff.nextDelay(at: MonotonicClock().now, retryAfter: loss.retryAfter)
            else { return setState(.ended(loss.error)) }
            if wasLive { shared.withLock { $0.totals.reconnects += 1 } }
            setState(.reconnecting(after: delay, loss.error))
            wake.wait(until: MonotonicClock().now.advanced(by: delay))
        }
    }

    private func setState(_ state: WebRTCOutput.State) {
        shared.withLock { shared in
            guard shared.state != state else { return }
            if case .ended = shared.state { return }
            shared.state = state
            shared.changes.send(state)
            if case .ended = state { shared.changes.finish() }
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
            let (feedback, isEnding) = shared.withLock { shared in
                shared.session = nil
                shared.gathering = nil
                shared.asking = nil
                return (shared.feedback, shared.isEnding)
            }
            if let session {
                if isEnding { session.drain(for: PublishingLoop.drainTimeout) }
                let last = session.statistics
                session.close()
                shared.withLock { $0.totals.addCounters(of: last) }
            }
            // Encoders go on at the bitrate of their configuration, until the next peer is known.
            feedback?.requestBitrate(nil)
            if let failure = attempt.close(), isEnding {
                say("The session has not been ended at the server. \(failure.message)")
            }
        }
        do {
            let made = try makeSession()
            session = made
            let mayGather = shared.withLock { shared in
                if !shared.isEnding { shared.gathering = made }
                return !shared.isEnding
            }
            guard mayGather else { return (Loss(error: .closedSession), false) }
            let offer = try made.makeOffer()
            let mayAsk = shared.withLock { shared in
                shared.gathering = nil
                if !shared.isEnding { shared.asking = attempt }
                return !shared.isEnding
            }
            guard mayAsk else { return (Loss(error: .closedSession), false) }
            let answer: PublishingAnswer
            do {
                answer = try attempt.publish(offer: offer)
            } catch {
                let loss = Loss(
                    error: CaptureError(error), isFinal: !error.code.mayRecover,
                    isWrongAnswer: error.code == .invalidAnswer)
                return (loss, false)
            }
            shared.withLock { $0.asking = nil }
            switch answer {
            case .busy(let delay):
                let error = CaptureError(
                    .deviceBusy, operation: "publish", subject: server.name,
                    message: "The server takes no publisher now; it is asked again.")
                return (Loss(error: error, retryAfter: delay), false)
            case .accepted(let sdp, let candidates, let servers, let notice):
                do {
                    didAgree(try made.accept(answer: sdp, candidates: candidates))
                } catch {
                    let isFinal = error.code == .refused || error.code == .noCommonCodec
                    return (Loss(error: CaptureError(error), isFinal: isFinal, isWrongAnswer: true), false)
                }
                if let notice { say(notice) }
                made.add(servers.compactMap(\.forTransport))
            }
            shared.withLock { $0.session = made }
            return wait(for: made, attempt, live)
        } catch {
            return (Loss(error: error, isFinal: error.code == .formatUnsupported), false)
        }
    }

    /// Records what the peer takes, and reports what it does not.
    private func didAgree(_ agreed: Negotiation) {
        shared.withLock { $0.media.add(agreed) }
        for refusal in agreed.refusals {
            say("The server does not take the \(refusal.noun), which is not published: \(refusal.reason).")
        }
    }

    /// Reports a sentence to the user, unless that has been done.
    private func say(_ sentence: String) {
        if shared.withLock({ $0.warnings.insert(sentence).inserted }) { warn(sentence) }
    }

    private func makeSession() throws(CaptureError) -> WebRTCSession {
        let (tracks, isPassedOn, feedback) = shared.withLock { ($0.tracks, $0.isPassedOn, $0.feedback) }
        var addresses: [String] = []
        if !configuration.offersAllAddresses { addresses = [try localAddress(towards: server.host, port: server.port)] }
        var peer = PeerConnection.Configuration(
            isControlling: true, localAddresses: addresses, servers: configuration.servers.compactMap(\.forTransport))
        peer.isRelayOnly = configuration.isRelayOnly
        peer.connectTimeout = configuration.connectTimeout
        peer.canRestart = true
        peer.resolvesNames = true
        var session = WebRTCSession.Configuration(tracks, peer: peer, isPassedOn: isPassedOn)
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
                        // The state is the session's: what waits has either seen it, or sleeps once it can have the lock.
                        self?.shared.withLock { _ in }
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

    /// More waits only where the peer is too slow anyway.
    private static let drainTimeout = Duration.milliseconds(500)

    /// What happens to a session.
    private enum Event {
        case isLive
        case isInterrupted(CaptureError)
        case isOver(Loss)
    }

    /// Waits until the session is over, for all interruptions that a restart ends.
    private func wait(
        for session: WebRTCSession, _ attempt: any PublishingAttempt, _ live: () -> Void
    ) -> (loss: Loss, wasLive: Bool) {
        var (isLive, wasLive) = (false, false)
        while true {
            let event: Event? = shared.wait { shared in
                if shared.isEnding { return .isOver(Loss(error: .closedSession)) }
                if let loss = shared.loss { return .isOver(loss) }
                switch session.state {
                case .live: return isLive ? nil : .isLive
                case .interrupted(let reason): return .isInterrupted(reason)
                // The reason of an end comes as a loss.
                case .connecting, .closed: return nil
                }
            }
            switch event {
            case .isOver(let loss): return (loss, wasLive)
            case .isLive, nil:
                if wasLive { shared.withLock { $0.totals.reconnects += 1 } }
                (isLive, wasLive) = (true, true)
                live()
                setState(.live)
            case .isInterrupted(let reason):
                isLive = false
                guard attempt.canRestart else { return (Loss(error: reason), wasLive) }
                setState(.reconnecting(after: .zero, reason))
                guard restart(session, attempt) else { return (Loss(error: reason), wasLive) }
            }
        }
    }

    /// Longer than the checks of a path that stands take.
    private static let restartTimeout = Duration.seconds(10)

    /// Looks for another path to the peer.
    ///
    /// - Returns: whether the session goes on. False when the server refuses, or no path is found in time.
    private func restart(_ session: WebRTCSession, _ attempt: any PublishingAttempt) -> Bool {
        // Its sockets have the address that this machine had.
        if !configuration.offersAllAddresses, let used = session.configuration.peer.localAddresses.first,
            (try? localAddress(towards: server.host, port: server.port)) != used
        {
            return false
        }
        let mayAsk = shared.withLock { shared in
            if !shared.isEnding { shared.asking = attempt }
            return !shared.isEnding
        }
        guard mayAsk, let request = session.makeRestart(), let answer = attempt.restart(request) else { return false }
        shared.withLock { $0.asking = nil }
        session.restart(answer)
        let deadline = MonotonicClock().now.advanced(by: PublishingLoop.restartTimeout)
        return shared.wait(until: deadline) { shared -> Bool? in
            if shared.isEnding || shared.loss != nil { return true }
            return session.state == .live ? true : nil
        } ?? false
    }
}
