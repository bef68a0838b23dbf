import CNice
import CaptureCore
package import StreamTransport

/// A connection to one peer of WebRTC: ICE, then DTLS, then SRTP. It sends media, and receives the reports about it.
///
/// ``gather()`` → ``PeerConnection/State/gathered`` → describe ``localParameters`` to the peer → ``connect(to:isServer:)``
/// → ``PeerConnection/State/ready`` → ``send(_:)`` … → ``close(goodbyes:)``, which must come, since the connection holds
/// itself until then.
///
/// **Threads.** Safe to use from any thread. Handlers are called on the thread that connects the peer and others, so they must
/// not wait. One thread at a time may call ``send(_:)``.
///
/// **Security.** The certificate of the peer is compared with its description before a key exists. Packets that are not
/// authentic are dropped and counted. Once the peer no longer answers checks, nothing is sent (RFC 7675).
///
/// `@unchecked Sendable`: members without a lock belong to the connect thread.
package final class PeerConnection: @unchecked Sendable {
    private struct Shared {
        var state = State.new
        var local: Parameters?
        /// What sends, while the connection is ready. Its lock is the one of the peer.
        var outbound: Outbound?
        var statistics = Statistics()
    }

    let configuration: Configuration
    private let handlers: Handlers
    let thread: ConnectThread
    private let shared = Locked(Shared())

    // Of the connect thread.
    private var agent: ICEAgent?
    private var dtls: DTLSSession?
    private var inbound: SRTPSession?
    private var remote: Parameters?
    private var isServer = true
    private var timer: ConnectThread.Timer?
    private var deadline = MediaTime.zero
    private var isICEConnected = false
    private var reportWindow = (begin: MediaTime.zero, count: 0)
    private var consent = PathConsent()

    /// A connection that does nothing yet.
    ///
    /// - Throws: `system` when the machine has no thread left, or few files and sockets can be opened.
    package init(_ configuration: Configuration, _ handlers: Handlers) throws(CaptureError) {
        self.configuration = configuration
        self.handlers = handlers
        try ICEAgent.checkDescriptors()
        thread = try ConnectThread.next()
    }

    // MARK: State

    /// What it does at present.
    package var state: State { shared.withLock { $0.state } }

    /// What the peer must know, once it is gathered; nil before.
    package var localParameters: Parameters? { shared.withLock { $0.local } }

    /// Statistics of the connection.
    package var statistics: Statistics { shared.withLock { $0.statistics } }

    /// Waits until the addresses of this machine are known, and returns what the peer must know. Not on the connect thread.
    ///
    /// - Throws: the reason when the connection has closed, `stalled` when the time is over.
    package func waitUntilGathered(for timeout: Duration) throws(CaptureError) -> Parameters {
        let deadline = MonotonicClock().now.advanced(by: timeout)
        let result: Result<Parameters, CaptureError>? = shared.wait(until: deadline) { shared in
            if case .closed(let reason) = shared.state { return .failure(reason ?? .closedPeer) }
            guard shared.state != .gathering, let local = shared.local else { return nil }
            return .success(local)
        }
        guard let result else {
            throw CaptureError(
                .stalled, operation: "gather addresses",
                message: "STUN or TURN servers have not answered; check their addresses, and the firewall.")
        }
        return try result.get()
    }

    private func setState(_ state: State) {
        let isNew = shared.withLock { shared in
            if case .closed = shared.state { return false }
            defer { shared.state = state }
            return shared.state != state
        }
        shared.wakeAll()
        if isNew { handlers.stateChanged(state) }
    }

    // MARK: Steps

    /// Begins to find the addresses under which this machine is reached.
    package func gather() { thread.perform { self.startGathering() } }

    private func startGathering() {
        guard agent == nil, state == .new else { return }
        do throws(CaptureError) {
            let agent = try ICEAgent(
                thread, isControlling: configuration.isControlling, addresses: configuration.localAddresses,
                isRelayOnly: configuration.isRelayOnly,
                ICEAgent.Handlers(
                    gathered: { self.didGather() },
                    // It may come from any thread, and with the agent's lock held elsewhere.
                    stateChanged: { state in self.thread.perform { self.iceStateChanged(state) } },
                    pairChanged: { self.thread.perform { self.pathChanged() } },
                    received: { self.received($0) }))
            self.agent = agent
            setState(.gathering)
            for server in configuration.servers { agent.add(server) }
            guard agent.gather() else {
                throw CaptureError(
                    .deviceNotFound, operation: "gather addresses", subject: configuration.localAddresses.first,
                    message: "This machine has no such address; check the network.")
            }
        } catch {
            finish(error)
        }
    }

    private func didGather() {
        guard let agent, let credentials = agent.credentials, let context = try? DTLSContext.shared() else { return }
        let local = Parameters(
            user: credentials.user, password: credentials.password, candidates: agent.candidates,
            fingerprints: [context.fingerprint])
        shared.withLock { $0.local = local }
        if case .gathering = state { setState(.gathered) } else { shared.wakeAll() }
    }

    /// Connects to the peer that has described itself.
    ///
    /// - Parameters:
    ///   - remote: what it has described.
    ///   - isServer: whether this side is the server of DTLS, since the peer is `active`.
    package func connect(to remote: Parameters, isServer: Bool) {
        thread.perform { self.startConnecting(remote, isServer) }
    }

    private func startConnecting(_ remote: Parameters, _ isServer: Bool) {
        guard let agent else { return }
        self.remote = remote
        self.isServer = isServer
        let candidates = Array(remote.candidates.prefix(PeerConnection.maximumCandidates))
        let named = configuration.resolvesNames ? candidates.compactMap { NamedCandidate($0) } : []
        let unread = agent.connect(
            user: remote.user, password: remote.password, candidates: candidates, isComplete: named.isEmpty)
        shared.withLock { $0.statistics.hiddenCandidates += unread.count }
        if !named.isEmpty { resolve(named) }
        guard dtls == nil else { return }
        deadline = MonotonicClock().now.advanced(by: configuration.connectTimeout)
        setState(.connecting)
        // It exists while the connection is being made.
        timer = thread.repeating(every: 20) { [weak self] in self?.tick() }
    }

    /// Looks up the names of candidates, on a thread of their own: that takes up to many seconds.
    private func resolve(_ named: [NamedCandidate]) {
        let thread = self.thread
        do throws(CaptureError) {
            try CaptureThread(name: "webrtc names") { [weak self] in
                for (index, candidate) in named.enumerated() {
                    let lines = candidate.resolve()
                    thread.perform { [weak self] in
                        guard let self else { return }
                        if !lines.isEmpty { self.shared.withLock { $0.statistics.hiddenCandidates -= 1 } }
                        self.agent?.add(candidates: lines, isComplete: index == named.count - 1)
                    }
                }
            }
        } catch {
            agent?.add(candidates: [], isComplete: true)
        }
    }

    /// Uses further servers, which a signalling server has named.
    package func add(_ servers: [Server]) {
        thread.perform { for server in servers { self.agent?.add(server) } }
    }

    /// Begins with new credentials, with which a path is found once ``connect(to:isServer:)`` has those of the peer; an old
    /// path serves until then. Keys stay as they are.
    ///
    /// - Parameter completion: called on the connect thread with what the peer must know; nil when it is closed.
    package func restart(_ completion: @escaping @Sendable (Parameters?) -> Void) {
        thread.perform {
            guard let agent = self.agent, agent.restart() else { return completion(nil) }
            self.didGather()
            completion(self.localParameters)
        }
    }

    private func tick() {
        guard case .connecting = state else { return }
        dtls?.handleTimeout()
        guard MonotonicClock().now > deadline else { return }
        var cause = dtls == nil ? "No address of the peer answers" : "The peer does not answer the handshake"
        let hidden = statistics.hiddenCandidates
        if dtls == nil, hidden > 0 {
            cause +=
                " (\(hidden) of the \(remote?.candidates.count ?? hidden) that it has stated are names that "
                + "\(configuration.resolvesNames ? "are not known here" : "are not looked up"))"
        }
        finish(
            CaptureError(
                .stalled, operation: "connect to the peer",
                message: "\(cause); check firewalls between, or give a TURN server."))
    }

    private func iceStateChanged(_ new: NiceComponentState) {
        switch new {
        case NICE_COMPONENT_STATE_CONNECTED, NICE_COMPONENT_STATE_READY:
            pathChanged()
            isICEConnected = true
            if case .disconnected = state { setState(.ready) } else { startEncryption() }
        case NICE_COMPONENT_STATE_FAILED: pathFailed()
        default: break
        }
    }

    private func pathChanged() {
        let (pair, direct) = (agent?.selectedPair, agent?.directPath)
        shared.withLock { shared in
            shared.statistics.path = pair
            shared.outbound?.direct = direct
        }
    }

    /// No path is found, or libnice has given up the one in use. On the connect thread.
    func pathFailed() {
        // A relay that is still asked, or an answer that comes late, may yet help, until the time is over.
        guard isICEConnected, !keepPath() else { return }
        let reason = CaptureError(
            .deviceLost, operation: "send to the peer",
            message: "The peer no longer answers; check it, and the network.")
        // Without keys there is nothing to go on with.
        if configuration.canRestart, inbound != nil { setState(.disconnected(reason)) } else { finish(reason) }
    }

    /// Continues with a path that libnice has given up, because the peer may still receive.
    private func keepPath() -> Bool {
        // A path that is looked for again is not in use.
        if case .disconnected = state { return false }
        let now = MonotonicClock().now
        guard inbound != nil, consent.isGiven(at: now), agent?.keepPath() == true else { return false }
        consent.didKeep(at: now)
        shared.withLock { $0.statistics.pathsKept += 1 }
        return true
    }

    // MARK: Encryption

    private func startEncryption() {
        guard dtls == nil, remote != nil, let agent else { return }
        do throws(CaptureError) {
            let dtls = try DTLSSession(isServer: isServer) { [weak agent] in agent?.send($0) }
            self.dtls = dtls
            progressed(dtls.advance())
        } catch {
            finish(error)
        }
    }

    private func progressed(_ progress: DTLSSession.Progress) {
        switch progress {
        case .waiting: break
        case .failed(let error): finish(error)
        case .connected:
            guard inbound == nil, let dtls, let agent else { return }
            do throws(CaptureError) {
                guard dtls.matches(remote?.fingerprints ?? []) else {
                    throw CaptureError(
                        .permissionDenied, operation: "encrypt the connection",
                        message: "The certificate of the peer is not the one that its description states. Someone may "
                            + "stand between; nothing was sent.")
                }
                let sessions = try dtls.makeSRTP()
                inbound = sessions.inbound
                timer = nil
                shared.withLock {
                    $0.outbound = Outbound(srtp: sessions.outbound, agent: agent, direct: agent.directPath)
                }
                setState(.ready)
            } catch {
                finish(error)
            }
        }
    }

    // MARK: Receiving

    /// Sorts datagrams by their first byte (RFC 7983).
    private func received(_ bytes: UnsafeMutableRawBufferPointer) {
        guard bytes.count >= 12, case .some = agent else { return }
        switch bytes[0] {
        case 20...63:
            // A peer's handshake may begin before this side knows that the path stands; it is sent again.
            guard let dtls else { return }
            let (progress, hasClosed) = dtls.receive(UnsafeRawBufferPointer(bytes))
            progressed(progress)
            if hasClosed {
                finish(
                    CaptureError(
                        .deviceLost, operation: "send to the peer", message: "The peer has ended the connection."))
            }
        case 128...191:
            guard let inbound else { return }
            if (192...223).contains(bytes[1]) { receivedReport(bytes, inbound) } else { receivedMedia(bytes, inbound) }
        default: break
        }
    }

    private func receivedReport(_ bytes: UnsafeMutableRawBufferPointer, _ inbound: SRTPSession) {
        let now = MonotonicClock().now
        if now.nanoseconds(since: reportWindow.begin) >= 1_000_000_000 { reportWindow = (now, 0) }
        reportWindow.count += 1
        guard reportWindow.count <= PeerConnection.maximumReportsPerSecond,
            bytes.count <= PeerConnection.maximumReportSize
        else { return shared.withLock { $0.statistics.reportsDropped += 1 } }
        var length = Int32(bytes.count)
        let isAuthentic = inbound.unprotectRTCP(bytes.baseAddress!, &length)
        shared.withLock { shared in
            if isAuthentic { shared.statistics.reportsReceived += 1 } else { shared.statistics.rejected += 1 }
        }
        if isAuthentic {
            consent.didReceiveReport(at: now)
            handlers.reportReceived(UnsafeRawBufferPointer(rebasing: bytes[..<Int(length)]))
        }
    }

    private func receivedMedia(_ bytes: UnsafeMutableRawBufferPointer, _ inbound: SRTPSession) {
        guard let handler = handlers.mediaReceived else { return }
        var length = Int32(bytes.count)
        guard inbound.unprotect(bytes.baseAddress!, &length) else {
            return shared.withLock { $0.statistics.rejected += 1 }
        }
        handler(UnsafeRawBufferPointer(rebasing: bytes[..<Int(length)]))
    }

    // MARK: Sending

    /// Encrypts and sends all packets of a batch, which is empty afterwards. Nothing is sent unless it is ready.
    package func send(_ batch: DatagramBatch) {
        defer { batch.removeAll() }
        shared.withLock { shared in
            guard let outbound = shared.outbound, shared.state == .ready, batch.count > 0 else { return }
            var isProtected = true
            for index in 0..<batch.count {
                isProtected = batch.withDatagram(index) { outbound.srtp.protect($0, &$1) } && isProtected
            }
            let sent = isProtected ? outbound.send(batch) : (count: 0, bytes: 0)
            shared.statistics.add(sent, of: batch.count)
        }
    }

    /// Encrypts and sends a compound packet of RTCP.
    ///
    /// - Parameter report: at most ``maximumReportSize`` bytes.
    package func sendReport(_ report: UnsafeRawBufferPointer) {
        guard report.count > 0, report.count <= PeerConnection.maximumReportSize else { return }
        withUnsafeTemporaryAllocation(byteCount: report.count + 64, alignment: 16) { memory in
            memory.copyMemory(from: report)
            var length = Int32(report.count)
            shared.withLock { shared in
                guard let outbound = shared.outbound, shared.state == .ready,
                    outbound.srtp.protectRTCP(memory.baseAddress!, &length)
                else { return }
                outbound.agent.send(UnsafeRawBufferPointer(rebasing: memory[..<Int(length)]))
            }
        }
    }

    // MARK: The end

    /// Ends the connection: notifies the peer, and releases all resources. May be repeated.
    ///
    /// - Parameter goodbyes: compound packets of RTCP with BYE.
    package func close(goodbyes: [[UInt8]] = []) {
        thread.perform {
            for goodbye in goodbyes { goodbye.withUnsafeBytes { self.sendReport($0) } }
            self.finish(nil)
        }
    }

    private func finish(_ reason: CaptureError?) {
        timer = nil
        shared.withLock { $0.outbound = nil }
        dtls?.close()
        setState(.closed(reason))
        agent?.close()
        // Its last call may still be under way further up on this thread's stack.
        let (agent, dtls) = (self.agent, self.dtls)
        self.agent = nil
        nonisolated(unsafe) let last = dtls
        thread.perform { withExtendedLifetime((agent, last)) {} }
        self.dtls = nil
        inbound = nil
    }
}
