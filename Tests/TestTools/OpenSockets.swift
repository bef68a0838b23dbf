import Glibc

/// The sockets of this process at either end of which there is a port: other tests may run beside.
package func openSockets(port wanted: Int?) -> Int {
    func port(_ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Int32) -> Int? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
        }
        guard result == 0, Int32(address.sin_family) == AF_INET else { return nil }
        return Int(UInt16(bigEndian: address.sin_port))
    }
    guard wanted != nil else { return 0 }
    return (0..<4096).count { (descriptor: Int32) in
        port { getsockname(descriptor, $0, &$1) } == wanted || port { getpeername(descriptor, $0, &$1) } == wanted
    }
}
