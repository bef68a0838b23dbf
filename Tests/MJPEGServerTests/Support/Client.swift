import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// A client that sends what it is told, byte for byte, and reads with a limit of time.
final class Client {
    private let descriptor: Int32
    /// What was received and not taken yet.
    private(set) var received: [UInt8] = []

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// - Parameters:
    ///   - port: of this machine.
    ///   - receiveBuffer: the bytes that the kernel may hold for a client that does not read; nil for its own rule.
    init(_ port: Int, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(description: "socket: \(errno)") }
        if var receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            let code = errno
            close(descriptor)
            throw Failure(description: "connect: \(code)")
        }
    }

    deinit { close(descriptor) }

    /// Sends all of it; false when the server does not take it any more.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// A request for `target` with the head that every request has.
    func get(_ target: String, _ lines: String = "") {
        send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\(lines)\r\n")
    }

    /// Receives what there is, waiting for it if need be. False at the end of the connection.
    private func receive(until deadline: MediaTime) throws -> Bool {
        var descriptors = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        let left = (deadline - MonotonicClock().now).nanoseconds / 1_000_000
        guard left > 0, poll(&descriptors, 1, Int32(left)) > 0 else {
            throw Failure(
                description: "nothing came in time, after \(String(decoding: received.prefix(500), as: UTF8.self))")
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        received += buffer[..<count]
        return true
    }

    /// All that comes until the server closes the connection.
    func readToEnd(within limit: Duration = .seconds(60)) throws -> String {
        let deadline = MonotonicClock().now.advanced(by: limit)
        while try receive(until: deadline) {}
        defer { received = [] }
        return String(decoding: received, as: UTF8.self)
    }

    /// What comes up to and with `end`, which is taken out.
    func read(through end: String, within limit: Duration = .seconds(60)) throws -> String {
        let deadline = MonotonicClock().now.advanced(by: limit)
        let end = Array(end.utf8)
        while true {
            if let start = received.firstRange(of: end) {
                defer { received.removeSubrange(..<start.upperBound) }
                return String(decoding: received[..<start.upperBound], as: UTF8.self)
            }
            guard try receive(until: deadline) else { throw Failure(description: "the connection ended") }
        }
    }

    func read(_ count: Int, within limit: Duration = .seconds(60)) throws -> [UInt8] {
        let deadline = MonotonicClock().now.advanced(by: limit)
        while received.count < count {
            guard try receive(until: deadline) else { throw Failure(description: "the connection ended") }
        }
        defer { received.removeSubrange(..<count) }
        return Array(received[..<count])
    }
}

/// What a server answered.
struct Answer {
    var status: Int
    var headers: [String: [String]]
    var body: [UInt8]

    func header(_ name: String) -> String? { headers[name.lowercased()]?.first }
    var text: String { String(decoding: body, as: UTF8.self) }
}

extension Client {
    /// The head of an answer.
    func readHead() throws -> Answer {
        let lines = try read(through: "\r\n\r\n").split(separator: "\r\n")
        let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        var headers: [String: [String]] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { throw Failure(description: "not a header: \(line)") }
            let value = parts[1].drop { $0 == " " }
            headers[parts[0].lowercased(), default: []].append(String(value))
        }
        guard let status else { throw Failure(description: "no status in \(lines)") }
        return Answer(status: status, headers: headers, body: [])
    }

    /// A whole answer with a length.
    func readAnswer() throws -> Answer {
        var answer = try readHead()
        if let length = answer.header("content-length").flatMap({ Int($0) }) { answer.body = try read(length) }
        return answer
    }

    /// Connects, asks and reads the answer.
    static func fetch(_ target: String, port: Int, _ lines: String = "", method: String = "GET") throws -> Answer {
        let client = try Client(port)
        client.send("\(method) \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(lines)\r\n")
        return method == "HEAD" ? try client.readHead() : try client.readAnswer()
    }
}

extension [UInt8] {
    /// Where `other` is found first.
    fileprivate func firstRange(of other: [UInt8]) -> Range<Int>? {
        guard count >= other.count else { return nil }
        for start in 0...(count - other.count) where self[start] == other[0] {
            if self[start..<start + other.count].elementsEqual(other) { return start..<start + other.count }
        }
        return nil
    }
}
