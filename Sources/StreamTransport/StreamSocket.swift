import CaptureCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A TCP socket that never blocks and never raises `SIGPIPE`; closed with its last reference.
///
/// Safe to use from any thread; one at a time sends, and one receives.
package final class StreamSocket: Sendable {
    package let descriptor: Int32
    /// The other side; of a listening socket the address that was asked for.
    package let address: SocketAddress

    private init(_ descriptor: Int32, _ address: SocketAddress) {
        self.descriptor = descriptor
        self.address = address
    }

    deinit { close(descriptor) }

    // MARK: Making

    /// Connects to a host: to each of its addresses in turn.
    ///
    /// - Parameters:
    ///   - address: where to.
    ///   - timeout: for all of it, with the look-up of the name.
    ///   - stop: a descriptor that ends the wait when it can be read; -1 for none.
    /// - Throws: `deviceNotFound` for an unknown host or when nothing listens there, `stalled` without an answer,
    ///   `invalidState` after a stop.
    package static func connect(
        to address: StreamAddress, timeout: Duration, interruptedBy stop: Int32
    ) throws(CaptureError) -> StreamSocket {
        let deadline = MonotonicClock().now.advanced(by: timeout)
        let candidates = try HostResolver.resolve(address, until: deadline, interruptedBy: stop)
        var failure: CaptureError?
        for (index, candidate) in candidates.enumerated() {
            // The later addresses get their share of the time.
            let now = MonotonicClock().now
            let share = (deadline - now) / (candidates.count - index)
            do throws(CaptureError) {
                return try connect(to: candidate, of: address, until: now.advanced(by: share), stop)
            } catch {
                if error.code == .invalidState { throw error }
                failure = failure ?? error
            }
        }
        throw failure ?? .noAnswer(address, "\(address.host) has no address")
    }

    private static func connect(
        to candidate: SocketAddress, of address: StreamAddress, until deadline: MediaTime, _ stop: Int32
    ) throws(CaptureError) -> StreamSocket {
        let made = try make(candidate, of: address, operation: "connect")
        var code = candidate.withPointer { systemConnect(made.descriptor, $0, $1) } == 0 ? 0 : errno
        while code == EINPROGRESS || code == EINTR {
            let found = pollOutput(made.descriptor, interruptedBy: stop, until: deadline)
            if found.contains(.interrupted) { throw .interrupted(address) }
            if found.contains(.ready) { code = made.takeError() }
            if found.isEmpty { throw .noAnswer(address, "\(address.displayName) did not answer in time") }
        }
        guard code == 0 else { throw CaptureError(socket: code, operation: "connect", address) }
        made.makeFast()
        return made
    }

    /// Listens at an address of this machine.
    ///
    /// - Throws: `deviceBusy` for a port in use, `permissionDenied` for one below 1024, `deviceNotFound` for an address
    ///   that this machine does not have.
    package static func listen(at address: StreamAddress) throws(CaptureError) -> StreamSocket {
        let deadline = MonotonicClock().now.advanced(by: .seconds(10))
        let candidate = try HostResolver.resolve(address, until: deadline, interruptedBy: -1)[0]
        let made = try make(candidate, of: address, operation: "listen")
        // So that a port is free again at once after the program that had it.
        made.setOption(SOL_SOCKET, SO_REUSEADDR, 1)
        let isBound = candidate.withPointer { bind(made.descriptor, $0, $1) } == 0
        guard isBound, systemListen(made.descriptor, 128) == 0 else {
            throw CaptureError(socket: errno, operation: "listen", address)
        }
        return made
    }

    private static func make(
        _ candidate: SocketAddress, of address: StreamAddress, operation: String
    ) throws(CaptureError) -> StreamSocket {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(candidate.family, kind, 0)
        guard descriptor >= 0 else { throw CaptureError(socket: errno, operation: operation, address) }
        return StreamSocket(descriptor, candidate)
    }

    /// Takes one connection of a listening socket; nil without one.
    ///
    /// - Throws: `system` when the process has no descriptor left, or the system no memory: wait before the next try.
    package func accept() throws(CaptureError) -> StreamSocket? {
        while true {
            var descriptor: Int32 = -1
            let peer = SocketAddress { address, length in
                descriptor = systemAccept(self.descriptor, address, &length)
                return descriptor >= 0
            }
            if let peer {
                let made = StreamSocket(descriptor, peer)
                made.makeFast()
                return made
            }
            switch errno {
            case EAGAIN: return nil
            // The peer has gone already, or the network with it.
            case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENETUNREACH, EHOSTDOWN, EHOSTUNREACH, ENOPROTOOPT, EPERM:
                continue
            case let code:
                throw CaptureError(
                    .system, operation: "accept a connection", errno: code,
                    message: "No connection can be accepted for now; raise `ulimit -n` if there are many.")
            }
        }
    }

    /// The port on this machine.
    package var localPort: Int { SocketAddress { getsockname(descriptor, $0, &$1) == 0 }?.port ?? 0 }

    // MARK: Sending and receiving

    /// Sends what the kernel takes of several blocks without waiting. Returns the number of bytes, or minus the `errno`:
    /// minus `EAGAIN` for none.
    package func send(_ blocks: UnsafeMutableBufferPointer<iovec>) -> Int {
        while true {
            var message = msghdr()
            message.msg_iov = blocks.baseAddress
            message.msg_iovlen = numericCast(blocks.count)
            let count = sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            if count >= 0 { return count }
            if errno != EINTR { return -Int(errno) }
        }
    }

    /// Receives the bytes that have arrived, without waiting. Returns the number of bytes, 0 at the end of the stream, or minus the
    /// `errno`: minus `EAGAIN` when nothing has arrived.
    package func receive(into bytes: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = recv(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT))
            if count >= 0 { return count }
            if errno != EINTR { return -Int(errno) }
        }
    }

    /// Ends the sending direction; bytes sent before still arrive.
    package func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Ends the connection with a reset, so that nothing that is still to be sent occupies the kernel.
    package func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Frames leave at once; peers that vanish are detected; and the kernel takes little more than the network does, so
    /// that what cannot be sent waits where it can be dropped.
    private func makeFast() {
        setOption(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        setOption(SOL_SOCKET, SO_KEEPALIVE, 1)
        setOption(Int32(IPPROTO_TCP), TCP_KEEPIDLE, 10)
        setOption(Int32(IPPROTO_TCP), TCP_KEEPINTVL, 5)
        setOption(Int32(IPPROTO_TCP), TCP_KEEPCNT, 3)
        setOption(Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, 128 << 10)
    }

    /// Limits the unread bytes that the kernel keeps, so that a sender is held back instead.
    package func limitReceiveBuffer(to bytes: Int32) { setOption(SOL_SOCKET, SO_RCVBUF, bytes) }

    private func setOption(_ level: Int32, _ name: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// The bytes that were sent and that the kernel still keeps, since the network or the other side takes no more for now;
    /// those on their way are not among them.
    package var unsentByteCount: Int {
        var count: Int32 = 0
        // SIOCOUTQNSD of <linux/sockios.h>.
        return ioctl(descriptor, 0x894B, &count) == 0 ? max(0, Int(count)) : 0
    }

    /// The outcome of a connection attempt.
    private func takeError() -> Int32 {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 ? code : errno
    }
}

// Under names that the methods named so do not shadow.
private func systemConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    connect(descriptor, address, length)
}
/// `accept4` is not visible to Swift.
private func systemAccept(
    _ descriptor: Int32, _ address: UnsafeMutablePointer<sockaddr>, _ length: inout socklen_t
) -> Int32 {
    let accepted = accept(descriptor, address, &length)
    guard accepted >= 0 else { return accepted }
    _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
    _ = fcntl(accepted, F_SETFL, fcntl(accepted, F_GETFL) | O_NONBLOCK)
    return accepted
}
private func systemListen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { listen(descriptor, backlog) }

extension CaptureError {
    /// The error for a failed system call on a socket.
    package init(socket code: Int32, operation: String, _ address: StreamAddress) {
        let (kind, message) = CaptureError.explain(code, address)
        self.init(kind, operation: operation, subject: address.displayName, errno: code, message: message)
    }

    private static func explain(_ code: Int32, _ address: StreamAddress) -> (CaptureError.Code, String) {
        switch code {
        case EADDRINUSE:
            (.deviceBusy, "Another program listens at port \(address.port); end it, or choose another port.")
        case EADDRNOTAVAIL:
            (
                .deviceNotFound,
                "\(address.host) is not an address of this machine; use 0.0.0.0 for all of its addresses."
            )
        case EACCES, EPERM:
            (
                .permissionDenied,
                address.isListening && address.port < 1024
                    ? "Ports below 1024 are for administrators; choose a higher one."
                    : "The system does not allow this connection; check the firewall."
            )
        case ECONNREFUSED:
            (.deviceNotFound, "Nothing listens there; start the other side first, or check the port.")
        case EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN:
            (.deviceNotFound, "There is no route to \(address.host); check the network.")
        case ETIMEDOUT: (.stalled, "\(address.host) does not answer; check that it is on and reachable.")
        case ECONNRESET, EPIPE, ECONNABORTED: (.deviceLost, "The other side has ended the connection.")
        case EMFILE, ENFILE: (.system, "Too many files and connections are open; raise `ulimit -n`.")
        case ENOMEM, ENOBUFS: (.outOfMemory, "The machine has no memory left for a connection; close other programs.")
        default: (.system, "The system refused; see the reason in brackets.")
        }
    }

    static func noAnswer(_ address: StreamAddress, _ what: String) -> CaptureError {
        CaptureError(
            .stalled, operation: "connect", subject: address.displayName, errno: ETIMEDOUT,
            message: "\(what); check that the host is on and reachable.")
    }

    static func interrupted(_ address: StreamAddress) -> CaptureError {
        CaptureError(
            .invalidState, operation: "connect", subject: address.displayName,
            message: "It was stopped while it connected.")
    }
}
