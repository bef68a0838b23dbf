import StreamTransport
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Connects to a server and asks it for the mount (HTTP PUT, as Icecast 2.4 and later take sources).
///
/// The body follows bare, to the end of the connection: Icecast announces HTTP/1.1, but passes the sizes of chunks on to its
/// listeners as if they were media.
struct IcecastConnection {
    let socket: StreamSocket

    /// A server of this kind sends no longer head.
    private static let maximumHeadBytes = 16_384
    /// How long a server that has said to continue may take to say that all is well; some say it at the end only.
    private static let finalTimeout = Duration.seconds(1)

    /// - Parameters:
    ///   - address: the mount.
    ///   - contentType: the type of the stream; without it the server would not recognize key frames.
    ///   - configuration: metadata and timeouts.
    ///   - stop: a descriptor that ends the wait when it can be read.
    /// - Throws: `permissionDenied` for a wrong password, `deviceBusy` for a mount in use, `stalled` without an answer,
    ///   `corruptData` for one that is not HTTP, `deviceNotFound` when nothing listens there, `invalidState` after a stop.
    init(
        _ address: IcecastAddress, contentType: String, _ configuration: IcecastOutput.Configuration,
        interruptedBy stop: Int32
    ) throws(CaptureError) {
        let deadline = MonotonicClock().now.advanced(by: configuration.connectTimeout)
        socket = try StreamSocket.connect(
            to: address.server, timeout: configuration.connectTimeout, interruptedBy: stop)
        var answer = Answer(address, socket, stop)
        var request = Array(IcecastConnection.request(address, contentType, configuration).utf8)
        try answer.send(&request, until: deadline)
        var head = try answer.readHead(until: deadline)
        if head == 100 {
            let final = min(deadline, MonotonicClock().now.advanced(by: IcecastConnection.finalTimeout))
            guard let next = try answer.readHeadIfAny(until: final) else { return }
            head = next
        }
        guard (200..<300).contains(head) else { throw answer.refusal(head) }
    }

    private static func request(
        _ address: IcecastAddress, _ contentType: String, _ configuration: IcecastOutput.Configuration
    ) -> String {
        let given = configuration.metadata
        let stated = address.metadata
        var lines = [
            "PUT \(address.mount) HTTP/1.1", "Host: \(address.server.displayName)",
            "Authorization: Basic \(Base64.encode(Array("\(address.user):\(address.password)".utf8)))",
            "User-Agent: swift-video-capturing", "Content-Type: \(contentType)", "Expect: 100-continue",
            "Ice-Public: \(stated.isPublic || given.isPublic ? 1 : 0)",
        ]
        let fields: [(String, KeyPath<IcecastOutput.Metadata, String?>)] = [
            ("Ice-Name", \.name), ("Ice-Description", \.description), ("Ice-Genre", \.genre), ("Ice-URL", \.url),
        ]
        for (name, path) in fields {
            guard let value = stated[keyPath: path] ?? given[keyPath: path], !value.isEmpty else { continue }
            // A line end would begin another field.
            lines.append("\(name): \(printable(value, limit: 500))")
        }
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    /// What the server says.
    private struct Answer {
        private let address: IcecastAddress
        private let socket: StreamSocket
        private let stop: Int32
        private var bytes: [UInt8] = []

        init(_ address: IcecastAddress, _ socket: StreamSocket, _ stop: Int32) {
            self.address = address
            self.socket = socket
            self.stop = stop
        }

        func send(_ request: inout [UInt8], until deadline: MediaTime) throws(CaptureError) {
            var sent = 0
            while sent < request.count {
                let result = request.withUnsafeMutableBytes { bytes in
                    var block = iovec(iov_base: bytes.baseAddress! + sent, iov_len: bytes.count - sent)
                    return withUnsafeMutablePointer(to: &block) {
                        socket.send(UnsafeMutableBufferPointer(start: $0, count: 1))
                    }
                }
                if result > 0 {
                    sent += result
                } else if result == -Int(EAGAIN) {
                    let found = pollOutput(socket.descriptor, interruptedBy: stop, until: deadline)
                    if found.contains(.interrupted) { throw stopped }
                    if found.isEmpty { throw silence }
                } else {
                    throw CaptureError(socket: Int32(-result), operation: "connect", address.server)
                }
            }
        }

        mutating func readHead(until deadline: MediaTime) throws(CaptureError) -> Int {
            guard let status = try readHeadIfAny(until: deadline) else { throw silence }
            return status
        }

        /// The status of the next head, which is removed; nil when none comes in time.
        mutating func readHeadIfAny(until deadline: MediaTime) throws(CaptureError) -> Int? {
            while true {
                if let end = endOfHead {
                    defer { bytes.removeFirst(end) }
                    let line = String(decoding: bytes[..<end].prefix { $0 != 13 && $0 != 10 }, as: UTF8.self)
                    let words = line.split(separator: " ")
                    guard words.count > 1, words[0].hasPrefix("HTTP/"), let status = Int(words[1]) else {
                        throw garbage
                    }
                    return status
                }
                guard bytes.count < IcecastConnection.maximumHeadBytes else { throw garbage }
                guard try receive(until: deadline) else { return nil }
            }
        }

        /// False when the time is over.
        private mutating func receive(until deadline: MediaTime) throws(CaptureError) -> Bool {
            let found = pollInput(socket.descriptor, interruptedBy: stop, until: deadline)
            if found.contains(.interrupted) { throw stopped }
            guard !found.isEmpty else { return false }
            let start = bytes.count
            bytes.append(contentsOf: repeatElement(0, count: 4096))
            let count = bytes.withUnsafeMutableBytes {
                socket.receive(into: UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
            }
            bytes.removeLast(4096 - max(0, count))
            if count == 0 {
                throw CaptureError(
                    .deviceLost, operation: "connect", subject: address.displayName,
                    message:
                        "The server has ended the connection without an answer; check that it is an Icecast server.")
            }
            guard count > 0 || count == -Int(EAGAIN) else {
                throw CaptureError(socket: Int32(-count), operation: "connect", address.server)
            }
            return true
        }

        /// The offset behind the empty line.
        private var endOfHead: Int? {
            for index in bytes.indices where bytes[index] == 10 {
                if bytes[(index + 1)...].starts(with: [13, 10]) { return index + 3 }
                if bytes[(index + 1)...].starts(with: [10]) { return index + 2 }
            }
            return nil
        }

        /// The error for a status, with the reason that the server states.
        mutating func refusal(_ status: Int) -> CaptureError {
            // The part of the body that has arrived, or arrives soon.
            let deadline = MonotonicClock().now.advanced(by: .milliseconds(500))
            while bytes.count < 2000, (try? receive(until: deadline)) ?? false {}
            let body = String(decoding: bytes.prefix(2000), as: UTF8.self)
            let (code, message): (CaptureError.Code, String) =
                switch status {
                case 401 where address.password.isEmpty:
                    (
                        .permissionDenied,
                        "The server asks for a password; write it before the host, as source:PASSWORD@."
                    )
                case 401:
                    (
                        .permissionDenied,
                        "The server refuses the user name or the password; check both, and how the mount is configured."
                    )
                case 403 where body.contains("in use"):
                    (.deviceBusy, "Another source sends to this mount; end it, or choose another mount.")
                case 403:
                    (
                        .permissionDenied,
                        "The server refuses the source (\(reason(body))); check its limits and the mount."
                    )
                case 404, 405, 501:
                    (.formatUnsupported, "The server takes no sources by PUT there; it must be Icecast 2.4 or later.")
                default: (.deviceLost, "The server answers with status \(status) (\(reason(body))); look at its log.")
                }
            return CaptureError(code, operation: "connect", subject: address.displayName, message: message)
        }

        /// The text of an answer, which may be a page, in a few words.
        private func reason(_ body: String) -> String {
            var text = ""
            var isTag = false
            for character in body {
                if character == "<" {
                    isTag = true
                } else if character == ">" {
                    isTag = false
                } else if !isTag {
                    text.append(character)
                }
            }
            let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            return words.isEmpty ? "without a reason" : printable(words, limit: 80)
        }

        private var silence: CaptureError {
            CaptureError(
                .stalled, operation: "connect", subject: address.displayName, errno: ETIMEDOUT,
                message:
                    "The server does not answer; check that it is an Icecast server, and that it is not overloaded.")
        }

        private var garbage: CaptureError {
            CaptureError(
                .corruptData, operation: "connect", subject: address.displayName,
                message: "The answer is not HTTP; check that this is the port of an Icecast server.")
        }

        private var stopped: CaptureError {
            CaptureError(
                .invalidState, operation: "connect", subject: address.displayName,
                message: "It was stopped while it connected.")
        }
    }
}
