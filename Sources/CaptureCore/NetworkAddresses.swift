#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The addresses by which other machines reach this one.
package enum NetworkAddresses {
    /// Whether a server that listens there listens at all addresses of this machine.
    package static func isUnspecified(_ host: String) -> Bool { ["", "0.0.0.0", "::"].contains(host) }

    /// Whether only programs on this machine can connect to an address.
    package static func isLoopback(_ host: String) -> Bool {
        host.hasPrefix("127.") || host == "::1" || host.hasPrefix("::ffff:127.") || host == "localhost"
    }

    /// The addresses of the interfaces that are up, IPv4 first; that of loopback where there is no other.
    ///
    /// - Parameter listening: where the server listens: IPv6 addresses are listed for `::` only.
    package static func ofThisMachine(besides listening: String) -> [String] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return ["127.0.0.1"] }
        defer { freeifaddrs(list) }
        var found: [sa_family_t: [String]] = [:]
        var next = list
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard let address = entry.ifa_addr, entry.ifa_flags & UInt32(IFF_UP) != 0,
                entry.ifa_flags & UInt32(IFF_LOOPBACK) == 0
            else { continue }
            let family = address.pointee.sa_family
            guard let length = length(of: family), let name = name(address, length),
                // Addresses of a link mean nothing without its name.
                !name.hasPrefix("fe80"), !name.contains("%")
            else { continue }
            found[family, default: []].append(name)
        }
        let names =
            found[sa_family_t(AF_INET), default: []]
            + (listening == "::" ? found[sa_family_t(AF_INET6), default: []] : [])
        return names.isEmpty ? ["127.0.0.1"] : names
    }

    private static func length(of family: sa_family_t) -> Int? {
        switch Int32(family) {
        case AF_INET: MemoryLayout<sockaddr_in>.size
        case AF_INET6: MemoryLayout<sockaddr_in6>.size
        default: nil
        }
    }

    private static func name(_ address: UnsafePointer<sockaddr>, _ length: Int) -> String? {
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        guard getnameinfo(address, socklen_t(length), &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST) == 0
        else { return nil }
        return host.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
    }
}
