import NIOCore

/// An HTTP response with its body.
struct Reply {
    var status: Int
    var headers: [(name: String, value: String)] = []
    var contentType: String
    var body: ByteBuffer
    /// Whether the length of the body is known.
    var tellsLength = true
    /// Whether it must not be stored.
    var isFresh = true

    /// A response with a sentence for the user.
    init(_ status: Int, _ sentence: String) {
        self.status = status
        contentType = "text/plain; charset=utf-8"
        body = ByteBuffer(string: sentence + "\n")
    }

    init(_ route: Route, _ body: ByteBuffer, status: Int = 200) {
        self.status = status
        contentType = route.contentType
        self.body = body
    }

    /// The head, up to and with the empty line.
    ///
    /// - Parameters:
    ///   - crossOrigin: the lines that say what other pages may do with the response.
    ///   - staysOpen: whether another request may follow.
    func head(crossOrigin: [(name: String, value: String)], staysOpen: Bool) -> ByteBuffer {
        var head = ByteBuffer()
        head.writeString("HTTP/1.1 \(status) \(Reply.phrase(status))\r\nContent-Type: \(contentType)\r\n")
        if tellsLength { head.writeString("Content-Length: \(body.readableBytes)\r\n") }
        head.writeStaticString("X-Content-Type-Options: nosniff\r\n")
        if isFresh { head.writeStaticString(Reply.freshness) }
        for (name, value) in headers + crossOrigin { head.writeString("\(name): \(value)\r\n") }
        head.writeStaticString(staysOpen ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n")
        return head
    }

    /// The lines by which uStreamer forbids caching.
    static let freshness: StaticString = """
        Cache-Control: no-store, no-cache, must-revalidate, proxy-revalidate, pre-check=0, post-check=0, max-age=0\r
        Pragma: no-cache\r
        Expires: Mon, 3 Jan 2000 12:34:56 GMT\r

        """

    private static func phrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 411: "Length Required"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: "Answer"
        }
    }
}
