import Glibc
import VideoCapturing

/// An HTTP server that answers as it is told to, on a port of its own at 127.0.0.1; each connection has a thread.
package final class QuirkServer: Sendable {
    /// What a client has sent.
    package struct Request: Sendable {
        package var text: String
        /// Counts all requests from 0.
        package var index: Int

        /// As in `/stream?x=1`.
        package var path: String {
            text.split(separator: " ", omittingEmptySubsequences: false).dropFirst().first.map(String.init) ?? ""
        }

        /// As in `GET`.
        package var method: String { text.prefix { $0 != " " }.description }

        package func header(_ name: String) -> String? {
            for line in text.split(separator: "\r\n").dropFirst()
            where line.lowercased().hasPrefix(name.lowercased() + ":") {
                return String(line.dropFirst(name.count + 1)).trimmed
            }
            return nil
        }
    }

    private struct State {
        var requests: [Request] = []
        var connections: Set<Int32> = []
        var accepted = 0
        var running = 0
        var isStopped = false
    }

    private let listener: TestListener
    private let state = Locked(State())
    private let answer: @Sendable (Request, Connection) -> Void

    /// - Parameter answer: called on the connection's thread for each request. The connection is closed when it returns,
    ///   unless it has said that it is to be kept.
    package init(_ answer: @escaping @Sendable (Request, Connection) -> Void) {
        self.answer = answer
        do { listener = try TestListener() } catch { fatalError("no port at 127.0.0.1: \(error)") }
        startThread { [self] in accept() }
    }

    package var port: Int { listener.port }
    package var url: String { "http://127.0.0.1:\(port)/stream" }
    /// All that have come, in order.
    package var requests: [Request] { state.withLock { $0.requests } }
    /// Connections accepted.
    package var accepted: Int { state.withLock { $0.accepted } }

    /// Hangs up on everybody, and waits until all threads have ended.
    package func stop() {
        state.withLock { state in
            guard !state.isStopped else { return }
            state.isStopped = true
            shutdown(listener.socket, Int32(SHUT_RDWR))
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
        }
        let end = MonotonicClock().now.advanced(by: .seconds(10))
        _ = state.wait(until: end) { $0.running == 0 && $0.isStopped ? () : nil }
    }

    private func accept() {
        state.withLock { $0.running += 1 }
        while true {
            let socket = Glibc.accept(listener.socket, nil, nil)
            guard socket >= 0 else { break }
            let isWelcome = state.withLock { state in
                guard !state.isStopped else { return false }
                state.connections.insert(socket)
                state.accepted += 1
                state.running += 1
                return true
            }
            guard isWelcome else {
                close(socket)
                continue
            }
            startThread { [self] in
                serve(Connection(socket))
                state.withLock { state in
                    state.connections.remove(socket)
                    state.running -= 1
                    close(socket)
                }
                state.wakeAll()
            }
        }
        state.withLock { $0.running -= 1 }
        state.wakeAll()
    }

    private func serve(_ connection: Connection) {
        repeat {
            connection.isKept = false
            guard let text = connection.readHead() else { return }
            let request = state.withLock { state in
                let request = Request(text: text, index: state.requests.count)
                state.requests.append(request)
                return request
            }
            state.wakeAll()
            answer(request, connection)
        } while connection.isKept
    }
}

/// A server's end of a connection. Used on its thread only.
package final class Connection {
    private let socket: Int32
    private var buffer: [UInt8] = []
    /// Whether another request may follow.
    package var isKept = false

    init(_ socket: Int32) { self.socket = socket }

    /// The body of a request, by its `Content-Length`.
    package func readBody(of request: QuirkServer.Request) -> [UInt8] {
        let length = request.header("Content-Length").flatMap { Int($0) } ?? 0
        while buffer.count < length {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(socket, &bytes, bytes.count, 0)
            guard count > 0 else { break }
            buffer += bytes[..<count]
        }
        let body = Array(buffer.prefix(length))
        buffer.removeFirst(body.count)
        return body
    }

    /// A whole response, after which the connection ends.
    package func respond(_ status: String, _ headers: [String] = [], body: String = "") {
        let head = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)", "Connection: close"] + headers
        write(head.map { $0 + "\r\n" }.joined() + "\r\n" + body)
    }

    /// False once the client has hung up.
    @discardableResult
    package func write(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let count = send(socket, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }

    @discardableResult
    package func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// What the client sends next, of its body; nil once it has hung up.
    package func read() -> [UInt8]? {
        if !buffer.isEmpty {
            defer { buffer = [] }
            return buffer
        }
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = recv(socket, &bytes, bytes.count, 0)
        return count > 0 ? Array(bytes[..<count]) : nil
    }

    /// Waits until the client hangs up.
    package func awaitEnd() {
        var byte: UInt8 = 0
        while recv(socket, &byte, 1, 0) > 0 {}
    }

    /// With a reset instead of an end in good order.
    package func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// How much the kernel may take from ``write(_:)-([UInt8])`` before the client reads it.
    package func setSendBuffer(_ bytes: Int32) {
        var bytes = bytes
        setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }

    fileprivate func readHead() -> String? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = buffer.indices.first(where: { buffer[$0...].starts(with: end) }) {
                let head = String(decoding: buffer[..<range], as: UTF8.self)
                buffer.removeFirst(range + 4)
                return head
            }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(socket, &bytes, bytes.count, 0)
            guard count > 0, buffer.count < 65536 else { return nil }
            buffer += bytes[..<count]
        }
    }
}

extension StringProtocol {
    package var trimmed: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text = text.dropFirst() }
        while text.last?.isWhitespace == true { text = text.dropLast() }
        return String(text)
    }
}
