import CaptureCore
import Digests
import NIOCore
import NIOHTTP1
import NIOPosix
import ServerTransport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The network side of the ONVIF device of a server: its HTTP port, and its discovery. Safe to use from any thread.
final class ONVIFListener: Sendable {
    /// The TCP port.
    let port: Int
    private let channel: any Channel
    private let loop: any EventLoop
    private let discovery: NIOLoopBoundBox<Discovery?>

    /// Listens at the address of the server. Blocks until the port is open; not for the loop's thread.
    ///
    /// - Parameters:
    ///   - settings: of the configuration.
    ///   - configuration: of the server.
    ///   - group: its one thread.
    ///   - service: of the server's connections.
    ///   - server: where it serves RTSP.
    /// - Throws: as binding a port.
    init(
        _ settings: RTSPServer.Configuration.ONVIF, _ configuration: RTSPServer.Configuration,
        group: MultiThreadedEventLoopGroup, service: NIOLoopBoundBox<ConnectionService>, server: RTSPServer.Address,
        connections: Connections, warn: @escaping @Sendable (String) -> Void
    ) throws {
        let device = ONVIFDevice(
            name: configuration.title, identifier: ONVIFListener.identifier(server), snapshotURL: settings.snapshotURL,
            rtspPort: server.port, rtspPath: server.path, offersMulticast: configuration.multicast != nil)
        let loop = group.next()
        self.loop = loop
        let shared = try loop.submit {
            NIOLoopBoundBox(ONVIFService(service.value, device), eventLoop: loop)
        }.wait()
        let place = try SocketAddress.makeAddressResolvingHost(configuration.address, port: settings.port)
        channel = try ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptPause(warn))
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let (peer, admission) = try connections.enter(channel)
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
                    try pipeline.addHandler(ONVIFHandler(shared.value, peer: peer, admission: admission))
                }
            }
            .bind(to: place).wait()
        let port = channel.localAddress?.port ?? settings.port
        self.port = port
        discovery = try loop.submit {
            let isReachable = !NetworkAddresses.isLoopback(server.host)
            return NIOLoopBoundBox(
                isReachable ? Discovery(loop, address: server.host, port: port, device: device) : nil, eventLoop: loop)
        }.wait()
    }

    /// Says that the device leaves, and closes the ports. Not for the loop's thread.
    func close() {
        try? channel.close().wait()
        try? loop.submit { [discovery] in
            discovery.value?.close()
            discovery.value = nil
        }.wait()
    }

    /// A number that stays the same for a server on a machine, and does not reveal the machine's.
    private static func identifier(_ server: RTSPServer.Address) -> String {
        let machine = textOfFile("/etc/machine-id") ?? MachineName.current
        let place = "\(server.port)/\(server.path)"
        return hexText(authenticationCode(Array(place.utf8), key: Array(machine.utf8.prefix(64))).prefix(16))
    }
}

/// The name of the machine in its network.
private enum MachineName {
    static var current: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "" }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// The first 255 bytes of a small file without whitespace at their ends; nil where it cannot be read.
func textOfFile(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 255)
    let count = read(descriptor, &bytes, bytes.count)
    let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).filter { !$0.isWhitespace }
    return text.isEmpty ? nil : text
}
