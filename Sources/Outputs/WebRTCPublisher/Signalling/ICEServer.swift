import HTTPTransport

/// A STUN or TURN server. Its description shows neither name nor password.
package struct ICEServer: Sendable, Hashable {
    package enum Transport: Sendable, Hashable { case udp, tcp, tls }

    /// Whether it relays (TURN), and does not only report addresses (STUN).
    package var isRelay: Bool
    /// A name or an address, without brackets.
    package var host: String
    package var port: UInt16
    package var transport: Transport
    package var username = ""
    package var password = ""

    /// Reads a URI of RFC 7064 or RFC 7065, as in `turns:host:443?transport=tcp`; nil for any other.
    package init?(uri: String, username: String = "", password: String = "") {
        guard uri.utf8.count <= 512, let colon = uri.firstIndex(of: ":") else { return nil }
        let scheme = uri[..<colon].lowercased()
        guard ["stun", "stuns", "turn", "turns"].contains(scheme) else { return nil }
        isRelay = scheme.hasPrefix("turn")
        let isSecure = scheme.hasSuffix("s")
        let parts = uri[uri.index(after: colon)...].split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let place = ICEServer.place(parts[0]) else { return nil }
        host = place.host
        port = place.port ?? (isSecure ? 5349 : 3478)
        switch parts.count > 1 ? parts[1].lowercased() : "" {
        // Without TLS nothing is sent to a TURN server that asks for it; DTLS to TURN is not known to libnice.
        case "": transport = isSecure ? .tls : .udp
        case "transport=udp" where !isSecure: transport = .udp
        case "transport=tcp": transport = isSecure ? .tls : .tcp
        default: return nil
        }
        self.username = username
        self.password = password
    }

    /// `host`, `host:port` or `[address]:port`.
    private static func place(_ text: Substring) -> (host: String, port: UInt16?)? {
        var host = text
        var rest = Substring()
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            rest = text[text.index(after: end)...]
            guard host.utf8.allSatisfy({ ASCII.isDigit($0) || ASCII.isLetter($0) || ":.%".utf8.contains($0) }) else {
                return nil
            }
        } else {
            host = text.prefix { $0 != ":" }
            rest = text[host.endIndex...]
            guard host.utf8.allSatisfy({ ASCII.isDigit($0) || ASCII.isLetter($0) || "-._".utf8.contains($0) }) else {
                return nil
            }
        }
        guard !host.isEmpty else { return nil }
        if rest.isEmpty { return (String(host), nil) }
        guard rest.hasPrefix(":"), let port = UInt16(rest.dropFirst()), port > 0 else { return nil }
        return (String(host), port)
    }
}

extension ICEServer: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(isRelay ? "TURN" : "STUN") at \(host):\(port)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension ICEServer {
    /// The most that are taken of a response.
    static let maximumCount = 16

    /// Reads the values of `Link` headers (RFC 8288) with the relation `ice-server` (RFC 9725, section 4.6).
    ///
    /// Links that are not understood are left out: a server may name kinds of which this client knows nothing.
    package static func servers(inLinks values: [String]) -> [ICEServer] {
        var servers: [ICEServer] = []
        for value in values {
            var rest = Array(value.utf8)[...]
            while let link = Link(&rest), servers.count < maximumCount {
                let relations = (link["rel"] ?? "").lowercased().split(separator: " ")
                let kind = (link["credential-type"] ?? "password").lowercased()
                guard relations.contains("ice-server"), kind == "password",
                    let server = ICEServer(
                        uri: link.target, username: link["username"] ?? "", password: link["credential"] ?? ""),
                    !server.isRelay || !server.username.isEmpty
                else { continue }
                servers.append(server)
            }
        }
        return servers
    }

    /// `<uri>; name=value; name="quoted"`, up to a comma.
    private struct Link {
        var target = ""
        private var parameters: [(name: String, value: String)] = []

        /// Takes the next link of a header's value; nil at its end, or where it is damaged.
        init?(_ rest: inout ArraySlice<UInt8>) {
            func skip(_ isSkipped: (UInt8) -> Bool) { rest = rest.drop(while: isSkipped) }
            skip { ASCII.isBlank($0) || $0 == UInt8(ascii: ",") }
            guard rest.popFirst() == UInt8(ascii: "<"), let end = rest.firstIndex(of: UInt8(ascii: ">")) else {
                return nil
            }
            target = String(decoding: ASCII.trimmed(rest[..<end]), as: UTF8.self)
            rest = rest[(end + 1)...]
            while true {
                skip(ASCII.isBlank)
                guard let separator = rest.first else { return }
                guard separator == ASCII.semicolon else {
                    // A comma, or garbage up to one.
                    skip { $0 != UInt8(ascii: ",") }
                    return
                }
                rest = rest.dropFirst()
                skip(ASCII.isBlank)
                let name = rest.prefix { ASCII.isLetter($0) || ASCII.isDigit($0) || $0 == ASCII.dash || $0 == 0x2A }
                rest = rest[name.endIndex...]
                skip(ASCII.isBlank)
                var value = ""
                if rest.first == ASCII.equals {
                    rest = rest.dropFirst()
                    skip(ASCII.isBlank)
                    value = Link.value(&rest)
                }
                // The first of a name counts (RFC 8288, section 3).
                parameters.append((String(decoding: name.map(ASCII.lowercased), as: UTF8.self), value))
            }
        }

        subscript(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

        private static func value(_ rest: inout ArraySlice<UInt8>) -> String {
            guard rest.first == ASCII.quote else {
                let token = rest.prefix { !ASCII.isBlank($0) && $0 != ASCII.semicolon && $0 != UInt8(ascii: ",") }
                rest = rest[token.endIndex...]
                return String(decoding: token, as: UTF8.self)
            }
            rest = rest.dropFirst()
            var text: [UInt8] = []
            while let byte = rest.popFirst(), byte != ASCII.quote {
                text.append(byte == ASCII.backslash ? rest.popFirst() ?? byte : byte)
            }
            return String(decoding: text, as: UTF8.self)
        }
    }
}
