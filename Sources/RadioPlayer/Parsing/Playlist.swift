import AudioCapturing
import HTTPTransport

/// A playlist in place of a stream: PLS or M3U.
package struct Playlist: Sendable, Hashable {
    /// How a playlist is written.
    package enum Kind: Sendable, Hashable {
        case pls, m3u
    }

    /// The addresses, in order; at most ``maximumEntries``.
    package let entries: [String]

    /// A longer one is no playlist of a radio.
    package static let maximumBytes = 64 * 1024
    private static let maximumEntries = 32

    /// The kind of a response; nil when it is no playlist. The type decides, then the extension of the address where the
    /// type says nothing, then how the body begins.
    ///
    /// - Parameters:
    ///   - contentType: as in `audio/x-scpls`, in lower case; empty when there is none.
    ///   - url: the address of the response.
    ///   - body: its first bytes.
    package static func kind(contentType: String, url: String, body: UnsafeRawBufferPointer) -> Kind? {
        if contentType.contains("scpls") || contentType == "application/pls+xml" { return .pls }
        if contentType.contains("mpegurl") { return .m3u }
        let start = body.drop { $0 <= 0x20 || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF }
        func begins(_ text: StaticString) -> Bool { ASCII.hasPrefix(Array(start.prefix(16))[...], text) }
        if begins("[playlist]") { return .pls }
        if begins("#extm3u") { return .m3u }
        guard ["", "text/plain", "application/octet-stream", "audio/unknown"].contains(contentType) else { return nil }
        // A stream may be called so as well; only text is a playlist.
        guard begins("http") || begins("#") || begins("file1") else { return nil }
        let path = url.prefix { $0 != "?" }.lowercased()
        if path.hasSuffix(".pls") { return .pls }
        return path.hasSuffix(".m3u") || path.hasSuffix(".m3u8") || contentType == "text/plain" ? .m3u : nil
    }

    /// Parses a playlist.
    ///
    /// - Parameters:
    ///   - bytes: the whole of it.
    ///   - kind: how it is written.
    ///   - base: its own address, to which relative ones refer.
    /// - Throws: `streamUnsupported` for HLS and web pages, `audioDataNotFound` for a playlist without an address.
    package init(_ bytes: [UInt8], kind: Kind, base: HTTPAddress) throws(RadioError) {
        var entries: [String] = []
        // A byte order mark is no part of the first line.
        let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
        guard bytes.first(where: { $0 > 0x20 }) != UInt8(ascii: "<") else {
            throw RadioError(
                .streamUnsupported, operation: "read the playlist", subject: base.displayName,
                message: "A web page comes in place of a playlist; give the address of the stream.")
        }
        for line in decodeICYText(bytes.filter { $0 != 0 }).split(whereSeparator: \.isNewline) {
            let line = decodeICYText(line.utf8)
            if line.hasPrefix("#EXT-X") {
                throw RadioError(
                    .streamUnsupported, operation: "read the playlist", subject: base.displayName,
                    message: "This is HLS (\(line.prefix { $0 != ":" }.prefix(40))), which is not supported; give the "
                        + "address of the station's MP3 stream.")
            }
            var entry = line
            if kind == .pls {
                guard line.lowercased().hasPrefix("file"), let equals = line.firstIndex(of: "=") else { continue }
                entry = decodeICYText(line[line.index(after: equals)...].utf8)
            } else if line.hasPrefix("#") {
                continue
            }
            guard !entry.isEmpty, entries.count < Playlist.maximumEntries else { continue }
            entries.append(Playlist.resolve(entry, base: base))
        }
        guard !entries.isEmpty else {
            throw RadioError(
                .audioDataNotFound, operation: "read the playlist", subject: base.displayName,
                message: "The playlist names no stream; give the address of the stream.")
        }
        self.entries = entries
    }

    /// The address of an entry, which may be relative to the playlist.
    static func resolve(_ entry: String, base: HTTPAddress) -> String {
        if let scheme = urlScheme(of: entry), entry.dropFirst(scheme.count).hasPrefix("://") { return entry }
        let scheme = base.isSecure ? "https:" : "http:"
        if entry.hasPrefix("//") { return scheme + entry }
        if entry.hasPrefix("/") { return base.origin + entry }
        let path = base.requestURL.dropFirst(base.origin.count).prefix { $0 != "?" }
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
        return base.origin + folder + entry
    }
}
