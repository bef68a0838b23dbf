import VideoCapturing

/// The resource that an address names. Addresses are compared byte by byte: nothing is decoded, joined or looked up in a file
/// system, so there is nothing that `..`, `//`, `%2e` or a zero byte could reach.
enum Route: Sendable, Hashable {
    case page
    case stream
    case snapshot
    case state
    case metrics
    /// Sessions of another way than MJPEG; with an identifier, one of them.
    case session(String?)
    /// Starts a clip.
    case record
    /// Recordings: the page, the list, or a clip.
    case recordings(RecordingsPart)
    /// Browsers request it automatically.
    case icon

    /// Nil for an unknown path.
    ///
    /// - Parameters:
    ///   - target: the request's target; of an absolute form (RFC 9112, 3.2.2), its path counts.
    ///   - query: set to the query of the target.
    init?(_ target: String, query: inout Query) {
        var target = target[...]
        if target.hasPrefix("http://") || target.hasPrefix("https://") {
            let afterScheme = target.drop { $0 != "/" }.dropFirst(2)
            target = afterScheme.drop { $0 != "/" && $0 != "?" }
            if target.isEmpty { target = "/" }
        }
        var path = target.prefix { $0 != "?" }
        query = Query(target.dropFirst(path.count + 1))
        // Proxies and people add a slash to the end.
        if path.count > 1, path.last == "/", !path.hasSuffix("//"), !path.hasPrefix("/whep/") { path = path.dropLast() }
        switch path {
        case "/":
            // The addresses of mjpg-streamer.
            switch query["action"] {
            case "stream": self = .stream
            case "snapshot": self = .snapshot
            default: self = .page
            }
        case "/stream": self = .stream
        case "/snapshot": self = .snapshot
        case "/state": self = .state
        case "/metrics": self = .metrics
        case "/favicon.ico": self = .icon
        case "/whep": self = .session(nil)
        case "/record": self = .record
        case "/recordings": self = .recordings(.page)
        case "/recordings/list": self = .recordings(.list)
        case "/recordings/clip": self = .recordings(.clip)
        default:
            guard path.hasPrefix("/whep/") else { return nil }
            self = .session(String(path.dropFirst("/whep/".count)))
        }
    }

    var contentType: String {
        switch self {
        case .page: "text/html; charset=utf-8"
        case .stream: "multipart/x-mixed-replace;boundary=boundarydonotcross"
        case .snapshot: "image/jpeg"
        case .icon: "image/x-icon"
        case .state: "application/json"
        case .session: "application/sdp"
        case .metrics: "text/plain; version=0.0.4; charset=utf-8"
        case .record: "text/plain; charset=utf-8"
        case .recordings(.page): "text/html; charset=utf-8"
        case .recordings(.list): "application/json"
        // That of the answer depends on the codecs.
        case .recordings(.clip): "video/webm"
        }
    }
}

/// A part of the recordings that a request asks for.
enum RecordingsPart: Sendable, Hashable {
    case page
    case list
    case clip
}

/// The part of an address after the question mark.
struct Query {
    private let pairs: [(name: String, value: String)]

    init(_ text: some StringProtocol) {
        pairs = text.utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let value = halves.count > 1 ? percentDecoded(halves[1], decodesPlus: true) : ""
            return (percentDecoded(halves[0], decodesPlus: true), value)
        }
    }

    /// The first value of that name.
    subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }

    /// Whether the value begins with 1, or is true or yes in any case, as uStreamer reads it.
    func isTrue(_ name: String) -> Bool {
        guard let value = self[name] else { return false }
        return value.hasPrefix("1") || ["true", "yes"].contains(value.lowercased())
    }
}
