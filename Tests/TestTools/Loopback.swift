import Glibc

/// A socket of the test that could not be made, with its `errno`.
package struct NoConnection: Error {
    package var code: Int32

    package init(code: Int32) { self.code = code }
}

/// A connection to a port of 127.0.0.1.
///
/// - Parameter bufferSize: of the kernel for what has not been read; nil for the system's.
package func connectTo(_ port: Int, bufferSize: Int32? = nil) throws -> Int32 {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    if var bufferSize {
        setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bufferSize, socklen_t(MemoryLayout<Int32>.size))
    }
    guard withLoopback(port, { connect(socket, $0, $1) }) == 0 else {
        defer { close(socket) }
        throw NoConnection(code: errno)
    }
    return socket
}

/// With a reset at the end instead of an end in good order.
package func setLinger(_ socket: Int32) {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
}

/// A socket that listens at a free port of 127.0.0.1, or at the one that is given, until it is closed or released.
package final class TestListener: Sendable {
    package let socket: Int32
    package let port: Int

    package init(port: Int = 0, backlog: Int32 = 64) throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var on: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withLoopback(port) { bind(socket, $0, $1) == 0 && Glibc.listen(socket, backlog) == 0 }
        let isKnown = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) == 0 }
        }
        guard isBound, isKnown else {
            defer { close(socket) }
            throw NoConnection(code: errno)
        }
        self.socket = socket
        self.port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(socket) }

    /// As the function of that name, for connections.
    package static func freePort() throws -> Int { try TestTools.freePort() }

    /// Fills the backlog with connections, after which it answers no more; returns their sockets.
    package func fill() -> [Int32] {
        (0..<8).map { _ in
            let filler = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
            _ = withLoopback(port) { connect(filler, $0, $1) }
            return filler
        }
    }

    /// Waits for a connection.
    package func accept() throws -> Int32 {
        var wait = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        guard poll(&wait, 1, 20_000) > 0 else { throw NoConnection(code: ETIMEDOUT) }
        let accepted = Glibc.accept(socket, nil, nil)
        guard accepted >= 0 else { throw NoConnection(code: errno) }
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        return accepted
    }
}

/// A port of 127.0.0.1 that was free a moment ago, for programs that cannot choose one. It is none of those that the system
/// gives to sockets without one, so that no connection of another test takes it meanwhile.
package func freePort(_ type: __socket_type = SOCK_STREAM) throws -> Int {
    for _ in 0..<1000 {
        let port = Int.random(in: 10_000..<32_768)
        let socket = Glibc.socket(AF_INET, Int32(type.rawValue), 0)
        defer { close(socket) }
        if withLoopback(port, { bind(socket, $0, $1) }) == 0 { return port }
    }
    throw NoConnection(code: EADDRINUSE)
}

/// Whether some program listens at a port for connections, or for datagrams; to ask it by connecting would take the place
/// of the one client that some programs accept.
package func isListening(at port: Int, _ type: __socket_type = SOCK_STREAM) throws -> Bool {
    let hexadecimal = String(port, radix: 16, uppercase: true)
    let end = ":" + String(repeating: "0", count: 4 - hexadecimal.count) + hexadecimal
    let tables = type == SOCK_STREAM ? ["/proc/net/tcp", "/proc/net/tcp6"] : ["/proc/net/udp", "/proc/net/udp6"]
    return try tables.contains { table in
        // Number, local address, remote address, state: 0A is "listens".
        try text(of: table).split(separator: "\n").contains { line in
            let fields = line.split(separator: " ", maxSplits: 4)
            return fields.count > 3 && fields[1].hasSuffix(end) && (type != SOCK_STREAM || fields[3] == "0A")
        }
    }
}

private func withLoopback<Result>(_ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
}
