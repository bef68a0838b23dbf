import TestTools
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// A sender's end of a connection.
final class SenderConnection: Sendable {
    private let socket: Int32
    /// Counts the connections of a sender from 0.
    let index: Int

    init(_ socket: Int32, index: Int = 0) {
        self.socket = socket
        self.index = index
    }

    deinit { close(socket) }

    /// Connects to a port of 127.0.0.1.
    convenience init(port: Int?) throws {
        try self.init(connectTo(port ?? 0))
    }

    /// False once the receiver has hung up.
    @discardableResult
    func write(_ bytes: some Collection<UInt8>) -> Bool {
        Array(bytes).withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = send(socket, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }

    /// Waits until the receiver hangs up.
    func awaitEnd() {
        var byte: UInt8 = 0
        while recv(socket, &byte, 1, 0) > 0 {}
    }

    /// Ends the stream; with a reset instead of in good order, or not.
    func hangUp(reset: Bool = false) {
        if reset {
            setLinger(socket)
        } else {
            shutdown(socket, Int32(SHUT_WR))
        }
    }
}

/// Listens at a free port of 127.0.0.1, and sends to each that connects as it is told to; each connection has a thread.
final class TestSender: Sendable {
    private struct State {
        var accepted = 0
        var running = 0
        var sockets: Set<Int32> = []
        var isStopped = false
    }

    private let listener: TestListener
    private let state = Locked(State())
    private let answer: @Sendable (SenderConnection) -> Void

    /// - Parameter answer: called on the connection's thread; the connection is closed when it returns.
    init(_ answer: @escaping @Sendable (SenderConnection) -> Void) {
        self.answer = answer
        do { listener = try TestListener() } catch { fatalError("no port at 127.0.0.1: \(error)") }
        state.withLock { $0.running = 1 }
        startThread { [self] in accept() }
    }

    var port: Int { listener.port }
    var url: String { "tcp://127.0.0.1:\(port)" }
    /// Connections accepted.
    var accepted: Int { state.withLock { $0.accepted } }

    /// Hangs up on everybody, and waits until all threads have ended.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            shutdown(listener.socket, Int32(SHUT_RDWR))
            for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
        }
        let end = MonotonicClock().now.advanced(by: .seconds(60))
        _ = state.wait(until: end) { $0.running == 0 ? () : nil }
    }

    private func accept() {
        while true {
            let socket = Glibc.accept(listener.socket, nil, nil)
            guard socket >= 0 else { break }
            _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
            let index = state.withLock { state -> Int? in
                guard !state.isStopped else { return nil }
                state.sockets.insert(socket)
                state.accepted += 1
                state.running += 1
                return state.accepted - 1
            }
            guard let index else {
                close(socket)
                continue
            }
            startThread { [self] in
                let connection = SenderConnection(socket, index: index)
                answer(connection)
                // Before it is closed, so that its number is not another's yet.
                state.withLock { _ = $0.sockets.remove(socket) }
                withExtendedLifetime(connection) {}
                end()
            }
        }
        end()
    }

    private func end() {
        state.withLock { $0.running -= 1 }
        state.wakeAll()
    }
}
