import CLibCURL
import CaptureCore

/// The parsed address of a stream. Its password is passed only to curl's option for it.
package struct HTTPAddress: Sendable {
    /// The URL for curl: without user name, password and fragment, with special characters percent-encoded.
    package let requestURL: String
    /// The URL for display: also without the values of parameters that are named like passwords.
    package let displayName: String
    /// User name and password in the address, decoded.
    package let credential: HTTPCredential?
    /// The server's name or address, with the port if one is given.
    package let host: String
    /// The scheme and the host, as in `http://camera:8080`.
    package let origin: String
    package let isSecure: Bool

    /// Whether credentials for this address may be sent to the other one.
    package func isSameServer(as other: HTTPAddress) -> Bool {
        func place(_ address: HTTPAddress) -> String {
            let host = address.host.lowercased()
            let port = address.isSecure ? ":443" : ":80"
            return host.hasSuffix(port) ? String(host.dropLast(port.count)) : host
        }
        return isSecure == other.isSecure && place(self) == place(other)
    }

    /// Whether it is this machine.
    package var isLoopback: Bool {
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" }.dropFirst() : host.prefix { $0 != ":" }
        return name == "::1" || name.lowercased() == "localhost"
            // A name such as `127.0.0.1.example.com` is another machine.
            || name.hasPrefix("127.") && name.utf8.allSatisfy { ASCII.isDigit($0) || $0 == UInt8(ascii: ".") }
    }

    /// The address that a reference in a response means, such as a relative `Location` (RFC 3986, section 5); nil for one
    /// that is neither http nor https.
    package func resolving(_ reference: String) -> HTTPAddress? {
        guard let url = curl_url() else { return nil }
        defer { curl_url_cleanup(url) }
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_set(url, CURLUPART_URL, requestURL, 0) == CURLUE_OK,
            curl_url_set(url, CURLUPART_URL, reference, UInt32(CURLU_URLENCODE)) == CURLUE_OK,
            curl_url_get(url, CURLUPART_URL, &text, 0) == CURLUE_OK, let text
        else { return nil }
        defer { curl_free(text) }
        return try? HTTPAddress(String(cString: text))
    }

    package init(_ url: String) throws(CaptureError) {
        let text = Array(url.utf8)
        guard !text.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw HTTPAddress.error("It has control characters")
        }
        guard let scheme = urlScheme(of: url), url.dropFirst(scheme.count).hasPrefix("://") else {
            throw HTTPAddress.error("It has no scheme")
        }
        guard scheme == "http" || scheme == "https" else {
            throw CaptureError(
                .invalidConfiguration, operation: "read the address",
                message:
                    "Streams are read over http and https, not over \(scheme); give an address that begins with http://."
            )
        }
        let rest = text[(scheme.utf8.count + 3)...]
        let authorityEnd = rest.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
        let authority = rest[..<authorityEnd]
        let at = authority.lastIndex(of: UInt8(ascii: "@"))
        let hostText = at.map { authority[($0 + 1)...] } ?? authority
        guard HTTPAddress.isHost(hostText) else {
            throw HTTPAddress.error("It has no host, or one that cannot be")
        }
        credential = at.map { HTTPAddress.credential(authority[..<$0]) }
        host = String(decoding: hostText, as: UTF8.self)
        isSecure = scheme == "https"
        let target = rest[authorityEnd...].prefix { $0 != UInt8(ascii: "#") }
        origin = "\(scheme)://\(host)"
        // Blanks and non-ASCII characters are encoded, as browsers do.
        requestURL = origin + percentEncoded(target) { $0 != ASCII.space && $0 < 0x80 }
        displayName = origin + HTTPAddress.masked(String(decoding: target, as: UTF8.self))
    }

    /// A name, an IPv4 address, or an IPv6 address in brackets; and a port.
    private static func isHost(_ text: ArraySlice<UInt8>) -> Bool {
        guard let first = text.first, first != ASCII.colon else { return false }
        var port = text
        if first == UInt8(ascii: "[") {
            guard let end = text.firstIndex(of: UInt8(ascii: "]")) else { return false }
            port = text[(end + 1)...]
            guard port.isEmpty || port.first == ASCII.colon else { return false }
        } else {
            guard !text.contains(where: { "[]@\\ \"<>^`{|}".utf8.contains($0) }) else { return false }
            port = text[(text.firstIndex(of: ASCII.colon) ?? text.endIndex)...]
        }
        let digits = port.dropFirst()
        return digits.allSatisfy(ASCII.isDigit) && (digits.isEmpty || (1...65535).contains(ASCII.number(digits) ?? 0))
    }

    private static func credential(_ text: ArraySlice<UInt8>) -> HTTPCredential {
        let colon = text.firstIndex(of: ASCII.colon)
        return HTTPCredential(
            user: percentDecoded(text[..<(colon ?? text.endIndex)]),
            password: percentDecoded(colon.map { text[($0 + 1)...] } ?? []))
    }

    /// `/video?user=…&size=2`: cameras take passwords as parameters too.
    private static func masked(_ target: String) -> String {
        guard let mark = target.firstIndex(of: "?") else { return target }
        let parameters = target[target.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        let shown = parameters.map { parameter -> String in
            guard let equals = parameter.firstIndex(of: "=") else { return String(parameter) }
            let name = parameter[..<equals].lowercased()
            let isSecret = [
                "us", "pass", "pw", "pd", "auth", "token", "key", "secret", "login", "sid", "session", "sig",
            ]
            .contains { name.contains($0) }
            return isSecret ? parameter[...equals] + "…" : String(parameter)
        }
        return target[...mark] + shown.joined(separator: "&")
    }

    private static func error(_ reason: String) -> CaptureError {
        // The address itself is not shown, since it may hold a password that was not found.
        CaptureError(
            .invalidConfiguration, operation: "read the address",
            message: "The address cannot be read. \(reason); write http://host:port/path, and a name and a password "
                + "before the host as user:password@, with special characters percent-encoded (@ as %40, / as %2F).")
    }
}
