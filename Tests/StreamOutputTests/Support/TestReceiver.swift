import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// A receiver at 127.0.0.1 that reads on a thread of its own, and keeps what comes.
final class TestReceiver: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var hasEnded = false
        var isReading = true
    }

    private let socket: Int32
    private let state = Locked(State())

    /// Connects to a port.
    ///
    /// - Parameters:
    ///   - isReading: whether it reads at once, or from ``resume()`` on.
    ///   - bufferSize: of the kernel for what has not been read; nil for the system's.
    init(port: Int?, isReading: Bool = true, bufferSize: Int32? = nil) throws {
        socket = try connectTo(port ?? 0, bufferSize: bufferSize)
        state.withLock { $0.isReading = isReading }
        startThread { [self] in read() }
    }

    /// Takes over a connection that was accepted.
    init(accepted socket: Int32) {
        self.socket = socket
        startThread { [self] in read() }
    }

    deinit { close(socket) }

    func resume() {
        state.withLock { $0.isReading = true }
        state.wakeAll()
    }

    private func read() {
        _ = state.wait { $0.isReading ? () : nil }
        var block = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(socket, &block, block.count, 0)
            guard count > 0 else { break }
            state.withLock { $0.bytes += block[..<count] }
            state.wakeAll()
        }
        state.withLock { $0.hasEnded = true }
        state.wakeAll()
    }

    var bytes: [UInt8] { state.withLock { $0.bytes } }

    /// Waits until what has come fulfills a condition.
    func await(_ limit: Duration = .seconds(20), _ condition: ([UInt8]) -> Bool) -> Bool {
        let end = MonotonicClock().now.advanced(by: limit)
        return state.wait(until: end) { condition($0.bytes) ? () : nil } != nil
    }

    /// Waits for the end of the connection, and returns all that has come.
    func awaitEnd(_ limit: Duration = .seconds(20)) -> [UInt8]? {
        let end = MonotonicClock().now.advanced(by: limit)
        return state.wait(until: end) { $0.hasEnded ? $0.bytes : nil }
    }

    /// Ends the connection, in good order or with a reset.
    func hangUp(reset: Bool = false) {
        if reset { setLinger(socket) }
        shutdown(socket, Int32(SHUT_RDWR))
    }
}

/// With a reset at the end instead of an end in good order.
func setLinger(_ socket: Int32) {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
}

private func loopback(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
}

struct NoConnection: Error {
    var code: Int32
}

/// A connection to a port of 127.0.0.1.
func connectTo(_ port: Int, bufferSize: Int32? = nil) throws -> Int32 {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    if var bufferSize {
        setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bufferSize, socklen_t(MemoryLayout<Int32>.size))
    }
    var address = loopback(port)
    let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    guard result == 0 else {
        defer { close(socket) }
        throw NoConnection(code: errno)
    }
    return socket
}

/// A socket that listens at a free port of 127.0.0.1, or at the one that is given.
final class TestListener: Sendable {
    let socket: Int32
    let port: Int

    init(port: Int = 0, backlog: Int32 = 16) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var on: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        var address = loopback(port)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { [socket] in
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(socket, pointer, length) == 0 && Glibc.listen(socket, backlog) == 0
                    && getsockname(socket, pointer, &length) == 0
            }
        }
        guard isBound else { throw NoConnection(code: errno) }
        self.port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(socket) }

    /// Fills the backlog with connections, after which it answers no more.
    func fill() -> [Int32] {
        (0..<8).map { _ in
            let filler = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
            var address = loopback(port)
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = connect(filler, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            return filler
        }
    }

    /// Waits for a connection.
    func accept() throws -> Int32 {
        var wait = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        guard poll(&wait, 1, 20_000) > 0 else { throw NoConnection(code: ETIMEDOUT) }
        let accepted = Glibc.accept(socket, nil, nil)
        guard accepted >= 0 else { throw NoConnection(code: errno) }
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        return accepted
    }
}

func startThread(_ body: @escaping @Sendable () -> Void) {
    do {
        try CaptureThread(name: "test peer", body)
    } catch {
        fatalError("no thread: \(error)")
    }
}

/// Whether something becomes true before long.
func eventually(_ limit: Duration = .seconds(20), _ condition: () -> Bool) -> Bool {
    let deadline = MonotonicClock().now.advanced(by: limit)
    while !condition() {
        guard MonotonicClock().now < deadline else { return false }
        usleep(2000)
    }
    return true
}
