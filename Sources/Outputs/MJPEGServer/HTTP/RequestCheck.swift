import NIOHTTP1

/// What the parser lets pass and is refused all the same.
enum RequestCheck {
    /// - Parameter hostCheck: which hosts may be named; nil for all.
    /// - Returns: the answer to a head that is not taken; nil for one that is in order.
    static func refusal(_ head: HTTPRequestHead, _ hostCheck: HostCheck?) -> Reply? {
        guard head.version == .http1_1 || head.version == .http1_0 else {
            return Reply(505, "This server speaks HTTP/1.0 and HTTP/1.1.")
        }
        let hosts = head.headers["host"]
        if hosts.count > 1 {
            return Reply(400, "The request names several hosts; name one.")
        }
        if head.version == .http1_1, hosts.isEmpty {
            return Reply(400, "The request names no host; HTTP/1.1 asks for it.")
        }
        let lengths = head.headers["content-length"]
        if head.headers.contains(name: "transfer-encoding") {
            // Two ways to tell where a body ends is how a request is smuggled past a proxy.
            return lengths.isEmpty
                ? Reply(413, "Requests to this server have no body.")
                : Reply(400, "The request tells the length of its body in two ways.")
        }
        if let length = lengths.first {
            guard lengths.count == 1, length.utf8.allSatisfy({ 48...57 ~= $0 }), !length.isEmpty else {
                return Reply(400, "The request's Content-Length is not a number.")
            }
            if !length.utf8.allSatisfy({ $0 == 48 }) { return Reply(413, "Requests to this server have no body.") }
        }
        // Browsers always name one.
        if let hostCheck, let host = hosts.first, !hostCheck.allows(host) { return HostCheck.refusal }
        return nil
    }
}
