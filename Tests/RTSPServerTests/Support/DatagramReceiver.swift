import TestTools

#if canImport(Glibc)
    import Glibc
#endif

/// A port of loopback that takes datagrams.
final class DatagramReceiver {
    private let socket: Int32
    let port: Int

    /// - Parameters:
    ///   - group: joined on loopback; nil for unicast.
    ///   - port: 0 for any.
    init(group: String? = nil, port wanted: Int = 0) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var size: Int32 = 1 << 20
        setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        let loopback = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        address.sin_addr = loopback
        address.sin_port = UInt16(wanted).bigEndian
        if let group {
            inet_pton(AF_INET, group, &address.sin_addr)
            var membership = ip_mreq(imr_multiaddr: address.sin_addr, imr_interface: loopback)
            setsockopt(
                socket, Int32(IPPROTO_IP), IP_ADD_MEMBERSHIP, &membership, socklen_t(MemoryLayout<ip_mreq>.size))
        }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = socket
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw NoConnection(code: errno) }
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(socket) }

    /// An even port that is free.
    static func freePair() throws -> Int { try DatagramReceiver().port & ~1 }

    /// The next datagram.
    func receive() throws -> [UInt8] {
        var wait = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        guard poll(&wait, 1, 60_000) > 0 else { throw NoConnection(code: ETIMEDOUT) }
        var buffer = [UInt8](repeating: 0, count: 2048)
        let count = recv(socket, &buffer, buffer.count, 0)
        return Array(buffer[..<max(0, count)])
    }
}
