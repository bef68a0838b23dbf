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
    /// Its own address or path, for errors.
    private let name: String?

    /// Of a longer one only the beginning is read.
    package static let maximumBytes = 64 * 1024
    private static let maximumEntries = 32

    /// The kind of a response; nil when it is not a playlist. The type decides, then the extension of the address where the
    /// type says nothing, then how the body begins.
    ///
    /// - Parameters:
    ///   - contentType: as in `audio/x-scpls`, in lower case; empty without one.
    ///   - url: the address of the response.
    ///   - body: its first bytes.
    package static func kind(contentType: String, url: String, body: UnsafeRawBufferPointer) -> Kind? {
        if contentType.contains("scpls") || contentType == "application/pls+xml" { return .pls }
        if contentType.contains("mpegurl") { return .m3u }
        let start = body.drop { $0 <= 0x20 || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF }
        func begins(_ text: StaticString) -> Bool { ASCII.hasPrefix(Array(start.prefix(16))[...], text) }
        if begins("[playlist]") { return .pls }
        if begins("#extm3u") { return .m3u }
        let vague = ["", "text/plain", "text/html", "application/octet-stream", "audio/unknown"]
        guard vague.contains(contentType) else { return nil }
        // A stream may be called so as well; only text is a playlist.
        guard begins("http") || begins("#") || begins("file1") else { return nil }
        let path = url.prefix { $0 != "?" }.lowercased()
        if path.hasSuffix(".pls") { return .pls }
        return path.hasSuffix(".m3u") || path.hasSuffix(".m3u8") || contentType == "text/plain" ? .m3u : nil
    }

    /// Parses a playlist.
    ///
    /// - Parameters:
    ///   - bytes: the whole of it, or more than ``maximumBytes``.
    ///   - kind: how it is written.
    ///   - base: its own address, to which relative ones refer; nil for a file, whose relative entries are other files.
    ///   - name: its own name, for errors; nil for that of the base.
    /// - Throws: `streamUnsupported` for HLS and web pages, `audioDataNotFound` for a playlist without an address.
    package init(_ bytes: [UInt8], kind: Kind, base: HTTPAddress?, name: String? = nil) throws(RadioError) {
        var entries: [String] = []
        let name = name ?? base?.displayName
        // A byte order mark is no part of the first line.
        var bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
        if bytes.count > Playlist.maximumBytes - 3, let end = bytes.lastIndex(of: ASCII.newline) {
            // The last line may be cut.
            bytes = bytes[...end]
        }
        guard bytes.first(where: { $0 > 0x20 }) != UInt8(ascii: "<") else {
            throw RadioError(
                .streamUnsupported, operation: "read the playlist", subject: name,
                message: "The server sent a web page, not a playlist; give the address of the stream.")
        }
        for line in decodeICYText(bytes.filter { $0 != 0 }).split(whereSeparator: \.isNewline) {
            let line = decodeICYText(line.utf8)
            if line.hasPrefix("#EXT-X") {
                throw RadioError(
                    .streamUnsupported, operation: "read the playlist", subject: name,
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
            if let base { entry = Playlist.resolve(entry, base: base) }
            entries.append(entry)
        }
        guard !entries.isEmpty else {
            throw RadioError(
                .audioDataNotFound, operation: "read the playlist", subject: name,
                message: "The playlist names no stream; give the address of the stream.")
        }
        self.entries = entries
        self.name = name
    }

    /// The addresses that can be read.
    ///
    /// - Throws: `streamUnsupported` when no entry can be read.
    package var addresses: [HTTPAddress] {
        get throws(RadioError) {
            let found = entries.compactMap { try? RadioStream.address($0) }
            guard found.isEmpty else { return found }
            throw RadioError(
                .streamUnsupported, operation: "read the playlist", subject: name,
                message: "The playlist names no stream over http or https; give the address of one.")
        }
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
