import CaptureCore
import RTP
package import StreamTransport
import VideoCapturing
import WebRTCTransport

/// The media of one peer: takes encoded packets, and sends them as the peer and the way to it can take them.
///
/// ``makeOffer()`` → ``accept(answer:)``, or ``answer(offer:)`` → ``WebRTCSession/State/live`` → ``write(_:)`` …
/// → ``close()``, which must come.
///
/// **Threads.** Safe to use from any thread. ``write(_:)`` never waits. Handlers are called on the threads that connect and
/// send, so they must not wait.
package final class WebRTCSession: SendClient {
    /// How it is made.
    package struct Configuration: Sendable {
        /// The tracks: one of video, one of sound, or one of both.
        package var tracks: [TrackDescription]
        /// The maximum bitrate of the video, in bits per second.
        package var maximumBitrate = 2_500_000
        /// The bitrate of the sound.
        package var audioBitrate = 0
        /// Whether the packets are those of a source, whose bitrate is given: the way is taken for good enough, until
        /// it shows that it is not, and then whole groups of pictures are left out.
        package private(set) var isPassedOn = false
        /// The addresses and servers of ICE.
        package var peer: PeerConnection.Configuration
        /// How long STUN and TURN servers may take to answer.
        package var gatherTimeout = Duration.seconds(10)

        package init(_ tracks: [TrackDescription], peer: PeerConnection.Configuration, isPassedOn: Bool = false) {
            self.tracks = tracks
            self.peer = peer
            self.isPassedOn = isPassedOn
            // More than a camera of 4K sends.
            if isPassedOn { maximumBitrate = 25_000_000 }
        }
    }

    /// The handlers.
    package struct Handlers: Sendable {
        /// A new state.
        package var stateChanged: @Sendable (State) -> Void
        /// A key frame is needed as soon as possible.
        package var keyFrameNeeded: @Sendable () -> Void
        /// The bitrate that the video should have, in bits per second.
        package var bitrateChanged: @Sendable (Int) -> Void

        package init(
            stateChanged: @escaping @Sendable (State) -> Void, keyFrameNeeded: @escaping @Sendable () -> Void = {},
            bitrateChanged: @escaping @Sendable (Int) -> Void = { _ in }
        ) {
            self.stateChanged = stateChanged
            self.keyFrameNeeded = keyFrameNeeded
            self.bitrateChanged = bitrateChanged
        }
    }

    package enum State: Sendable, Hashable {
        case connecting
        /// Media flows, from the next key frame on.
        case live
        /// The peer no longer answers, for the reason; ``WebRTCSession/restart(_:)`` may find another path to it. Only with
        /// `canRestart` of the peer's configuration.
        case interrupted(CaptureError)
        /// For a reason, or since it was asked to.
        case closed(CaptureError?)
    }

    private struct Shared {
        var media: SessionMedia?
        var state = State.connecting
        var offer: LocalSession?
        var remote: (transport: Negotiation.Transport, isServer: Bool)?
        var restarted: PeerConnection.Parameters?
        var isDraining = false
    }

    let configuration: Configuration
    private let handlers: Handlers
    private let shared = Locked(Shared())
    /// What waits to be cut into packets: a peer that is too slow loses whole groups of pictures.
    private let queue: PacketQueue
    private let peerBox = Locked<PeerConnection?>(nil)
    /// Where it is called to send; nil unless it is live.
    private let place = Locked<SendPlace?>(nil)

    private static let queueLimits = PacketQueue.Limits(packets: 512, bytes: 4 << 20, duration: .seconds(1))

    /// A session that does nothing yet.
    ///
    /// - Throws: `formatUnsupported` for tracks that WebRTC does not carry, `system`.
    package init(_ configuration: Configuration, _ handlers: Handlers) throws(CaptureError) {
        self.configuration = configuration
        self.handlers = handlers
        queue = PacketQueue(WebRTCSession.queueLimits)
        for track in configuration.tracks where RTPFormat(track.codec) == nil {
            throw CaptureError(
                .formatUnsupported, operation: "publish by WebRTC",
                message: "WebRTC carries VP8, H.264 and Opus, and this is \(track.codec); choose one of these codecs.")
        }
        let peer = try PeerConnection(
            configuration.peer,
            PeerConnection.Handlers(
                stateChanged: { [weak self] in self?.peerStateChanged(to: $0) },
                reportReceived: { [weak self] in self?.receive($0) }))
        peerBox.withLock { $0 = peer }
    }

    deinit { peerBox.withLock { $0 }?.close() }

    private var peer: PeerConnection? { peerBox.withLock { $0 } }

    /// What it does at present.
    package var state: State { shared.withLock { $0.state } }

    // MARK: Description

    /// Finds the addresses of this machine, and describes the session. Waits for STUN and TURN servers.
    ///
    /// - Throws: `stalled`, `deviceNotFound`, `unavailable`; and why it was closed.
    package func makeOffer() throws(CaptureError) -> String {
        let local = localSession(try gather())
        shared.withLock { $0.offer = local }
        return local.offer
    }

    /// Takes the answer to the offer, and begins to connect.
    ///
    /// - Parameters:
    ///   - answer: the peer's description.
    ///   - candidates: those that came apart from it.
    /// - Returns: what the peer takes, and what it does not.
    /// - Throws: `SDPError` for an answer that cannot be used.
    @discardableResult
    package func accept(answer: String, candidates: [String] = []) throws(SDPError) -> Negotiation {
        guard let local = shared.withLock({ $0.offer }) else {
            throw SDPError(.refused, operation: "read the answer", message: "There was no offer.")
        }
        var agreed = try local.readAnswer(answer)
        agreed.transport.candidates += candidates
        begin(local, agreed)
        connect(agreed.transport, isServer: agreed.transport.setup != .passive)
        return agreed
    }

    /// Answers a peer that wants to receive, and begins to connect. Waits as ``makeOffer()``.
    ///
    /// - Throws: `SDPError` for an offer that cannot be used; and as ``makeOffer()``.
    package func answer(offer text: String) throws -> String {
        let offer = try SessionDescription(parsing: text, operation: "read the offer")
        var local = localSession(try gather())
        for index in local.streams.indices { local.streams[index].epoch = .random(in: 0 ... .max) }
        // Browsers offer either role; the side that answers begins (RFC 8842).
        let isServer = offer.sections.contains { $0.setup == .active }
        local.transport.setup = isServer ? .passive : .active
        let (answer, agreed) = try local.answer(to: offer)
        begin(local, agreed)
        connect(agreed.transport, isServer: isServer)
        return answer
    }

    private func gather() throws(CaptureError) -> PeerConnection.Parameters {
        guard let peer else { throw .closedSession }
        peer.gather()
        return try peer.waitUntilGathered(for: configuration.gatherTimeout)
    }

    private func localSession(_ parameters: PeerConnection.Parameters) -> LocalSession {
        let fingerprint = parameters.fingerprints.first.map { "\($0.algorithm.rawValue) \($0.value)" } ?? ""
        let transport = LocalSession.Transport(
            iceUser: parameters.user, icePassword: parameters.password, fingerprint: fingerprint,
            candidates: parameters.candidates)
        return LocalSession(streams: configuration.tracks.compactMap { LocalSession.Stream($0) }, transport: transport)
    }

    private func begin(_ local: LocalSession, _ agreed: Negotiation) {
        let clock = NTPClock()
        var streams: [SessionMedia.Stream] = []
        var usesTransportFeedback = false
        for stream in agreed.streams {
            guard let format = RTPFormat(stream.codec),
                let index = local.streams.firstIndex(where: { $0.formats.contains { $0.format.codec == stream.codec } })
            else { continue }
            let isVideo = !format.isAudio
            var sending = RTPSender.Configuration(format: format, payloadType: stream.payloadType)
            sending.ssrc = local.streams[index].ssrc
            if let epoch = local.streams[index].epoch { sending.start.timestamp = epoch }
            sending.extensions = stream.extensions
            sending.mid = stream.mid
            sending.cname = local.cname
            sending.trailerSize = 16
            sending.maximumBitrate = isVideo ? configuration.maximumBitrate : max(configuration.audioBitrate, 64_000)
            if let type = stream.retransmissionType, let ssrc = local.streams[index].retransmissionSSRC {
                sending.resending = .rtx(payloadType: type, ssrc: ssrc)
            }
            if isVideo {
                usesTransportFeedback =
                    stream.extensions.transportNumber != nil && stream.feedback.contains(.transportWide)
            }
            streams.append(
                SessionMedia.Stream(
                    track: configuration.tracks[index].id, isVideo: isVideo,
                    sender: RTPSender(sending, clock: clock)))
        }
        // Headers, retransmissions and sound come on top of what the encoder makes.
        let audioBitrate = streams.contains { !$0.isVideo } ? configuration.audioBitrate : 0
        var estimation = BandwidthEstimator.Configuration(
            maximum: configuration.maximumBitrate * 115 / 100 + audioBitrate * 3 / 2)
        estimation.usesTransportFeedback = usesTransportFeedback
        if configuration.isPassedOn { estimation.start = estimation.maximum }
        let media = SessionMedia(streams, BandwidthEstimator(estimation), clock: clock, audioBitrate: audioBitrate)
        nonisolated(unsafe) let made = media
        shared.withLock { $0.media = made }
    }

    private func connect(_ transport: Negotiation.Transport, isServer: Bool) {
        shared.withLock { $0.remote = (transport, isServer) }
        peer?.connect(
            to: PeerConnection.Parameters(
                user: transport.iceUser, password: transport.icePassword, candidates: transport.candidates,
                fingerprints: transport.fingerprints.compactMap { fingerprint in
                    let digits = fingerprint.digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
                    return Fingerprint(algorithm: fingerprint.hash, value: digits.joined(separator: ":"))
                }), isServer: isServer)
    }

    /// Makes credentials with which another path to the same peer can be found. Waits for a moment.
    ///
    /// - Returns: what the signalling server must know; nil where the session was not offered by this side, or is closed.
    package func makeRestart() -> ICEFragment? {
        shared.withLock { $0.restarted = nil }
        peer?.restart { [weak self] parameters in
            self?.shared.withLock { $0.restarted = parameters }
            self?.shared.wakeAll()
        }
        let deadline = MonotonicClock().now.advanced(by: .seconds(5))
        let found = shared.wait(until: deadline) { shared -> PeerConnection.Parameters?? in
            if case .closed = shared.state { return .some(nil) }
            return shared.restarted.map { .some($0) }
        }
        guard case .some(.some(let parameters)) = found, let offer = shared.withLock({ $0.offer })?.offer else {
            return nil
        }
        var fragment = ICEFragment(ufrag: parameters.user, password: parameters.password)
        let lines = offer.split(whereSeparator: \.isNewline)
        fragment.mediaLine = lines.first { $0.hasPrefix("m=") }.map { String($0) } ?? ""
        fragment.mids = lines.filter { $0.hasPrefix("a=mid:") }.map { String($0.dropFirst(6)) }
        fragment.candidates = parameters.candidates
        return fragment
    }

    /// Takes the peer's answer to ``makeRestart()``, and looks for a path.
    package func restart(_ answer: ICEFragment) {
        guard let remote = shared.withLock({ $0.remote }) else { return }
        var transport = remote.transport
        transport.iceUser = answer.ufrag
        transport.icePassword = answer.password
        // A server that names none has those that it had.
        if !answer.candidates.isEmpty { transport.candidates = answer.candidates }
        connect(transport, isServer: remote.isServer)
    }

    /// Uses servers that the signalling server has named.
    package func add(_ servers: [PeerConnection.Server]) { peer?.add(servers) }

    // MARK: Media

    private func peerStateChanged(to state: PeerConnection.State) {
        switch state {
        case .new, .gathering, .gathered, .connecting: break
        case .ready:
            // Waiting packets are older than the connection: the peer begins with a key frame.
            queue.restart()
            let now = MonotonicClock().now
            shared.withLock { shared in
                if case .interrupted = shared.state { shared.media?.didChangePath() }
                shared.state = .live
                shared.media?.requestKeyFrame(at: now)
            }
            do throws(CaptureError) {
                let entered = try SendPlace(self)
                place.withLock { $0 = entered }
            } catch {
                peer?.close()
                return end(error)
            }
            handlers.stateChanged(.live)
        case .disconnected(let reason):
            shared.withLock { $0.state = .interrupted(reason) }
            leavePlace()
            handlers.stateChanged(.interrupted(reason))
        case .closed(let reason): end(reason)
        }
    }

    /// Queues a packet, if the peer is ready for it. Never waits.
    package func write(_ packet: MediaPacket) {
        guard shared.withLock({ $0.state == .live }) else { return }
        switch queue.push(packet) {
        case .accepted: wake()
        case .needsKeyFrame:
            let now = MonotonicClock().now
            shared.withLock { $0.media?.requestKeyFrame(at: now) }
            wake()
        case .awaitsKeyFrame, .closed: break
        }
    }

    package func sendDue(at now: MediaTime, using batch: DatagramBatch) -> MediaTime? {
        guard let peer else { return nil }
        let (next, requests, hasWaiter) = shared.withLock { shared -> (MediaTime?, SessionMedia.Requests, Bool) in
            guard shared.state == .live, let media = shared.media else { return (nil, SessionMedia.Requests(), false) }
            let next = media.sendDue(from: queue, at: now, using: batch) { peer.send($0) }
            media.sendReports(at: now) { peer.sendReport($0) }
            var requests = media.takeRequests(at: now)
            if media.takeKeyFrameRequest() { requests.keyFrame = true }
            return (next, requests, shared.isDraining)
        }
        // First the bitrate, so that the first key frame is not larger than the way can take.
        if let bitrate = requests.bitrate { handlers.bitrateChanged(bitrate) }
        if requests.keyFrame { handlers.keyFrameNeeded() }
        if hasWaiter { shared.wakeAll() }
        return next
    }

    private func receive(_ report: UnsafeRawBufferPointer) {
        let now = MonotonicClock().now
        if shared.withLock({ $0.media?.receive(report, at: now) }) == true { wake() }
    }

    // MARK: The end

    /// Waits until the written packets have been sent, or the time is over.
    package func drain(for timeout: Duration) {
        let deadline = MonotonicClock().now.advanced(by: timeout)
        shared.withLock { $0.isDraining = true }
        wake()
        _ = shared.wait(until: deadline) { shared in
            guard shared.state == .live, let media = shared.media else { return true }
            return queue.isEmpty && media.hasSentAll ? true : nil
        }
    }

    /// Ends the session, and notifies the peer. May be repeated.
    package func close() {
        let goodbye = shared.withLock { shared -> [[UInt8]] in
            guard shared.state == .live else { return [] }
            var reports: [[UInt8]] = []
            shared.media?.sendReports(at: MonotonicClock().now, isGoodbye: true) { reports.append(Array($0)) }
            return reports
        }
        peer?.close(goodbyes: goodbye)
        end(nil)
    }

    private func end(_ reason: CaptureError?) {
        let isFirst = shared.withLock { shared in
            if case .closed = shared.state { return false }
            shared.state = .closed(reason)
            return true
        }
        guard isFirst else { return }
        shared.wakeAll()
        queue.close(discardingWaitingPackets: true)
        leavePlace()
        handlers.stateChanged(.closed(reason))
    }

    private func wake() { place.withLock { $0 }?.wake() }

    private func leavePlace() { place.withLock { $0.take() }?.leave() }

    // MARK: Statistics

    /// What this session has counted, and what it measures at present; without the state of the output.
    package var statistics: WebRTCOutput.Statistics {
        let now = MonotonicClock().now
        var result = shared.withLock { $0.media?.statistics(at: now) } ?? WebRTCOutput.Statistics()
        result.framesDropped = queue.counts.dropped
        if let peer = peer?.statistics {
            (result.packetsSent, result.bytesSent, result.path) = (peer.packetsSent, peer.bytesSent, peer.path)
            result.packetsUnsent = peer.packetsUnsent
        }
        return result
    }
}

extension CaptureError {
    static let closedSession = CaptureError(
        .invalidState, operation: "publish by WebRTC", message: "The session was closed; make another one.")
}
