import CaptureCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An address of IPv4 or IPv6 with its port.
package struct SocketAddress: Sendable {
    private var storage = sockaddr_storage()
    private var length = socklen_t(MemoryLayout<sockaddr_storage>.size)

    /// Filled by `body`, which returns whether the system's call has succeeded; nil otherwise.
    init?(_ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Bool) {
        var filled = length
        let isFilled = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &filled) }
        }
        guard isFilled else { return nil }
        length = filled
    }

    fileprivate init(_ info: addrinfo) {
        length = min(info.ai_addrlen, socklen_t(MemoryLayout<sockaddr_storage>.size))
        withUnsafeMutableBytes(of: &storage) { bytes in
            bytes.copyMemory(from: UnsafeRawBufferPointer(start: info.ai_addr, count: Int(length)))
        }
    }

    var family: Int32 { Int32(storage.ss_family) }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    /// The port.
    package var port: Int {
        get { withUnsafeBytes(of: storage) { Int($0[2]) << 8 | Int($0[3]) } }
        set {
            withUnsafeMutableBytes(of: &storage) { bytes in
                bytes[2] = UInt8(truncatingIfNeeded: newValue >> 8)
                bytes[3] = UInt8(truncatingIfNeeded: newValue)
            }
        }
    }

    /// Whether it is a group of receivers.
    package var isMulticast: Bool {
        withUnsafeBytes(of: storage) { family == AF_INET6 ? $0[8] == 0xFF : $0[4] & 0xF0 == 0xE0 }
    }

    /// Whether both are of one host, whatever their ports.
    func isSameHost(as other: SocketAddress) -> Bool {
        guard family == other.family else { return false }
        let range = family == AF_INET6 ? 8..<24 : 4..<8
        return withUnsafeBytes(of: storage) { first in
            withUnsafeBytes(of: other.storage) { first[range].elementsEqual($0[range]) }
        }
    }

    /// The address of IPv4; nil for IPv6.
    var ipv4: in_addr? {
        guard family == AF_INET else { return nil }
        return withUnsafeBytes(of: storage) { $0.loadUnaligned(fromByteOffset: 4, as: in_addr.self) }
    }

    /// The host as a number, without brackets.
    package var host: String {
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let code = withPointer { getnameinfo($0, $1, &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST) }
        return code == 0 ? host.withUnsafeBufferPointer { String(cString: $0.baseAddress!) } : "?"
    }
}

extension SocketAddress: CustomStringConvertible {
    /// As in `127.0.0.1:9000` or `[::1]:9000`.
    package var description: String {
        let name = host
        return name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)"
    }
}

/// Finds the addresses of hosts.
package enum HostResolver {
    /// The addresses of a host, the preferred one first; at least one.
    ///
    /// The system's resolver cannot be interrupted; it is abandoned when the time is over.
    ///
    /// - Parameters:
    ///   - address: host and port.
    ///   - deadline: on the monotonic clock.
    ///   - stop: a descriptor that ends the wait when it can be read.
    /// - Throws: `deviceNotFound` for an unknown host, `stalled` without an answer, `invalidState` after a stop.
    package static func resolve(
        _ address: StreamAddress, until deadline: MediaTime, interruptedBy stop: Int32
    ) throws(CaptureError) -> [SocketAddress] {
        switch lookUp(address, flags: AI_NUMERICHOST) {
        case .success(let found): return found
        case .failure: break
        }
        let end = try CaptureThread.call("resolver", until: deadline, interruptedBy: stop) { lookUp(address, flags: 0) }
        switch end {
        case .answer(.success(let addresses)): return addresses
        case .answer(.failure(let error)):
            throw CaptureError(
                .deviceNotFound, operation: "look up \(address.host)", subject: address.displayName,
                message: error.code == EAI_AGAIN
                    ? "The name server does not answer (\(error)); check the network, or give the number of the host."
                    : "There is no host named \(address.host) (\(error)); check the name.")
        case .interrupted: throw .interrupted(address)
        case .timedOut: throw .noAnswer(address, "The name of \(address.host) could not be looked up in time")
        }
    }

    struct LookUpError: Error, CustomStringConvertible {
        var code: Int32
        var description: String { String(cString: gai_strerror(code)) }
    }

    private static func lookUp(_ address: StreamAddress, flags: Int32) -> Result<[SocketAddress], LookUpError> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags | AI_NUMERICSERV | (address.isListening ? AI_PASSIVE : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(address.host.isEmpty ? nil : address.host, "\(address.port)", &hints, &list)
        guard code == 0 else { return .failure(LookUpError(code: code)) }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = list
        while let info = next?.pointee {
            found.append(SocketAddress(info))
            next = info.ai_next
        }
        return found.isEmpty ? .failure(LookUpError(code: EAI_NONAME)) : .success(found)
    }
}
