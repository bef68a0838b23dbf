/// The relevant headers of a response, parsed from the lines that curl delivers: of several responses (redirects, demands
/// for a password) the last one counts.
package struct HTTPResponseHead {
    /// 0 for a response without a head (HTTP/0.9).
    package private(set) var status = 0
    /// The reason phrase.
    package private(set) var reason = ""
    package private(set) var contentType: ContentType?
    package private(set) var contentLength: Int?
    /// Whether the body is neither chunked nor compressed.
    package private(set) var isPlain = true
    package private(set) var challenges = AuthenticationChallenges()
    /// All header lines, with names in lower case, for requests that want them; the transfer limits their bytes.
    package private(set) var fields: [(name: String, value: [UInt8])] = []
    private var collectsFields = false

    package mutating func take(_ bytes: UnsafeRawBufferPointer) {
        let line = ASCII.trimmed(Array(bytes)[...])
        if ASCII.hasPrefix(line, "http/") || ASCII.hasPrefix(line, "icy ") {
            self = HTTPResponseHead(statusLine: line, collectsFields: collectsFields)
            return
        }
        guard let header = HeaderLine(line) else { return }
        if collectsFields {
            fields.append((String(decoding: header.name.map(ASCII.lowercased), as: UTF8.self), Array(header.value)))
        }
        if header.isNamed("content-type") {
            contentType = ContentType(header.value)
        } else if header.isNamed("content-length") {
            contentLength = ASCII.number(header.value)
        } else if header.isNamed("transfer-encoding") || header.isNamed("content-encoding") {
            isPlain = false
        } else if header.isNamed("www-authenticate") {
            challenges.take(header.value)
        }
    }

    /// - Parameter collectsFields: whether ``fields`` are wanted, which costs allocations.
    package init(collectsFields: Bool = false) { self.collectsFields = collectsFields }

    private init(statusLine line: ArraySlice<UInt8>, collectsFields: Bool) {
        self.collectsFields = collectsFields
        let rest = line.drop { !ASCII.isBlank($0) }.drop { ASCII.isBlank($0) }
        status = ASCII.number(rest) ?? 0
        reason = String(decoding: rest.drop { ASCII.isDigit($0) }.drop { ASCII.isBlank($0) }.prefix(80), as: UTF8.self)
    }

    /// As in `404 Not Found`.
    package var statusText: String {
        let printable = String(
            String.UnicodeScalarView(reason.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }))
        return printable.isEmpty ? "\(status)" : "\(status) \(printable)"
    }
}

/// The authentication schemes that a server offers.
package struct AuthenticationChallenges: Hashable {
    private struct Challenge: Hashable {
        var scheme: String
        var realm: String
    }
    private var all: [Challenge] = []

    /// Parses the value of a header `WWW-Authenticate`, which may contain several.
    package mutating func take(_ value: ArraySlice<UInt8>) {
        for item in AuthenticationChallenges.items(value) where all.count < 16 {
            // A challenge begins with a word without `=`.
            let word = item.prefix { !ASCII.isBlank($0) }
            var parameter = item
            if !word.contains(ASCII.equals) {
                all.append(Challenge(scheme: String(decoding: word, as: UTF8.self), realm: ""))
                parameter = ASCII.trimmed(item.dropFirst(word.count))
            }
            guard ASCII.hasPrefix(parameter, "realm"), let equals = parameter.firstIndex(of: ASCII.equals), !all.isEmpty
            else { continue }
            let realm = ASCII.trimmed(parameter[(equals + 1)...]).filter { $0 != ASCII.quote }
            all[all.count - 1].realm = String(decoding: realm, as: UTF8.self)
        }
    }

    /// The preferred scheme: Digest before Basic; nil when there is neither.
    package var best: (scheme: String, realm: String)? {
        for scheme in ["digest", "basic"] {
            if let found = all.first(where: { $0.scheme.lowercased() == scheme }) {
                return (scheme == "digest" ? "Digest" : "Basic", found.realm)
            }
        }
        return nil
    }

    /// The names of all, for display.
    package var names: String { all.map(\.scheme).joined(separator: ", ") }

    /// Splits at commas outside of quotes.
    private static func items(_ text: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var items: [ArraySlice<UInt8>] = []
        var start = text.startIndex
        var isQuoted = false
        for index in text.indices {
            if text[index] == ASCII.quote { isQuoted.toggle() }
            guard text[index] == 0x2C, !isQuoted else { continue }
            items.append(ASCII.trimmed(text[start..<index]))
            start = index + 1
        }
        items.append(ASCII.trimmed(text[start...]))
        return items.filter { !$0.isEmpty }
    }
}
