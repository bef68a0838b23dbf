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
}
