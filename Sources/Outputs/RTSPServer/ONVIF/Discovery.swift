import CaptureCore
import NIOCore
import NIOPosix
import ServerTransport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The messages by which clients find the device (WS-Discovery 2005/04, as ONVIF Core has it), without a socket.
struct DiscoveryMessages: Sendable {
    private static let namespace = "http://schemas.xmlsoap.org/ws/2005/04/discovery"
    /// A datagram that is longer is not read.
    static let maximumProbe = 8192

    let device: ONVIFDevice
    /// Where the device answers: `192.168.1.5:8000`.
    let authority: String

    /// The answer to a datagram; nil for one that does not look for the device.
    func answer(to datagram: [UInt8]) -> String? {
        guard datagram.count <= DiscoveryMessages.maximumProbe, let request = try? SOAPRequest(datagram),
            let message = request.messageID, request.operation.name == "Probe",
            request.operation.namespace == DiscoveryMessages.namespace
        else { return nil }
        let types = request.operation["Types"]?.text.split(whereSeparator: \.isWhitespace) ?? []
        let names = types.map { $0.split(separator: ":").last ?? "" }
        guard names.allSatisfy({ ["NetworkVideoTransmitter", "Device"].contains($0) }) else { return nil }
        let scopes = request.operation["Scopes"]?.text.split(whereSeparator: \.isWhitespace) ?? []
        guard scopes.allSatisfy({ wanted in device.scopes.contains { $0 == wanted || $0.hasPrefix("\(wanted)/") } })
        else { return nil }
        return envelope(
            "ProbeMatches", header: "<a:RelatesTo>\(xmlText(message))</a:RelatesTo>",
            to: "http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous",
            "<d:ProbeMatches><d:ProbeMatch>\(description)</d:ProbeMatch></d:ProbeMatches>")
    }

    /// That the device is there.
    var hello: String { envelope("Hello", "<d:Hello>\(description)</d:Hello>") }

    /// That the device leaves.
    var bye: String { envelope("Bye", "<d:Bye>\(reference)</d:Bye>") }

    private var reference: String {
        "<a:EndpointReference><a:Address>\(device.uuid)</a:Address></a:EndpointReference>"
    }

    private var description: String {
        "\(reference)<d:Types>dn:NetworkVideoTransmitter</d:Types><d:Scopes>"
            + "\(xmlText(device.scopes.joined(separator: " ")))</d:Scopes><d:XAddrs>http://\(xmlText(authority))"
            + "\(ONVIFDevice.path)device_service</d:XAddrs><d:MetadataVersion>1</d:MetadataVersion>"
    }

    private func envelope(
        _ action: String, header: String = "", to place: String = "urn:schemas-xmlsoap-org:ws:2005:04:discovery",
        _ body: String
    ) -> String {
        var generator = SystemRandomNumberGenerator()
        let digits = Array(hexText((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }))
        let id = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
        return SOAPResponse.envelope(
            "<a:MessageID>urn:uuid:\(id)</a:MessageID>\(header)<a:To>\(place)</a:To><a:Action>"
                + "\(DiscoveryMessages.namespace)/\(action)</a:Action>", body)
    }
}

/// A limit for answers to datagrams, whose senders may be forged.
struct AnswerLimit {
    /// The maximum number of answers in one second, to all and to one address.
    static let perSecond = 50
    static let perSecondAndPeer = 8

    private var second = Int64.min
    private var count = 0
    private var ofPeers: [Peer: Int] = [:]

    /// Whether one more is sent.
    mutating func take(_ peer: Peer, at now: MediaTime) -> Bool {
        let current = now.nanoseconds / 1_000_000_000
        if current != second {
            second = current
            count = 0
            ofPeers = [:]
        }
        guard count < AnswerLimit.perSecond, ofPeers[peer, default: 0] < AnswerLimit.perSecondAndPeer else {
            return false
        }
        count += 1
        ofPeers[peer, default: 0] += 1
        return true
    }
}

/// Makes the device known on the networks of this machine, and looks for new ones now and then. Used on the event loop only.
///
/// Each network has a socket that gets the datagrams to the group alone: unicast ones, which could come from anywhere, are
/// not read, and only neighbors are answered. So no answer leaves the network.
final class Discovery {
    private let loop: any EventLoop
    private let address: String
    private let port: Int
    private let device: ONVIFDevice
    private var channels: [String: any Channel] = [:]
    private var isClosed = false
    fileprivate var limit = AnswerLimit()

    private static let group = "239.255.255.250"
    private static let port = 3702
    private static let interval = TimeAmount.seconds(10)

    /// - Parameters:
    ///   - loop: that of the server.
    ///   - address: at which the server listens.
    ///   - port: of the device's HTTP.
    ///   - device: that clients find.
    init(_ loop: any EventLoop, address: String, port: Int, device: ONVIFDevice) {
        self.loop = loop
        self.address = address
        self.port = port
        self.device = device
        refresh()
    }

    /// Says that the device leaves, and ends.
    func close() {
        isClosed = true
        for (local, channel) in channels {
            announce(DiscoveryMessages(device: device, authority: "\(local):\(port)").bye, on: channel)
            channel.close(promise: nil)
        }
        channels = [:]
    }

    private func refresh() {
        guard !isClosed else { return }
        let interfaces = NetworkInterface.all.filter {
            $0.hasMulticast && (NetworkAddresses.isUnspecified(address) || address == $0.address)
        }
        for (local, channel) in channels where !interfaces.contains(where: { $0.address == local }) {
            channels[local] = nil
            channel.close(promise: nil)
        }
        for interface in interfaces where channels[interface.address] == nil { open(interface) }
        let bound = NIOLoopBound(self, eventLoop: loop)
        loop.scheduleTask(in: Discovery.interval) { bound.value.refresh() }
    }

    private func open(_ interface: NetworkInterface) {
        guard let descriptor = Discovery.openSocket(at: interface.address) else { return }
        let messages = DiscoveryMessages(device: device, authority: "\(interface.address):\(port)")
        let bound = NIOLoopBound(self, eventLoop: loop)
        DatagramBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        DiscoveryHandler(bound.value, messages, interface: interface))
                }
            }
            .withBoundSocket(descriptor).hop(to: loop).assumeIsolated().whenSuccess { channel in
                guard !self.isClosed else { return channel.close(promise: nil) }
                self.channels[interface.address] = channel
                self.announce(messages.hello, on: channel)
            }
    }

    private func announce(_ message: String, on channel: any Channel) {
        guard let group = try? SocketAddress(ipAddress: Discovery.group, port: Discovery.port) else { return }
        channel.writeAndFlush(
            AddressedEnvelope(remoteAddress: group, data: ByteBuffer(string: message)), promise: nil)
    }

    /// A socket that gets the datagrams to the group on one network; nil where the kernel refuses it.
    private static func openSocket(at local: String) -> CInt? {
        let kind = CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_INET, kind, 0)
        guard descriptor >= 0 else { return nil }
        func set(_ level: Int, _ name: CInt, _ value: some BitwiseCopyable) -> Bool {
            withUnsafeBytes(of: value) {
                setsockopt(descriptor, CInt(level), name, $0.baseAddress, socklen_t($0.count)) == 0
            }
        }
        var interface = in_addr()
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        inet_pton(AF_INET, local, &interface)
        inet_pton(AF_INET, group, &address.sin_addr)
        let membership = ip_mreq(imr_multiaddr: address.sin_addr, imr_interface: interface)
        let isOpen =
            // Other programs of this machine may be devices too.
            set(Int(SOL_SOCKET), SO_REUSEADDR, CInt(1))
            // Not what other sockets have joined on other networks.
            && set(Int(IPPROTO_IP), IP_MULTICAST_ALL, CInt(0)) && set(Int(IPPROTO_IP), IP_MULTICAST_IF, interface)
            && withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            } && set(Int(IPPROTO_IP), IP_ADD_MEMBERSHIP, membership)
        if isOpen { return descriptor }
        systemClose(descriptor)
        return nil
    }
}

private func systemClose(_ descriptor: CInt) { close(descriptor) }

/// Answers the datagrams of one network.
private final class DiscoveryHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    private let discovery: Discovery
    private let messages: DiscoveryMessages
    private let interface: NetworkInterface

    init(_ discovery: Discovery, _ messages: DiscoveryMessages, interface: NetworkInterface) {
        self.discovery = discovery
        self.messages = messages
        self.interface = interface
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        guard interface.isNeighbor(envelope.remoteAddress),
            let answer = messages.answer(to: Array(envelope.data.readableBytesView)),
            discovery.limit.take(Peer(envelope.remoteAddress), at: MonotonicClock().now)
        else { return }
        context.writeAndFlush(
            wrapOutboundOut(AddressedEnvelope(remoteAddress: envelope.remoteAddress, data: ByteBuffer(string: answer))),
            promise: nil)
    }

    /// Such as that nothing listens at a client's port.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}

/// An IPv4 address of this machine, and the network that it belongs to.
struct NetworkInterface: Sendable, Hashable {
    var name: String
    var address: String
    var hasMulticast: Bool
    private var number: UInt32
    private var mask: UInt32

    private init?(_ device: NIONetworkDevice) {
        guard case .ipv4(let number)? = device.address.map({ Peer($0) }), let address = device.address?.ipAddress else {
            return nil
        }
        name = device.name
        self.address = address
        hasMulticast = device.multicastSupported
        self.number = number
        guard case .ipv4(let mask)? = device.netmask.map({ Peer($0) }) else { return nil }
        self.mask = mask
    }

    /// All but loopback.
    static var all: [NetworkInterface] {
        ((try? System.enumerateDevices()) ?? []).compactMap { NetworkInterface($0) }
    }

    /// Whether an address belongs to the same network.
    func isNeighbor(_ other: SocketAddress) -> Bool {
        guard case .ipv4(let other) = Peer(other) else { return false }
        return other & mask == number & mask
    }

    /// The name and the hardware address of the device that has an address; nil for another machine's address.
    static func named(at local: SocketAddress) -> (name: String, address: String)? {
        guard let devices = try? System.enumerateDevices(),
            let name = devices.first(where: { $0.address?.ipAddress == local.ipAddress })?.name
        else { return nil }
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        var next = list
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard let address = entry.ifa_addr, Int32(address.pointee.sa_family) == AF_PACKET,
                String(cString: entry.ifa_name) == name
            else { continue }
            // A `sockaddr_ll`: the size of the hardware address is at 11, the address at 12.
            let bytes = UnsafeRawBufferPointer(start: address, count: 20)
            let digits = bytes[12..<12 + min(8, Int(bytes[11]))].map { hexText([$0]) }
            return (name, digits.joined(separator: ":"))
        }
        return nil
    }
}
