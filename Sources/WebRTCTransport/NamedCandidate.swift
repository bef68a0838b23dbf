import CaptureCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A candidate whose address is a host name (RFC 8839, 5.1), which libnice does not take.
struct NamedCandidate: Sendable {
    private let words: [Substring]
    private var name: String { String(words[4]) }

    /// The addresses of one name that are used.
    private static let maximumAddresses = 4

    /// - Parameter line: as in `candidate:1 1 udp 2130706431 media.example 40000 typ host`.
    /// - Returns: nil for an address, for TCP, and for a name of `.local`, behind which browsers hide their addresses.
    init?(_ line: String) {
        words = line.split(separator: " ")
        guard words.count >= 8, words[2].lowercased() == "udp" else { return nil }
        let name = words[4].lowercased()
        guard name.contains(where: \.isLetter), !name.contains(":"), name.utf8.count <= 253, !name.hasSuffix(".local"),
            !name.hasSuffix(".local.")
        else { return nil }
    }

    /// Looks the name up, which may take many seconds.
    ///
    /// - Returns: the candidate with each of the addresses; none for an unknown name.
    func resolve() -> [String] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &found) == 0 else { return [] }
        defer { freeaddrinfo(found) }
        var lines: [String] = []
        var next = found
        while let entry = next, lines.count < NamedCandidate.maximumAddresses {
            next = entry.pointee.ai_next
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard
                getnameinfo(
                    entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0,
                    NI_NUMERICHOST) == 0
            else { continue }
            var words = self.words.map { String($0) }
            words[4] = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            lines.append(words.joined(separator: " "))
        }
        return lines
    }
}
