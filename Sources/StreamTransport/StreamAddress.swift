import CaptureCore

/// The address of a stream over TCP: `tcp://host:port`, with `?listen` for the side that is connected to.
///
/// `tcp://0.0.0.0:9000?listen`, `tcp://[::]:0?listen=1&format=matroska`, `tcp://camera.local:9000`. The port 0 is
/// chosen by the system, when listening.
package struct StreamAddress: Sendable, Hashable {
    /// The name or number of the host, without the brackets of IPv6; empty for any, when listening.
    package var host: String
    /// 1 to 65535; 0 when listening for one that the system chooses.
    package var port: Int
    /// Whether peers connect to this address, which is one of this machine.
    package var isListening: Bool
    /// The value of `format`; nil without one.
    package var format: String?

    /// The address of a host and a port.
    package init(host: String, port: Int, isListening: Bool = false) {
        self.host = host
        self.port = port
        self.isListening = isListening
    }

    /// Parses an address.
    ///
    /// - Parameters:
    ///   - text: the address.
    ///   - operation: for errors, as in `open the stream`.
    /// - Throws: `invalidConfiguration`, with the part that is wrong.
    package init(_ text: String, operation: String) throws(CaptureError) {
        func invalid(_ message: String) -> CaptureError {
            CaptureError(.invalidConfiguration, operation: operation, subject: text, message: message)
        }
        let example = "write it as in tcp://192.168.1.5:9000, or tcp://0.0.0.0:9000?listen to be connected to"
        guard text.lowercased().hasPrefix("tcp://") else {
            throw invalid("This is not the address of a TCP stream; \(example).")
        }
        let parts = text.dropFirst(6).split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        do throws(AuthorityError) {
            (host, port) = try StreamAddress.hostAndPort(of: parts[0])
        } catch {
            throw invalid(error.message(scheme: "tcp", example: example))
        }
        isListening = false
        for option in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
            let pair = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            switch (pair[0], pair.count > 1 ? pair[1] : nil) {
            case ("listen", nil), ("listen", "1"), ("listen", "true"): isListening = true
            case ("listen", "0"), ("listen", "false"): isListening = false
            case ("format", let value?) where !value.isEmpty: format = value.lowercased()
            default:
                let guess = nearestName(to: pair[0], in: ["listen", "format"]).map { " Did you mean \($0)?" } ?? ""
                throw invalid("The option \(option) is not known.\(guess) There are listen and format=NAME.")
            }
        }
        if !isListening, self.host.isEmpty { throw invalid("The address names no host to connect to; \(example).") }
        if !isListening, port == 0 { throw invalid("Port 0 is for listening only, where the system chooses one.") }
    }

    /// As in `192.168.1.5:9000`, for messages.
    package var displayName: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

extension StreamAddress {
    /// The fault of `host:port`.
    package enum AuthorityError: Error {
        case noPort, noBrackets, portOutOfRange

        /// A sentence for the user.
        package func message(scheme: String, example: String) -> String {
            switch self {
            case .noPort: "The address has no port, or more than host and port; \(example)."
            case .noBrackets: "An IPv6 address stands in brackets, as in \(scheme)://[::1]:9000."
            case .portOutOfRange: "The port is not a number up to 65535; \(example)."
            }
        }
    }

    /// The host, without the brackets of IPv6, and the port of `host:port`; a slash may follow.
    package static func hostAndPort(of text: Substring) throws(AuthorityError) -> (host: String, port: Int) {
        var authority = text
        if authority.hasSuffix("/") { authority = authority.dropLast() }
        guard !authority.contains(where: { "/@# \t\n".contains($0) }), let colon = authority.lastIndex(of: ":") else {
            throw .noPort
        }
        var host = authority[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") || host.contains("[") {
            throw .noBrackets
        }
        let digits = authority[authority.index(after: colon)...]
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), let port = Int(digits), (0...65535).contains(port)
        else { throw .portOutOfRange }
        return (String(host), port)
    }
}

extension Duration {
    /// As in `1.5 s`, to the tenth, for messages.
    package var inSeconds: String {
        let tenths = nanoseconds / 100_000_000
        return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths.magnitude % 10) s"
    }
}
