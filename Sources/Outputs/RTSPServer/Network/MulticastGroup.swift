import NIOCore

/// The multicast group of the clients that have reached the server at one address, and the ports from which its packets come.
/// It lives as long as it has clients. Used on the event loop only.
final class MulticastGroup {
    /// The group; each track has its own port.
    let address: SocketAddress
    /// The address from which packets come. It determines the network, since the kernel sends by the device that has it.
    let origin: SocketAddress
    let media: DatagramPort
    let reports: DatagramPort

    /// Opens the ports.
    init(_ settings: RTSPServer.Configuration.Multicast, from origin: SocketAddress) throws {
        self.origin = origin
        address = try SocketAddress(ipAddress: settings.group, port: settings.port)
        (media, reports) = try DatagramPort.openPair(at: origin, timeToLive: settings.timeToLive)
    }

    /// The address from which packets come for a client that has connected to `local`: that one, or any of IPv4, where the
    /// kernel chooses the network.
    static func origin(for local: SocketAddress?) throws -> SocketAddress {
        let text = local?.ipAddress ?? ""
        let number = text.lowercased().hasPrefix("::ffff:") ? String(text.dropFirst(7)) : text
        let isIPv4 = number.contains(".") && !number.contains(":")
        return try SocketAddress(ipAddress: isIPv4 ? number : "0.0.0.0", port: 0)
    }
}
