import CaptureCore
import NIOCore
import NIOPosix
import ServerTransport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The network side of a running server: its thread, its ports, its connections. Safe to use from any thread.
final class RTSPListener: Sendable {
    let address: RTSPServer.Address
    let hub: MediaHub
    /// A warning about the machine's limits; nil for none.
    let warning: String?
    private let group: MultiThreadedEventLoopGroup
    private let server: any Channel
    private let connections: Connections
    private let service: NIOLoopBoundBox<ConnectionService>
    /// The ONVIF device; nil without one.
    let onvif: ONVIFListener?

    /// The time between two looks at reports and timeouts.
    private static let tick = TimeAmount.milliseconds(250)

    /// Listens. Blocks until the port is open.
    ///
    /// - Throws: `deviceBusy` for a port in use, `deviceNotFound` for an address that is not one of this machine,
    ///   `permissionDenied`, `system`; `deviceNotFound` for a certificate that cannot be used.
    init(
        _ configuration: RTSPServer.Configuration, statistics: Locked<RTSPServer.Statistics>, connections: Connections,
        warn: @escaping @Sendable (String) -> Void
    ) throws(CaptureError) {
        let tls = try configuration.tls.map { (tls) throws(CaptureError) in
            try TransportSecurity(certificateChain: tls.certificateChain, privateKey: tls.privateKey)
        }
        // Before there is a thread: SwiftNIO crashes when it gets no descriptor for one.
        let descriptors = DescriptorLimit()
        let wanted = configuration.limits.connections
        let limit = try descriptors.connections(atMost: wanted, threadCount: 1, besides: 2)
        connections.setLimit(limit)
        warning =
            limit < wanted
            ? "At most \(limit) RTSP connections are served at a time, and not \(wanted), since this process may have only "
                + "\(descriptors.limit) files and sockets open. Raise that limit with `ulimit -n`." : nil
        self.connections = connections
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let hub = MediaHub(loop, configuration, statistics: statistics, warn: warn)
        self.hub = hub
        do {
            let place = try SocketAddress.makeAddressResolvingHost(configuration.address, port: configuration.port)
            var ports: (packets: Int, reports: Int)?
            if configuration.offeredTransports.contains(.udp) {
                let (media, reports) = try DatagramPort.openPair(
                    at: place, first: configuration.datagramPort, group: group
                ) { DatagramHandler(hub, isReports: $0) }
                ports = (media.number, reports.number)
                let sender = DatagramSender(loop, media: media, reports: reports)
                try loop.submit { hub.datagrams = sender }.wait()
            } else if configuration.multicast != nil {
                let sender = DatagramSender(loop, media: nil, reports: nil)
                try loop.submit { hub.datagrams = sender }.wait()
            }
            let settings = RTSPConversation.Settings(
                path: configuration.path, transports: configuration.offeredTransports, datagramPorts: ports,
                multicast: configuration.multicast, sessionTimeout: Int(configuration.sessionTimeout.components.seconds)
            )
            let service = NIOLoopBoundBox.makeBoxSendingValue(
                ConnectionService(hub, settings, connections: connections, warn: warn), eventLoop: loop)
            self.service = service
            server = try RTSPListener.bind(place, configuration, group, service, connections, tls, warn)
            let address = RTSPServer.Address(
                host: server.localAddress?.ipAddress ?? configuration.address,
                port: server.localAddress?.port ?? configuration.port, path: configuration.path ?? "",
                isSecure: tls != nil)
            self.address = address
            onvif = try RTSPListener.openDevice(configuration, group, service, address, connections, warn)
            try loop.submit {
                hub.onBegin = {
                    for handler in Array(service.value.handlers.values) { handler.resumeRequest(isKnown: true) }
                }
            }.wait()
            loop.scheduleRepeatedTask(initialDelay: RTSPListener.tick, delay: RTSPListener.tick) { _ in
                hub.tick()
                service.value.check()
            }
        } catch {
            try? group.syncShutdownGracefully()
            if let error = error as? CaptureError { throw error }
            throw CaptureError(listening: configuration, port: configuration.port, error)
        }
    }

    /// Opens the ONVIF device, if the configuration has one.
    private static func openDevice(
        _ configuration: RTSPServer.Configuration, _ group: MultiThreadedEventLoopGroup,
        _ service: NIOLoopBoundBox<ConnectionService>, _ address: RTSPServer.Address, _ connections: Connections,
        _ warn: @escaping @Sendable (String) -> Void
    ) throws(CaptureError) -> ONVIFListener? {
        guard let settings = configuration.onvif else { return nil }
        do {
            return try ONVIFListener(
                settings, configuration, group: group, service: service, server: address, connections: connections,
                warn: warn)
        } catch {
            throw CaptureError(listening: configuration, port: settings.port, error)
        }
    }

    /// Says to the clients that the streams end, closes all connections and ports, and ends the thread.
    func close() {
        // First, so that no connection is handed to a thread that has ended.
        try? server.close().wait()
        onvif?.close()
        let (hub, service) = (hub, service)
        try? hub.loop.submit {
            hub.sayGoodbye()
            for handler in Array(service.value.handlers.values) { handler.abandon() }
            hub.datagrams?.close()
            // It holds the connections, which hold the hub.
            hub.onBegin = {}
        }.wait()
        try? group.syncShutdownGracefully()
        connections.forgetOpen()
    }

    private static func bind(
        _ place: SocketAddress, _ configuration: RTSPServer.Configuration, _ group: any EventLoopGroup,
        _ service: NIOLoopBoundBox<ConnectionService>, _ connections: Connections, _ tls: TransportSecurity?,
        _ warn: @escaping @Sendable (String) -> Void
    ) throws -> any Channel {
        var bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Writable means: everything was handed to the kernel.
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 1, high: 1))
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            // A peer that has vanished is detected.
            .childChannelOption(.socketOption(.so_keepalive), value: 1)
            .childChannelOption(.tcpOption(.init(rawValue: TCP_KEEPIDLE)), value: 30)
            .childChannelOption(.tcpOption(.init(rawValue: TCP_KEEPINTVL)), value: 10)
            .childChannelOption(.tcpOption(.init(rawValue: TCP_KEEPCNT)), value: 3)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptPause(warn))
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let (peer, admission) = try connections.enter(channel)
                    let pipeline = channel.pipeline.syncOperations
                    let transport = Transport()
                    try pipeline.addHandler(transport)
                    try tls?.secure(pipeline)
                    try pipeline.addHandler(
                        ConnectionHandler(service.value, transport: transport, peer: peer, admission: admission))
                }
            }
        if configuration.sendBufferSize > 0 {
            bootstrap = bootstrap.childChannelOption(
                .socketOption(.so_sndbuf), value: SocketOptionValue(configuration.sendBufferSize))
        }
        return try bootstrap.bind(to: place).wait()
    }
}

extension CaptureError {
    /// The error for a failure to listen.
    fileprivate init(listening configuration: RTSPServer.Configuration, port: Int, _ error: any Error) {
        let code = (error as? IOError)?.errnoCode
        let place = "\(configuration.address):\(port)"
        func failure(_ kind: CaptureErrorCode, _ message: String) -> CaptureError {
            CaptureError(kind, operation: "listen for RTSP", subject: place, errno: code, message: message)
        }
        switch code {
        case EADDRINUSE?:
            self = failure(
                .deviceBusy,
                "Another program uses port \(port)\(configuration.datagramPort.map { ", or \($0)" } ?? ""). End it "
                    + "(`ss -lntup 'sport = :\(port)'` names it), or choose another port.")
        case EADDRNOTAVAIL?, nil:
            self = failure(
                .deviceNotFound,
                "This machine has no such address; `ip address` lists its own, and 0.0.0.0 stands for all. (\(error))")
        case EACCES?, EPERM?:
            self = failure(
                .permissionDenied, "Ports below 1024 are for the administrator; choose one above, such as 8554.")
        default: self = failure(.system, "The system allows no server here (\(error)).")
        }
    }
}
