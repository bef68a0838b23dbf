import CLibCURL
import CaptureCore

/// A request to a server, and how its response is parsed.
package struct HTTPRequest {
    /// How the head of the response is parsed.
    package enum Leniency: Hashable {
        /// By curl, which rejects lines without a colon and the like.
        case none
        /// By ``HTTPResponseHead``; curl only makes the connection. With credential, it is sent by Basic.
        case lenient, lenientWithCredential
    }

    package var address: HTTPAddress
    /// As in `GET` and `DELETE`.
    package var method = "GET"
    /// Sent with any method but `GET`; nil for none.
    package var body: [UInt8]?
    package var credential: HTTPCredential?
    /// Sent as `Authorization: Bearer`, and not to another host that a redirect leads to; nil for none.
    package var bearerToken: String?
    /// Whether connections without TLS may lead to other machines, by redirects too.
    package var allowsPlainHTTP = true
    /// Whether a redirect may lead from https to http. curl sends the credential to no other scheme, host or port.
    package var mayLeaveTLS = false
    package var maximumRedirects = 10
    /// The timeout of the whole transfer; nil for none.
    package var timeout: Duration?
    package var trust = HTTPServerTrust.verified
    /// The timeout of the connection, including name resolution and TLS.
    package var connectTimeout: Duration = .seconds(10)
    /// The `User-Agent` header.
    package var userAgent = "swift-video-capturing"
    /// A proxy in curl's syntax; empty for none; nil for that of the environment, but never for this machine itself.
    package var proxy: String?
    /// Further header lines, as in `Range: bytes=100-`.
    package var headerLines: [String] = []
    /// Whether the body ends with the connection, whatever length the server states: those of streams are not reliable,
    /// as in `Content-Length: 9999999`.
    package var ignoresLength = false
    /// Whether the head's ``HTTPResponseHead/fields`` are wanted.
    package var collectsFields = false
    /// The size of curl's receive buffer, and so of the largest piece of the body.
    package var bufferSize = HTTPTransfer.bufferSize
    package var leniency = Leniency.none

    package init(address: HTTPAddress) { self.address = address }
}

extension HTTPRequest {
    /// The request as it is sent. By HTTP/1.0, so that the body is not chunked.
    var text: String {
        let target = address.requestURL.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" && $0 != "?" }
        var text = "GET \(target.hasPrefix("/") ? "" : "/")\(target) HTTP/1.0\r\nHost: \(address.host)\r\n"
        text += "User-Agent: \(userAgent)\r\nAccept: */*\r\nConnection: close\r\n"
        if leniency == .lenientWithCredential, let credential {
            text += "Authorization: Basic \(Base64.encode(Array("\(credential.user):\(credential.password)".utf8)))\r\n"
        }
        for line in headerLines { text += line + "\r\n" }
        return text + "\r\n"
    }
}

/// A request and its response on a connection of curl, for heads that curl rejects.
package struct LenientExchange {
    let request: [UInt8]
    /// The connection; -1 before there is one.
    var socket: Int32 = -1
    var isConnected: Bool { socket >= 0 }
    /// The received bytes of the head.
    var head: [UInt8] = []
    var isInBody = false
    /// The receive buffer.
    var buffer: [UInt8] = []

    init(request: [UInt8]) { self.request = request }
}

extension HTTPTransfer {
    /// Sends the request once connected.
    func sendRequest() {
        var socket = curl_socket_t()
        guard let exchange, curl_shim_get_socket(easy, &socket) == CURLE_OK, socket >= 0 else {
            result = CURLE_COULDNT_CONNECT
            return
        }
        // The send buffer of a new connection has room for it.
        var sent = 0
        let outcome = curl_easy_send(easy, exchange.request, exchange.request.count, &sent)
        guard outcome == CURLE_OK, sent == exchange.request.count else {
            result = outcome == CURLE_OK ? CURLE_SEND_ERROR : outcome
            return
        }
        self.exchange?.socket = socket
        self.exchange?.buffer = [UInt8](repeating: 0, count: Int(receiveBufferSize))
        isConnected = true
        result = nil
    }

    /// Receives everything that has arrived.
    func receive() {
        for _ in 0..<16 {
            guard var buffer = exchange?.buffer, mayTakeBody(upTo: buffer.count) else { return }
            exchange?.buffer = []
            defer { exchange?.buffer = buffer }
            var count = 0
            let outcome = curl_easy_recv(easy, &buffer, buffer.count, &count)
            if outcome == CURLE_AGAIN { return }
            guard outcome == CURLE_OK, count > 0 else {
                if outcome != CURLE_OK {
                    result = outcome
                    return
                }
                result = exchange?.isInBody == true ? CURLE_OK : CURLE_GOT_NOTHING
                return
            }
            bytesReceived &+= UInt64(count)
            buffer.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            if result != nil { return }
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        if exchange?.isInBody == true {
            if !onBody(bytes) { result = CURLE_WRITE_ERROR }
            return
        }
        exchange?.head.append(contentsOf: bytes)
        guard let all = exchange?.head else { return }
        guard let end = LenientExchange.end(ofHead: all) else {
            if all.count > HTTPTransfer.maximumHeadBytes {
                fail(CURLE_WEIRD_SERVER_REPLY, "its answer has no head of at most 64 KB")
            }
            return
        }
        for line in all[..<end].split(separator: ASCII.newline) {
            line.withUnsafeBytes { head.take($0) }
        }
        exchange?.isInBody = true
        exchange?.head = []
        // Without a status it is not HTTP.
        guard head.status != 0 else { return fail(CURLE_WEIRD_SERVER_REPLY, "its answer has no status") }
        let rest = all[end...]
        guard !rest.isEmpty || head.status != 200 else { return }
        if !rest.withUnsafeBytes({ onBody($0) }) { result = CURLE_WRITE_ERROR }
    }
}

extension LenientExchange {
    /// The offset of the body: after the first empty line.
    static func end(ofHead bytes: [UInt8]) -> Int? {
        var isEmpty = false
        for (index, byte) in bytes.enumerated() {
            if byte == ASCII.newline {
                if isEmpty { return index + 1 }
                isEmpty = true
            } else if byte != ASCII.carriageReturn {
                isEmpty = false
            }
        }
        return nil
    }
}
