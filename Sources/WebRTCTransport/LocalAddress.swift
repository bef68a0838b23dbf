import CaptureCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The address of this machine from which a host is reached, as the system routes; no packet is sent.
///
/// It alone is offered to a peer by default, so that no other address of the machine becomes known.
///
/// - Parameters:
///   - host: a name or an address; a name is looked up, which may take a while.
///   - port: any port of it.
/// - Throws: `deviceNotFound` for an unknown host, or one that is not reachable.
package func localAddress(towards host: String, port: UInt16) throws(CaptureError) -> String {
    func error(_ message: String) -> CaptureError {
        CaptureError(.deviceNotFound, operation: "find the way", subject: host, message: message)
    }
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &found)
    defer { if let found { freeaddrinfo(found) } }
    guard code == 0 else {
        throw error("The host is not known (\(String(cString: gai_strerror(code)))); check its name and the network.")
    }
    var next = found
    while let entry = next {
        next = entry.pointee.ai_next
        let descriptor = socket(entry.pointee.ai_family, Int32(SOCK_DGRAM.rawValue) | O_CLOEXEC, 0)
        guard descriptor >= 0 else { continue }
        defer { close(descriptor) }
        guard connect(descriptor, entry.pointee.ai_addr, entry.pointee.ai_addrlen) == 0 else { continue }
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let isNamed = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                getsockname(descriptor, address, &length) == 0
                    && getnameinfo(address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
            }
        }
        guard isNamed else { continue }
        let name = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // The zone of a link-local address is not part of it.
        return String(name.prefix { $0 != "%" })
    }
    throw error("No address of this machine leads there; check the network.")
}
