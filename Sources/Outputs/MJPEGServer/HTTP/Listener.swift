import NIOCore
import NIOHTTP1
import NIOPosix
import ServerTransport
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The network side of a running server: its threads, its port, its connections.
final class Listener: Sendable {
    let address: MJPEGServer.Address
    let service: Service
    /// A warning about the machine's limits; nil for none.
    let warning: String?
    private let group: MultiThreadedEventLoopGroup
    /// The open port.
    private let channel: any Channel

    /// Listens. Blocks until the port is open.
    ///
    /// - Throws: `MJPEGServerError` with the reason why it cannot.
    init(
        _ configuration: MJPEGServer.Configuration, broadcaster: Broadcaster, connections: Connections
    ) throws(MJPEGServerError) {
        let tls: TransportSecurity?
        do throws(CaptureError) {
            tls = try configuration.tls.map { (tls) throws(CaptureError) in
                try TransportSecurity(
                    certificateChain: tls.certificateChain, privateKey: tls.privateKey, protocols: ["http/1.1"])
            }
        } catch {
            throw MJPEGServerError(
                .certificate, operation: error.operation, subject: error.subject, message: error.message)
        }
        // Before there are threads: SwiftNIO crashes when it gets no descriptor for one.
        let descriptors = DescriptorLimit()
        let wanted = configuration.limits.connections
        let limit: Int
        do throws(CaptureError) {
            limit = try descriptors.connections(
                atMost: wanted, threadCount: configuration.threadCount,
                besides: broadcaster.viewing?.descriptorCount ?? 0)
        } catch {
            throw MJPEGServerError(
                .system, operation: error.operation, errno: error.systemError, message: error.message)
        }
        connections.setLimit(limit)
        warning =
            limit < wanted
            ? "At most \(limit) connections are served at a time, and not \(wanted), since this process may have only "
                + "\(descriptors.limit) files and sockets open. Raise that limit with `ulimit -n`." : nil
        let group = MultiThreadedEventLoopGroup(numberOfThreads: configuration.threadCount)
        let hubs = group.makeIterator().map { LoopHub($0, waiting: broadcaster.waiting) }
        let service = Service(configuration, broadcaster: broadcaster, connections: connections, hubs: hubs)
        do {
            (channel, address) = try Listener.bind(configuration, service: service, group: group, tls: tls)
        } catch {
            try? group.syncShutdownGracefully()
            throw error
        }
        self.service = service
        self.group = group
    }

    /// Closes the port and every connection and ends the threads. When it returns, all of that is done.
    func close() {
        // First, so that no thread that has ended is handed a connection, on which SwiftNIO crashes in debug builds: those that
        // were accepted before go to their threads, and the answers back.
        try? channel.close().wait()
        for _ in 0..<2 {
            for hub in service.hubs { try? hub.loop.submit {}.wait() }
        }
        for hub in service.hubs { hub.close() }
        // Data that has not been sent is discarded.
        try? group.syncShutdownGracefully()
        service.connections.forgetOpen()
        if address.port == nil { unlink(address.host) }
    }

    private static func bind(
        _ configuration: MJPEGServer.Configuration, service: Service, group: MultiThreadedEventLoopGroup,
        tls: TransportSecurity?
    ) throws(MJPEGServerError) -> (any Channel, MJPEGServer.Address) {
        let hubs = Dictionary(uniqueKeysWithValues: service.hubs.map { (ObjectIdentifier($0.loop), $0) })
        var bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Writable means: everything was handed to the kernel. See StreamViewer.
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 1, high: 1))
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptPause(service.broadcaster.onWarning))
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let (peer, admission) = try service.connections.enter(channel)
                    let pipeline = channel.pipeline.syncOperations
                    let transport = Transport()
                    try pipeline.addHandler(transport)
                    try tls?.secure(pipeline)
                    let gate = RequestGate(limit: configuration.limits.headBytes)
                    try pipeline.addHandler(gate)
                    try pipeline.addHandler(
                        ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
                    // Every loop of the group has its hub.
                    let hub = hubs[ObjectIdentifier(channel.eventLoop)]!
                    try pipeline.addHandler(
                        ConnectionHandler(
                            service, hub: hub, gate: gate, transport: transport, peer: peer, admission: admission))
                }
            }
        if configuration.sendBufferSize > 0 {
            bootstrap = bootstrap.childChannelOption(
                .socketOption(.so_sndbuf), value: SocketOptionValue(configuration.sendBufferSize))
        }
        do {
            if let path = configuration.socketPath {
                removeAbandonedSocket(path)
                let channel = try bootstrap.bind(unixDomainSocketPath: path).wait()
                return (channel, MJPEGServer.Address(host: path, port: nil, isSecure: tls != nil))
            }
            // Frames leave at once; peers that vanish are detected.
            bootstrap =
                bootstrap
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelOption(.socketOption(.so_keepalive), value: 1)
                .childChannelOption(.tcpOption(.init(rawValue: TCP_KEEPIDLE)), value: 30)
                .childChannelOption(.tcpOption(.init(rawValue: TCP_KEEPINTVL)), value: 10)
                .childChannelOption(.tcpOption(.init(rawValue: TCP_KEEPCNT)), value: 3)
                .childChannelOption(.tcpOption(.init(rawValue: TCP_USER_TIMEOUT)), value: 30_000)
            let channel = try bootstrap.bind(host: configuration.address, port: configuration.port).wait()
            let local = channel.localAddress
            let address = MJPEGServer.Address(
                host: local?.ipAddress ?? configuration.address, port: local?.port ?? configuration.port,
                isSecure: tls != nil)
            return (channel, address)
        } catch {
            throw MJPEGServerError(listening: configuration, error)
        }
    }
}

/// Removes a socket at which no program listens, as one that was killed leaves behind.
private func removeAbandonedSocket(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return }
    let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard probe >= 0 else { return }
    defer { close(probe) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let result = withUnsafePointer(to: address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(probe, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
    if result != 0, errno == ECONNREFUSED { unlink(path) }
}
