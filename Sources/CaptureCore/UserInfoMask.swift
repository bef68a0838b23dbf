/// `text` with the user information of all URLs in it, such as `bob:secret` in `rtsp://bob:secret@camera/`, replaced by
/// `…`. For all that is shown to people, and for what a program may log.
///
/// Also where a password has characters that should have been percent-encoded: better a path is masked than a password
/// is shown.
package func maskingUserInfo(in text: String) -> String {
    let bytes = Array(text.utf8)
    guard bytes.contains(UInt8(ascii: "@")) else { return text }
    var result: [UInt8] = []
    var rest = bytes[...]
    while let slash = rest.firstIndex(of: UInt8(ascii: "/")) {
        let start = slash + 2
        guard start <= rest.endIndex, bytes[slash + 1..<start].first == UInt8(ascii: "/"),
            mayBeginAuthority(behind: bytes[..<slash]), let at = endOfUserInfo(bytes[start...])
        else {
            result += rest[...slash]
            rest = rest[(slash + 1)...]
            continue
        }
        result += rest[..<start] + Array("…".utf8)
        rest = rest[at...]
    }
    return String(decoding: result + rest, as: UTF8.self)
}

/// The URL with a name and a password in place of those that it has.
package func addingUserInfo(_ name: String, _ password: String, to url: String) -> String {
    let info = [name, password].map { percentEncoded($0.utf8) }.joined(separator: ":")
    return removingUserInfo(from: url).replacing("//", with: "//\(info)@", maxReplacements: 1)
}

/// Whether a URL has a name, or a name and a password.
package func hasUserInfo(_ url: String) -> Bool { removingUserInfo(from: url) != url }

/// The URL without the name and the password before its host. Those of another URL in its query stay.
package func removingUserInfo(from url: String) -> String {
    guard let start = url.firstRange(of: "://")?.upperBound else { return url }
    let authority = url[start...].prefix { !"/?#".contains($0) }
    if let at = authority.lastIndex(of: "@") { return String(url[..<start] + url[url.index(after: at)...]) }
    // A password with a character that ends the authority leaves no port behind the name.
    let port = authority.hasPrefix("[") ? "" : authority.drop { $0 != ":" }.dropFirst()
    guard !port.allSatisfy({ $0.isASCII && $0.isNumber }) else { return url }
    return maskingUserInfo(in: url).replacing("//…@", with: "//", maxReplacements: 1)
}

/// The URL without user information, without its query, and of RTMP without the stream key: all but the first part of the
/// path.
package func maskingSecrets(inURL url: String) -> String {
    // The user information first: a password may contain what ends the rest.
    let masked = maskingUserInfo(in: url)
    var shown = String(masked.prefix { $0 != "?" && $0 != "#" })
    if url.lowercased().hasPrefix("rtmp") {
        let parts = shown.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count > 4 { shown = parts[..<4].joined(separator: "/") + "/…" }
    }
    return shown.utf8.count < masked.utf8.count && !shown.hasSuffix("…") ? shown + "?…" : shown
}

/// Behind a scheme's colon, or where a name begins; not behind a folder, as in `/data//bob@home.webm`.
private func mayBeginAuthority(behind text: ArraySlice<UInt8>) -> Bool {
    text.last.map { ": '\"(=<\n\t".utf8.contains($0) } ?? true
}

/// The index of the `@` that ends the user information at the beginning of `text`; nil without one.
private func endOfUserInfo(_ text: ArraySlice<UInt8>) -> Int? {
    let authority = text.prefix { !"/?#\"<>\n".utf8.contains($0) }
    let at = UInt8(ascii: "@")
    if let index = authority.lastIndex(of: at) { return index }
    // A `/` in the password ends the authority too early; what stands behind the colon is no port then.
    guard authority.first != UInt8(ascii: "["), let colon = authority.firstIndex(of: UInt8(ascii: ":")),
        !authority[(colon + 1)...].allSatisfy({ (48...57).contains($0) })
    else { return nil }
    return text.prefix { !" \"<>\n\t".utf8.contains($0) }.lastIndex(of: at)
}

extension Unicode.Scalar {
    /// Whether it is visible and does not affect the text around it: not a control character, a line end, or a
    /// character that sets the direction of text or has no width.
    package var isPrintable: Bool {
        if isASCII { return (0x20..<0x7F).contains(value) }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return false
        // Variation selectors follow many emoji.
        default: return !properties.isDefaultIgnorableCodePoint || properties.isVariationSelector
        }
    }
}

/// `text` made safe for a terminal: on one line, cut to `limit` characters, with control and invisible characters
/// replaced by `?`, and without the names and passwords in URLs, which are masked before the text is cut.
package func printable(_ text: String, limit: Int) -> String {
    let text = maskingUserInfo(in: text)
    var result = ""
    for scalar in text.unicodeScalars.prefix(limit) {
        result.unicodeScalars.append(scalar.isPrintable ? scalar : "?")
    }
    return text.unicodeScalars.count > limit ? result + "…" : result
}

/// The scheme of a URL in lower case, without the colon; nil for text that is not a URL, such as a path.
package func urlScheme(of url: String) -> String? {
    guard let colon = url.firstIndex(of: ":"), colon > url.startIndex else { return nil }
    let scheme = url[..<colon].lowercased()
    func isLetter(_ byte: UInt8) -> Bool { (97...122).contains(byte) }
    guard isLetter(scheme.utf8.first!) else { return nil }
    let isScheme = scheme.utf8.allSatisfy { byte in
        isLetter(byte) || (48...57).contains(byte) || [43, 45, 46].contains(byte)
    }
    return isScheme ? scheme : nil
}
