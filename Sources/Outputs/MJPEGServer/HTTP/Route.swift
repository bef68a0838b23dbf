/// What an address leads to. Addresses are compared as they are, letter by letter: nothing is decoded, joined or looked
/// up in a file system, so there is nothing that `..`, `//`, `%2e` or a zero byte could reach.
enum Route: Sendable, Hashable {
    case page
    case stream
    case snapshot
    case state
    case metrics
    /// What browsers ask for by themselves.
    case icon

    /// - Parameter target: the request's target; a full address (RFC 9112, 3.2.2) is taken for its path.
    init?(_ target: String, query: inout Query) {
        var target = target[...]
        if target.hasPrefix("http://") || target.hasPrefix("https://") {
            let afterScheme = target.drop { $0 != "/" }.dropFirst(2)
            target = afterScheme.drop { $0 != "/" && $0 != "?" }
            if target.isEmpty { target = "/" }
        }
        let path = target.prefix { $0 != "?" }
        query = Query(target.dropFirst(path.count + 1))
        switch path {
        case "/":
            // As mjpg-streamer has it.
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
        default: return nil
        }
    }

    var contentType: String {
        switch self {
        case .page: "text/html; charset=utf-8"
        case .stream: "multipart/x-mixed-replace;boundary=boundarydonotcross"
        case .snapshot: "image/jpeg"
        case .icon: "image/x-icon"
        case .state: "application/json"
        case .metrics: "text/plain; version=0.0.4; charset=utf-8"
        }
    }
}
