import CNice
import CaptureCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One agent of libnice with one stream of one component. It belongs to the connect thread, but for ``send(_:count:)``.
///
/// `@unchecked Sendable`: libnice's agents have a lock of their own.
final class ICEAgent: @unchecked Sendable {
    /// What the agent calls, on the connect thread unless stated.
    struct Handlers: Sendable {
        var gathered: @Sendable () -> Void
        /// On any thread.
        var stateChanged: @Sendable (NiceComponentState) -> Void
        /// Another pair was chosen. On any thread.
        var pairChanged: @Sendable () -> Void
        /// The bytes of a datagram, which may be changed in place.
        var received: @Sendable (UnsafeMutableRawBufferPointer) -> Void
    }

    private let agent: OpaquePointer
    private let stream: UInt32
    private let thread: ConnectThread
    fileprivate let handlers: Handlers
    private var isClosed = false
    /// How many servers of TURN it uses.
    private var relays = 0
    private static let component: UInt32 = 1
    /// As many servers of TURN as libnice takes for one peer.
    private static let maximumRelays = 8

    /// - Parameters:
    ///   - addresses: the only addresses of this machine to use; empty for all.
    /// - Throws: `invalidConfiguration` for text that is not an address, `unavailable`; `system` if few files and sockets can be
    ///   opened, because GLib ends the process when it gets none.
    init(
        _ thread: ConnectThread, isControlling: Bool, addresses: [String], isRelayOnly: Bool, _ handlers: Handlers
    ) throws(CaptureError) {
        try ICEAgent.checkDescriptors()
        guard let agent = nice_shim_agent_new(thread.context, isControlling ? 1 : 0) else {
            throw CaptureError(
                .unavailable, operation: "prepare ICE", message: "libnice makes no agent; install Debian's libnice10.")
        }
        self.thread = thread
        self.agent = agent
        self.handlers = handlers
        if isRelayOnly { nice_shim_set_relay_only(agent) }
        for text in addresses {
            var address = NiceAddress()
            nice_address_init(&address)
            guard nice_address_set_from_string(&address, text) != 0 else {
                g_object_unref(UnsafeMutableRawPointer(agent))
                throw CaptureError(
                    .invalidConfiguration, operation: "prepare ICE", subject: text,
                    message: "This is not an IP address; give one of this machine.")
            }
            nice_agent_add_local_address(agent, &address)
        }
        stream = nice_agent_add_stream(agent, 1)
        // Held by the agent until it is closed.
        let context = Unmanaged.passRetained(self).toOpaque()
        nice_shim_connect_signals(
            agent, { _, _, context in ICEAgent.of(context).handlers.gathered() },
            { _, _, _, state, context in ICEAgent.of(context).handlers.stateChanged(NiceComponentState(state)) },
            context)
        nice_shim_connect_pair_signal(
            agent, { _, _, _, _, _, context in ICEAgent.of(context).handlers.pairChanged() }, context)
        nice_agent_attach_recv(
            agent, stream, ICEAgent.component, thread.context,
            { _, _, _, count, bytes, context in
                guard let bytes, let context else { return }
                ICEAgent.of(context).handlers.received(UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)))
            }, context)
    }

    /// An agent opens a few, and what else the process opens at the same time must not take the last ones.
    private static let minimumFreeDescriptors = 16

    /// - Throws: `system` where few files and sockets can be opened.
    static func checkDescriptors() throws(CaptureError) {
        let usage = DescriptorUsage()
        guard usage.free < minimumFreeDescriptors else { return }
        throw CaptureError(
            .system, operation: "prepare ICE", errno: EMFILE,
            message: "This process may have \(usage.limit) files and sockets open and has \(usage.open), too many for "
                + "another connection by WebRTC. Raise the limit with `ulimit -n`.")
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> ICEAgent {
        Unmanaged<ICEAgent>.fromOpaque(context!).takeUnretainedValue()
    }

    /// Ends all work of the agent; no handler is called afterwards.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        let context = Unmanaged.passUnretained(self)
        nice_shim_disconnect_signals(agent, context.toOpaque())
        nice_agent_attach_recv(agent, stream, ICEAgent.component, thread.context, nil, nil)
        // Relays are given up by a message to their servers, which takes a while.
        nice_agent_close_async(agent, { agent, _, _ in g_object_unref(agent) }, nil)
        context.release()
    }

    // MARK: Candidates

    func add(_ server: PeerConnection.Server) {
        let type: NiceRelayType
        switch server.kind {
        case .stun: return nice_shim_set_stun_server(agent, server.host, UInt32(server.port))
        case .turnUDP: type = NICE_RELAY_TYPE_TURN_UDP
        case .turnTCP: type = NICE_RELAY_TYPE_TURN_TCP
        }
        guard relays < ICEAgent.maximumRelays else { return }
        relays += 1
        nice_agent_set_relay_info(
            agent, stream, ICEAgent.component, server.host, UInt32(server.port), server.user, server.password, type)
    }

    func gather() -> Bool { nice_agent_gather_candidates(agent, stream) != 0 }

    func restart() -> Bool { nice_agent_restart(agent) != 0 }

    var credentials: (user: String, password: String)? {
        var (user, password): (UnsafeMutablePointer<gchar>?, UnsafeMutablePointer<gchar>?)
        guard nice_agent_get_local_credentials(agent, stream, &user, &password) != 0, let user, let password else {
            return nil
        }
        defer {
            g_free(user)
            g_free(password)
        }
        return (String(cString: user), String(cString: password))
    }

    /// The lines of a description without `a=`.
    var candidates: [String] {
        let list = nice_agent_get_local_candidates(agent, stream, ICEAgent.component)
        defer { nice_shim_free_candidates(list) }
        var lines: [String] = []
        var next = list
        while let entry = next {
            next = entry.pointee.next
            guard let data = entry.pointee.data else { continue }
            let candidate = data.assumingMemoryBound(to: NiceCandidate.self)
            guard let line = nice_agent_generate_local_candidate_sdp(agent, candidate) else { continue }
            lines.append(String(String(cString: line).dropFirst(2)))
            g_free(line)
        }
        return lines
    }

    /// Sets what the peer has described.
    ///
    /// - Parameter isComplete: whether ``add(candidates:isComplete:)`` brings no more candidates.
    /// - Returns: the candidates that could not be read, such as names.
    func connect(user: String, password: String, candidates: [String], isComplete: Bool) -> [String] {
        nice_agent_set_remote_credentials(agent, stream, user, password)
        return add(candidates: candidates, isComplete: isComplete)
    }

    /// Adds candidates of the peer.
    ///
    /// - Returns: those that could not be read.
    @discardableResult
    func add(candidates: [String], isComplete: Bool) -> [String] {
        var list: UnsafeMutablePointer<GSList>?
        var unread: [String] = []
        for line in candidates {
            guard let candidate = nice_agent_parse_remote_candidate_sdp(agent, stream, "a=" + line) else {
                unread.append(line)
                continue
            }
            if candidate.pointee.component_id == ICEAgent.component {
                list = g_slist_append(list, candidate)
            } else {
                nice_candidate_free(candidate)
            }
        }
        nice_agent_set_remote_candidates(agent, stream, ICEAgent.component, list)
        if isComplete { nice_agent_peer_candidate_gathering_done(agent, stream) }
        nice_shim_free_candidates(list)
        return unread
    }

    /// Goes on with the path in use, though its checks were not answered for a while.
    ///
    /// - Returns: false when there is no such path.
    func keepPath() -> Bool { nice_shim_keep_path(agent, stream, ICEAgent.component) != 0 }

    /// The kinds of the two candidates of the chosen pair, as in `host, relayed`; nil for none.
    var selectedPair: String? {
        var (local, remote): (UnsafeMutablePointer<NiceCandidate>?, UnsafeMutablePointer<NiceCandidate>?)
        guard nice_agent_get_selected_pair(agent, stream, ICEAgent.component, &local, &remote) != 0, let local,
            let remote
        else { return nil }
        func name(_ candidate: UnsafeMutablePointer<NiceCandidate>) -> String {
            switch candidate.pointee.type {
            case NICE_CANDIDATE_TYPE_HOST: "host"
            case NICE_CANDIDATE_TYPE_RELAYED: "relayed"
            default: "reflexive"
            }
        }
        return "\(name(local)), \(name(remote))"
    }

    /// The path past the agent to the peer; nil by a relay of this side.
    var directPath: DirectPath? {
        var (peer, length) = (sockaddr_storage(), socklen_t(0))
        let descriptor = nice_shim_direct_path(agent, stream, ICEAgent.component, &peer, &length)
        return descriptor < 0 ? nil : DirectPath(descriptor, peer: peer, length: Int(length))
    }

    // MARK: Data

    /// Sends a datagram.
    func send(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        nice_agent_send(
            agent, stream, ICEAgent.component, UInt32(bytes.count), start.assumingMemoryBound(to: gchar.self))
    }

    /// Sends datagrams by one system call where that is possible.
    ///
    /// - Returns: how many were taken.
    func send(_ datagrams: UnsafeBufferPointer<iovec>) -> Int {
        withUnsafeTemporaryAllocation(of: NiceOutputMessage.self, capacity: datagrams.count) { messages in
            // As GLib's documentation says of the two types.
            datagrams.withMemoryRebound(to: GOutputVector.self) { vectors in
                let vectors = UnsafeMutablePointer(mutating: vectors.baseAddress!)
                for index in messages.indices {
                    messages.initializeElement(at: index, to: NiceOutputMessage(buffers: vectors + index, n_buffers: 1))
                }
            }
            let count = nice_agent_send_messages_nonblocking(
                agent, stream, ICEAgent.component, messages.baseAddress!, UInt32(messages.count), nil, nil)
            return max(0, Int(count))
        }
    }
}
