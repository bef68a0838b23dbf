import NIOCore

/// Who a client is, for limits per address.
enum Peer: Hashable, Sendable {
    /// A program on this machine. A proxy is one too, and then stands for all who come through it.
    case local
    case ipv4(UInt32)
    /// The first 64 bits: a customer of a provider has at least that many addresses.
    case ipv6(UInt64)

    init(_ address: SocketAddress?) {
        // Where the kernel has the address in a `sockaddr_in` and a `sockaddr_in6`.
        let range: Range<Int>
        switch address {
        case .v4?: range = 4..<8
        case .v6?: range = 8..<24
        case .unixDomainSocket?, nil:
            self = .local
            return
        }
        let bytes = address!.withSockAddr { pointer, count in
            Array(UnsafeRawBufferPointer(start: pointer, count: count))[range]
        }
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        let (high, low) = (number(bytes.dropLast(8)), number(bytes.suffix(8)))
        if range.count == 4 || high == 0 && low >> 32 == 0xFFFF {
            let ipv4 = UInt32(truncatingIfNeeded: low)
            self = ipv4 >> 24 == 127 ? .local : .ipv4(ipv4)
        } else {
            self = high == 0 && low == 1 ? .local : .ipv6(high)
        }
    }
}

extension SocketAddress {
    /// Whether only programs on the same machine can connect to it.
    var isLoopback: Bool { ipAddress != nil && Peer(self) == .local }
}
