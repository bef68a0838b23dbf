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
        let path = target.prefix { $0 != "?" }
        query = Query(target.dropFirst(path.count + 1))
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
        }
    }
}

/// The part of an address after the question mark.
struct Query {
    private let pairs: [(name: String, value: String)]

    init(_ text: some StringProtocol) {
        pairs = text.utf8.split(separator: UInt8(ascii: "&")).map { pair in
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (percentDecode(halves[0]), halves.count > 1 ? percentDecode(halves[1]) : "")
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

/// Decodes percent signs; malformed ones stay as they are, invalid UTF-8 is replaced.
private func percentDecode(_ text: some Sequence<UInt8>) -> String {
    var result: [UInt8] = []
    let bytes = Array(text)
    var index = 0
    while index < bytes.count {
        if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = hexValue(bytes[index + 1]),
            let low = hexValue(bytes[index + 2])
        {
            result.append(high << 4 | low)
            index += 3
        } else {
            result.append(bytes[index] == UInt8(ascii: "+") ? UInt8(ascii: " ") : bytes[index])
            index += 1
        }
    }
    return String(decoding: result, as: UTF8.self)
}

/// Percent-encodes every byte that has a special meaning in addresses, headers or JSON.
func percentEncode(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
        if isUnreserved(byte) {
            result.unicodeScalars.append(Unicode.Scalar(byte))
        } else {
            result += "%" + hexText([byte]).uppercased()
        }
    }
    return result
}

/// Whether a byte has no special meaning in addresses (RFC 3986, 2.3).
func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        true
    default: false
    }
}

/// The value of a hexadecimal digit.
func hexValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
}

/// Two lowercase hexadecimal digits for each byte.
func hexText(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
}
