import HTTPTransport

/// The parsers, only for the fuzzer.
@_spi(Fuzzing)
public enum RadioParsing {
    /// A stream without its metadata.
    public struct Split: Equatable {
        /// The bytes of sound.
        public var sound: [UInt8] = []
        /// The titles.
        public var titles: [String] = []
        /// Whether all blocks were metadata.
        public var isTrusted = true
    }

    /// Splits a body that arrives in pieces.
    public static func split(_ bytes: UnsafeRawBufferPointer, interval: Int, pieceSize: Int) -> Split {
        var demuxer = ICYDemuxer(interval: interval)
        var sound: [UInt8] = []
        var titles: [String] = []
        for start in stride(from: 0, to: bytes.count, by: pieceSize) {
            let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<min(bytes.count, start + pieceSize)])
            demuxer.feed(piece) {
                sound += $0
            } metadata: { block in
                if let title = ICYMetadata(block).title { titles.append(title) }
            }
        }
        return Split(sound: sound, titles: titles, isTrusted: demuxer.isTrusted)
    }

    /// Reads the bytes as metadata and as playlists of both kinds.
    public static func readText(_ bytes: UnsafeRawBufferPointer) {
        _ = ICYMetadata(bytes)
        _ = Playlist.kind(contentType: "text/plain", url: "http://host/a.m3u", body: bytes)
        guard let base = try? HTTPAddress("http://host/list/a.pls") else { return }
        for kind in [Playlist.Kind.pls, .m3u] { _ = try? Playlist(Array(bytes), kind: kind, base: base) }
    }

    /// An address to which a playlist leads.
    public struct Destination: Sendable {
        /// The scheme and the host, as in `http://host:8000`.
        public var origin: String
        /// Whether the login of the address of the playlist goes there.
        public var getsLogin: Bool
    }

    /// The entries of the bytes as a playlist at an address, as a stream tries them, and as playlists in it lead on; also what
    /// the bytes are as sound.
    public static func follow(_ bytes: UnsafeRawBufferPointer, from address: String, isPLS: Bool) -> [Destination] {
        _ = SoundFormat.name(ofOther: bytes)
        // One that no address among the bytes states.
        let login = HTTPCredential(user: "\(UInt64.random(in: .min ... .max))", password: "password")
        guard let base = try? HTTPAddress(address),
            let found = try? Playlist(Array(bytes), kind: isPLS ? .pls : .m3u, base: base).addresses
        else { return [] }
        var candidates = RadioCandidates([base], login: login)
        var destinations: [Destination] = []
        for _ in 0..<2 {
            candidates.adopt(found)
            for _ in 0..<candidates.listedCount {
                destinations.append(
                    Destination(origin: candidates.current.origin, getsLogin: candidates.currentLogin == login))
                _ = candidates.advance()
            }
        }
        return destinations
    }
}
