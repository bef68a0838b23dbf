import TestTools
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
    func await(_ limit: Duration = .seconds(60), _ condition: ([UInt8]) -> Bool) -> Bool {
        let end = MonotonicClock().now.advanced(by: limit)
        return state.wait(until: end) { condition($0.bytes) ? () : nil } != nil
    }

    /// Waits for the end of the connection, and returns all that has come.
    func awaitEnd(_ limit: Duration = .seconds(60)) -> [UInt8]? {
        let end = MonotonicClock().now.advanced(by: limit)
        return state.wait(until: end) { $0.hasEnded ? $0.bytes : nil }
    }

    /// Ends the connection, in good order or with a reset.
    func hangUp(reset: Bool = false) {
        if reset { setLinger(socket) }
        shutdown(socket, Int32(SHUT_RDWR))
    }
}
