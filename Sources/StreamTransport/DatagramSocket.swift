import CaptureCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A UDP socket that never blocks; closed with its last reference.
///
/// Safe to use from any thread; one at a time sends, and one receives.
package final class DatagramSocket: Sendable {
    package let descriptor: Int32
    /// Where it sends to.
    package let peer: SocketAddress
    /// Whether the kernel knows the peer, and reports that nothing listens there: not with a multicast group, whose members
    /// answer each for itself, and not where other ports of the host answer, too.
    private let isConnected: Bool

    /// Where the sockets of an output are, on this machine.
    package struct Local: Sendable, Hashable {
        /// The address, which for multicast chooses the interface; nil for the one that the system chooses.
        package var host: String?
        /// The port; 0 for one that the system chooses.
        package var port: Int
        /// The hops that multicast packets may take; nil for 1.
        package var hops: Int?

        /// An address of this machine.
        package init(host: String? = nil, port: Int = 0, hops: Int? = nil) {
            self.host = host
            self.port = port
            self.hops = hops
        }
    }

    /// Opens a socket that sends to a peer.
    ///
    /// - Parameters:
    ///   - peer: resolved, as by ``HostResolver``.
    ///   - local: where it is on this machine.
    ///   - receivesFromAnyPort: whether datagrams of the peer's host are received whatever port they come from.
    /// - Throws: `deviceBusy` for a local port in use, `deviceNotFound` for an address that this machine does not have, or
    ///   without a route to the peer.
    package init(
        to peer: SocketAddress, from local: Local = Local(), receivesFromAnyPort: Bool = false
    ) throws(CaptureError) {
        let there = StreamAddress(host: peer.host, port: peer.port)
        let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = socket(peer.family, kind, 0)
        self.peer = peer
        isConnected = !peer.isMulticast && !receivesFromAnyPort
        guard descriptor >= 0 else { throw CaptureError(socket: errno, operation: "open a socket", there) }
        do throws(CaptureError) {
            // A key frame is a burst, which the kernel takes as a whole.
            set(SOL_SOCKET, SO_SNDBUF, 1 << 20)
            if peer.isMulticast { setHops(Int32(local.hops ?? 1)) }
            if local.host != nil || local.port > 0 { try bind(to: local) }
            if isConnected {
                let code = peer.withPointer { systemConnect(descriptor, $0, $1) == 0 ? 0 : errno }
                guard code == 0 else { throw CaptureError(socket: code, operation: "connect", there) }
            }
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit { close(descriptor) }

    private func bind(to local: Local) throws(CaptureError) {
        let host = local.host ?? (peer.family == AF_INET6 ? "::" : "0.0.0.0")
        let here = StreamAddress(host: host, port: local.port, isListening: true)
        let deadline = MonotonicClock().now.advanced(by: .seconds(10))
        let found = try HostResolver.resolve(here, until: deadline, interruptedBy: -1)
        guard let address = found.first(where: { $0.family == peer.family }) else {
            throw CaptureError(
                .invalidConfiguration, operation: "bind a socket", subject: here.displayName,
                message: "\(host) and the receiver \(peer.host) are not of one kind; use IPv4 or IPv6 for both.")
        }
        let code = address.withPointer { systemBind(descriptor, $0, $1) == 0 ? 0 : errno }
        guard code == 0 else { throw CaptureError(socket: code, operation: "bind", here) }
        if peer.isMulticast, local.host != nil, let choice = address.ipv4 {
            var choice = choice
            setsockopt(descriptor, Int32(IPPROTO_IP), IP_MULTICAST_IF, &choice, socklen_t(MemoryLayout<in_addr>.size))
        }
    }

    private func setHops(_ hops: Int32) {
        if peer.family == AF_INET6 {
            set(Int32(IPPROTO_IPV6), IPV6_MULTICAST_HOPS, hops)
        } else {
            set(Int32(IPPROTO_IP), IP_MULTICAST_TTL, hops)
        }
    }

    private func set(_ level: Int32, _ name: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// The port on this machine.
    package var localPort: Int { SocketAddress { getsockname(descriptor, $0, &$1) == 0 }?.port ?? 0 }

    /// Sends datagrams without waiting.
    ///
    /// - Parameter runs: of this socket's sender.
    package func send(_ batch: DatagramBatch, _ runs: inout DatagramRuns) -> DatagramRuns.Sent {
        guard !isConnected else { return runs.send(batch.datagrams, by: descriptor, to: nil, length: 0) }
        return peer.withPointer { runs.send(batch.datagrams, by: descriptor, to: $0, length: Int($1)) }
    }

    /// Receives one datagram without waiting; of one that is larger than `bytes` the rest is lost. Returns the number of
    /// bytes, 0 for one of another host, or minus the `errno`: minus `EAGAIN` when none has arrived.
    package func receive(into bytes: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            var count = 0
            let sender = SocketAddress { address, length in
                count = recvfrom(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT), address, &length)
                return count >= 0
            }
            if let sender { return isConnected || peer.isMulticast || sender.isSameHost(as: peer) ? count : 0 }
            if errno != EINTR { return -Int(errno) }
        }
    }
}

// Under names that the methods named so do not shadow.
private func systemConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    connect(descriptor, address, length)
}
private func systemBind(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    bind(descriptor, address, length)
}
