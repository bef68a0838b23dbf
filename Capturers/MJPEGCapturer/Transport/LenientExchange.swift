import CLibCURL

/// A request and its answer on a connection of curl's, for heads that curl refuses.
struct LenientExchange {
    let request: [UInt8]
    /// The connection; -1 before there is one.
    var socket: Int32 = -1
    var isConnected: Bool { socket >= 0 }
    /// What has come of the head.
    var head: [UInt8] = []
    var isInBody = false
    /// What is read at once.
    var buffer: [UInt8] = []

    init(request: [UInt8]) { self.request = request }
}

extension HTTPTransfer {
    /// The connection is made.
    func sendRequest() {
        var socket = curl_socket_t()
        guard let exchange, curl_shim_get_socket(easy, &socket) == CURLE_OK, socket >= 0 else {
            result = CURLE_COULDNT_CONNECT
            return
        }
        // A new connection has room for so little.
        var sent = 0
        let outcome = curl_easy_send(easy, exchange.request, exchange.request.count, &sent)
        guard outcome == CURLE_OK, sent == exchange.request.count else {
            result = outcome == CURLE_OK ? CURLE_SEND_ERROR : outcome
            return
        }
        self.exchange?.socket = socket
        self.exchange?.buffer = [UInt8](repeating: 0, count: Int(HTTPTransfer.bufferSize))
        isConnected = true
        result = nil
    }

    /// Takes all that has come.
    func receive() {
        for _ in 0..<16 {
            guard var buffer = exchange?.buffer else { return }
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
            if all.count > HTTPTransfer.mostHeadBytes {
                fail(CURLE_WEIRD_SERVER_REPLY, "its answer has no head of at most 64 KB")
            }
            return
        }
        for line in all[..<end].split(separator: ASCII.newline) {
            line.withUnsafeBytes { head.take($0) }
        }
        exchange?.isInBody = true
        exchange?.head = []
        // No status: it is no HTTP at all.
        guard head.status != 0 else { return fail(CURLE_WEIRD_SERVER_REPLY, "its answer has no status") }
        let rest = all[end...]
        guard !rest.isEmpty || head.status != 200 else { return }
        if !rest.withUnsafeBytes({ onBody($0) }) { result = CURLE_WRITE_ERROR }
    }
}

extension LenientExchange {
    /// Where the body begins: behind the first line that has nothing but blanks.
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
