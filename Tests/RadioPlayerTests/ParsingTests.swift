import AudioCapturing
import HTTPTransport
import TestTools
import Testing

@testable import RadioPlayer

@Suite struct ICYTests {
    private struct Split {
        var sound: [UInt8] = []
        var blocks: [String] = []
        var isTrusted = true

        init(_ bytes: [UInt8], interval: Int?, piece: Int) {
            var demuxer = ICYDemuxer(interval: interval)
            var (sound, blocks) = ([UInt8](), [String]())
            for start in stride(from: 0, to: bytes.count, by: piece) {
                bytes[start..<min(bytes.count, start + piece)].withUnsafeBytes { part in
                    demuxer.feed(part) {
                        sound += $0
                    } metadata: {
                        blocks.append(decodeICYText($0))
                    }
                }
            }
            (self.sound, self.blocks, isTrusted) = (sound, blocks, demuxer.isTrusted)
        }
    }

    private static func block(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        let units = (bytes.count + 15) / 16
        return [UInt8(units)] + bytes + [UInt8](repeating: 0, count: units * 16 - bytes.count)
    }

    @Test(arguments: [1, 3, 17, 100, 5000])
    func `Metadata is taken out, however the stream is cut`(piece: Int) {
        let sound = (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let texts = ["StreamTitle='One';", "", "StreamTitle='Two';StreamUrl='http://a';"]
        var stream: [UInt8] = []
        for (index, text) in texts.enumerated() {
            stream += sound[(index * 1000)..<((index + 1) * 1000)] + Self.block(text)
        }
        let split = Split(stream, interval: 1000, piece: piece)
        #expect(split.sound == sound)
        #expect(split.blocks == [texts[0], texts[2]])
        #expect(split.isTrusted)
    }

    @Test(arguments: [1, 999, 5000])
    func `A wrong interval loses no byte of the sound`(piece: Int) {
        // Never 0 where a block is expected, and no text behind.
        let sound = (0..<9000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 3) | 1 }
        let split = Split(sound, interval: 1000, piece: piece)
        #expect(split.sound == sound)
        #expect(split.blocks.isEmpty && !split.isTrusted)
    }

    @Test(arguments: [nil, 0, -5]) func `Without an interval all is sound`(interval: Int?) {
        let sound = (0..<100).map { UInt8($0) }
        #expect(Split(sound, interval: interval, piece: 7).sound == sound)
    }

    @Test(
        arguments: [
            ("StreamTitle='Artist - Song';", "Artist - Song", nil),
            ("StreamTitle='It's a; test's end';StreamUrl='';", "It's a; test's end", ""),
            ("StreamTitle='a';b';StreamUrl='http://x/';", "a';b", "http://x/"),
            ("streamtitle='lower';", "lower", nil),
            ("StreamTitle='';", "", nil),
            ("StreamTitle='cut off", "cut off", nil),
            ("StreamTitle='no semicolon'", "no semicolon", nil),
            ("StreamTitle='x';adw_ad='true';durationMilliseconds='3';", "x", nil),
            ("StreamUrl='u';StreamTitle='last';", "last", "u"),
            ("nothing", nil, nil),
            ("StreamTitle='  blanks  ';", "blanks", nil),
        ] as [(String, String?, String?)])
    func `Titles are read with quotes and semicolons inside`(text: String, title: String?, url: String?) {
        let metadata = Array(text.utf8).withUnsafeBytes { ICYMetadata($0) }
        #expect(metadata.title == title)
        #expect(metadata.url == url)
    }

    @Test func `Text is UTF-8 or else Windows-1252`() {
        #expect(decodeICYText("Motörhead — Überfall".utf8) == "Motörhead — Überfall")
        #expect(decodeICYText([0x4D, 0x6F, 0x74, 0xF6, 0x72]) == "Motör")
        #expect(decodeICYText([0x93, 0x80, 0x94, 0x85]) == "“€”…")
        #expect(decodeICYText([0xC4, 0xD6, 0xDC] + Array(" Radio".utf8)) == "ÄÖÜ Radio")
    }

    @Test func `Cyrillic text is Windows-1251 or KOI8-R`() throws {
        for text in ["Привет", "Кино - Группа крови (live)", "ЁЛКА - НА БОЛЬШОМ ВОЗДУШНОМ ШАРЕ", "Земфира – Искала"] {
            for charset in ["windows-1251", "koi8-r"] where charset == "windows-1251" || text.contains("р") {
                let folder = TemporaryFolder()
                let source = text.replacing("–", with: "-")
                let path = try folder.write(Array(source.utf8), to: "a")
                let bytes = try run("iconv", ["-f", "utf-8", "-t", charset, path])
                #expect(decodeICYText(bytes) == source, "\(charset)")
            }
        }
    }
}

@Suite struct PlaylistTests {
    static let base = try! HTTPAddress("http://radio.example:8000/lists/a.pls?x=1")

    private func entries(_ text: String, _ kind: Playlist.Kind) throws -> [String] {
        try Playlist(Array(text.utf8), kind: kind, base: Self.base).entries
    }

    private func kind(_ type: String, _ url: String, _ body: String) -> Playlist.Kind? {
        Array(body.utf8).withUnsafeBytes { Playlist.kind(contentType: type, url: url, body: $0) }
    }

    @Test func `Playlists are known by type, extension and content`() {
        #expect(kind("audio/x-scpls", "http://a/b", "") == .pls)
        #expect(kind("audio/x-mpegurl", "http://a/b", "") == .m3u)
        #expect(kind("application/vnd.apple.mpegurl", "http://a/b", "") == .m3u)
        #expect(kind("text/plain", "http://a/b.pls", "File1=http://x") == .pls)
        #expect(kind("", "http://a/b.m3u?x", "http://x") == .m3u)
        #expect(kind("audio/mpeg", "http://a/b", "#EXTM3U\nhttp://x") == .m3u)
        #expect(kind("text/html", "http://a/b", "\u{FEFF}\n[playlist]\n") == .pls)
        #expect(kind("audio/mpeg", "http://a/b.mp3", "ID3") == nil)
        // A stream whose address looks like a list.
        #expect(kind("audio/mpeg", "http://a/b.m3u", "\u{7F}ÿû") == nil)
    }

    @Test func `Entries are read and made whole`() throws {
        #expect(
            try entries("[playlist]\r\nNumberOfEntries=2\r\nFile1=http://x:1/a\r\nTitle1=T\r\nFile2 = b.mp3\r\n", .pls)
                == ["http://x:1/a", "http://radio.example:8000/lists/b.mp3"])
        #expect(
            try entries("#EXTM3U\n#EXTINF:-1,Name\n/live\n\n//other/x\nhttps://s/y\n", .m3u)
                == ["http://radio.example:8000/live", "http://other/x", "https://s/y"])
        #expect(try entries("\u{FEFF}#EXTM3U\r\nlive\r\n", .m3u) == ["http://radio.example:8000/lists/live"])
    }

    @Test func `HLS is refused by its name, and an empty list for what it is`() {
        let hls = #expect(throws: RadioError.self) { try entries("#EXTM3U\n#EXT-X-VERSION:3\na.ts\n", .m3u) }
        #expect(hls?.code == .streamUnsupported)
        #expect(hls?.message.contains("HLS") == true)
        let page = #expect(throws: RadioError.self) { try entries("\n<!DOCTYPE html><html>no</html>", .m3u) }
        #expect(page?.message.contains("web page") == true)
        let empty = #expect(throws: RadioError.self) { try entries("[playlist]\nTitle1=x\n", .pls) }
        #expect(empty?.code == .audioDataNotFound)
    }

    @Test func `One line as a web page, and the beginning of a long list, are read`() throws {
        #expect(kind("text/html", "http://a/b.m3u", "http://x\r\n") == .m3u)
        #expect(kind("text/html", "http://a/b", "<html>") == nil)
        let list = (0..<3000).map { "#EXTINF:-1,Station \($0)\nhttp://host/stream\($0)\n" }.joined()
        let found = try entries("#EXTM3U\n" + list, .m3u)
        #expect(found.count == 32 && found.first == "http://host/stream0")
        // The last line may be cut.
        let long = String(repeating: "#\n", count: 32 * 1024 - 16) + "http://host/whole\nhttp://host/cut"
        #expect(try entries(String(long.prefix(Playlist.maximumBytes + 1)), .m3u) == ["http://host/whole"])
    }

    @Test func `A playlist in a file names streams on servers`() throws {
        let folder = TemporaryFolder()
        try folder.write(Array("\u{FEFF}#EXTM3U\r\nsong.mp3\r\nhttp://x/a\r\n".utf8), to: "a.m3u")
        try folder.write(Array("[playlist]\nFile1=http://x/b\n".utf8), to: "b.pls")
        #expect(try Playlist(ofFile: folder.file("a.m3u")).addresses.map(\.requestURL) == ["http://x/a"])
        #expect(try Playlist(ofFile: folder.file("b.pls")).addresses.map(\.requestURL) == ["http://x/b"])
        let missing = #expect(throws: RadioError.self) { try Playlist(ofFile: folder.file("c.pls")) }
        #expect(missing?.code == .streamNotFound && missing?.systemError != nil)
        #expect(Playlist.isPath("a.m3u") && Playlist.isPath("A.PLS"))
        #expect(!Playlist.isPath("http://x/a.m3u") && !Playlist.isPath("a.mp3"))
    }
}

@Suite struct RadioCandidatesTests {
    /// Every pair of a given address and an entry.
    @Test func `A login goes only to the server that it was given for`() throws {
        let servers = [
            "http://host", "https://host", "http://host:80", "https://host:443", "http://HOST", "http://host:8000",
            "http://other", "http://host.other", "http://host@other", "http://u:p@host", "http://127.0.0.1",
            "http://localhost",
        ]
        let login = HTTPCredential(user: "bob", password: "s3cret")
        for given in try servers.map({ try HTTPAddress($0 + "/list.m3u") }) {
            for entry in try servers.map({ try HTTPAddress($0 + "/stream") }) {
                for isNested in [false, true] {
                    var candidates = RadioCandidates([given], login: login)
                    #expect(candidates.currentLogin == login)
                    if isNested { candidates.adopt([try HTTPAddress("http://other/nested.m3u"), given]) }
                    candidates.adopt([entry])
                    let sent = candidates.currentLogin
                    let isSame = entry.isSecure == given.isSecure && entry.isSameServer(as: given)
                    #expect(sent == (isSame ? login : entry.credential), "\(given.origin) \(entry.origin)")
                    #expect(candidates.current.requestURL == entry.requestURL)
                }
            }
        }
    }

    @Test func `Entries are dropped down to the last, and nested ones take the place of theirs`() throws {
        func address(_ name: String) throws -> HTTPAddress { try HTTPAddress("http://host/\(name)") }
        var candidates = RadioCandidates([try address("list")], login: nil)
        let droppedOnly = candidates.dropCurrent()
        #expect(!droppedOnly)
        candidates.adopt([try address("a"), try address("b")])
        let dropped = candidates.dropCurrent()
        #expect(dropped && candidates.current.requestURL.hasSuffix("/b"))
        candidates.adopt([try address("c"), try address("d")])
        #expect(candidates.entryCount == 2 && candidates.listedCount == 3)
        let isRoundOver = [candidates.advance(), candidates.advance()]
        #expect(isRoundOver == [false, true])
        let droppedPlaylist = candidates.dropCurrent()
        #expect(candidates.isAtPlaylist && !droppedPlaylist)
        for _ in 0..<100 { candidates.adopt([try address("x")]) }
        #expect(candidates.entryCount == 1)
    }
}
