/// A request of RTSP 1.0 (RFC 2326, 6).
struct RTSPRequest: Sendable, Hashable {
    /// A line of the head.
    struct Header: Sendable, Hashable {
        var name: String
        var value: String
    }

    /// The method, as the client wrote it: upper and lower case differ.
    var method: String
    /// The URL, or `*`: 1 to 2048 printable characters without a space.
    var target: String
    var headers: [Header] = []
    /// The bytes of the body, which no method here needs, and which the parser skips.
    var bodySize = 0

    /// The value of the first header of a name.
    subscript(name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }

    /// The number by which the client recognizes the response; nil where it is missing or not a number.
    var sequence: UInt64? { self["CSeq"].flatMap { UInt64($0) } }

    /// The identifier of the session without its parameters; nil where the request names none.
    var session: String? {
        self["Session"].map { String($0.prefix { $0 != ";" && $0 != " " }) }
    }
}

/// A response of RTSP 1.0 (RFC 2326, 7).
struct RTSPResponse: Sendable, Hashable {
    var status: Int
    var headers: [RTSPRequest.Header] = []
    var body = ""

    init(_ status: Int, _ headers: [(name: String, value: String)] = [], body: String = "") {
        self.status = status
        self.headers = headers.map { RTSPRequest.Header(name: $0.name, value: $0.value) }
        self.body = body
    }

    /// The response to a request, with its number.
    func text(sequence: UInt64?) -> String {
        var text = "RTSP/1.0 \(status) \(RTSPResponse.reasons[status] ?? "Error")\r\n"
        if let sequence { text += "CSeq: \(sequence)\r\n" }
        text += "Server: swift-video-capturing\r\n"
        for header in headers { text += "\(header.name): \(header.value)\r\n" }
        if !body.isEmpty { text += "Content-Length: \(body.utf8.count)\r\n" }
        return text + "\r\n" + body
    }

    private static let reasons = [
        200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed",
        408: "Request Timeout", 413: "Request Entity Too Large", 429: "Too Many Requests",
        451: "Parameter Not Understood", 453: "Not Enough Bandwidth", 454: "Session Not Found",
        455: "Method Not Valid in This State", 459: "Aggregate Operation Not Allowed", 461: "Unsupported Transport",
        501: "Not Implemented", 503: "Service Unavailable", 505: "RTSP Version Not Supported",
        551: "Option not supported",
    ]
}

/// A URL of a request in its parts: `rtsp://host:8554/cam/trackID=0`.
struct RTSPTarget: Sendable, Hashable {
    /// The scheme and the host as the client wrote them, without a login: `rtsp://host:8554`; empty for `*` and for a path
    /// alone.
    var origin: String
    /// The path without slashes at its ends, and without a track and a query: `cam`.
    var path: String
    /// The track that stands at the end, wherever the client has put it; nil without one.
    var track: Int?

    /// The beginning of the last component of a track's URL.
    static let trackPrefix = "trackID="

    init(_ text: String) {
        var rest = text[...]
        origin = ""
        if let range = rest.firstRange(of: "://") {
            let scheme = rest[..<range.lowerBound]
            var authority = rest[range.upperBound...].prefix { $0 != "/" && $0 != "?" }
            rest = rest[authority.endIndex...]
            if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
            origin = "\(scheme.lowercased())://\(authority)"
        }
        // Some clients write the track behind the query, others behind a second slash.
        if let range = rest.ranges(of: RTSPTarget.trackPrefix).last {
            let digits = rest[range.upperBound...].drop { $0 == "/" }.prefix { $0 != "/" && $0 != "?" && $0 != "&" }
            track = digits.utf8.allSatisfy { 48...57 ~= $0 } && digits.utf8.count <= 4 ? Int(digits) : nil
            rest = rest[..<range.lowerBound]
        }
        path = String(rest.prefix { $0 != "?" }).split(separator: "/").joined(separator: "/")
    }

    /// The URL of the stream, with a slash at its end.
    var base: String { path.isEmpty ? "\(origin)/" : "\(origin)/\(path)/" }

    /// The URL of a track.
    func control(of track: Int) -> String { "\(base)\(RTSPTarget.trackPrefix)\(track)" }
}
