import AudioCapturing
import HTTPTransport
import TestTools
import Testing

@testable import RadioPlayer

/// Servers as they are, on real sockets: each plays, or is refused with its reason.
@Suite(.serialized) struct QuirkTests {
    private static let clip = try! mp3(seconds: 12)
    private static let icy =
        "ICY 200 OK\r\nicy-notice1:<BR>\r\nicy-name:Fake\r\nicy-br:128\r\ncontent-type:audio/mpeg\r\n"

    /// Sends a head and the clip, until the client hangs up.
    private static func serve(_ head: String, metaInterval: Int = 0)
        -> @Sendable (QuirkServer.Request, Connection) -> Void
    {
        { request, connection in
            let wantsMetadata = request.header("Icy-MetaData") == "1" && metaInterval > 0
            var text = head
            if wantsMetadata { text += "Icy-MetaInt:\(metaInterval)\r\n" }
            guard connection.write(text + "\r\n") else { return }
            guard wantsMetadata else {
                connection.write(clip)
                return connection.awaitEnd()
            }
            for start in stride(from: 0, to: clip.count, by: metaInterval) {
                let piece = Array(clip[start..<min(clip.count, start + metaInterval)])
                guard connection.write(piece), piece.count == metaInterval else { break }
                let title =
                    start == 0
                    ? Array("StreamTitle='It's M\u{F6}tley; a test';".unicodeScalars.map { UInt8($0.value) }) : []
                let units = (title.count + 15) / 16
                connection.write([UInt8(units)] + title + [UInt8](repeating: 0, count: units * 16 - title.count))
            }
            connection.awaitEnd()
        }
    }

    /// Reads until there is a second of sound, or a failure.
    private func read(
        _ url: String, _ change: (inout RadioConfiguration) -> Void = { _ in }
    ) throws -> (reader: RadioReader, error: RadioError?) {
        var configuration = RadioConfiguration()
        configuration.noDataTimeout = .seconds(60)
        configuration.attemptsBeforeSound = 1
        change(&configuration)
        let format = AudioFormat(.float32, .stereo, sampleRate: 44_100)
        let reader = try RadioReader(url, format: format, configuration: configuration, clock: MonotonicClock())
        var failure: RadioError?
        let isOver = eventually {
            do throws(RadioError) {
                try reader.work()
                reader.wait(until: MonotonicClock().now.advanced(by: .milliseconds(20)), stop: -1)
            } catch {
                failure = error
                return true
            }
            return reader.availableFrames >= 44_100
        }
        #expect(isOver)
        return (reader, failure)
    }

    @Test(arguments: [
        ("ICY status", icy),
        ("ICY with line feeds", icy.replacing("\r\n", with: "\n")),
        ("names in mixed case", "ICY 200 OK\r\nIcy-Name:Fake\r\nCONTENT-TYPE: audio/mpeg\r\n"),
        ("blank line before the status", "\r\n" + icy),
        (
            "HTTP/1.0 of Icecast",
            "HTTP/1.0 200 OK\r\nServer: Icecast 2.4.4\r\nContent-Type: audio/mpeg\r\nicy-name:Fake\r\n"
        ),
        ("a length that is not true", "HTTP/1.0 200 OK\r\nContent-Length: 54000000\r\nicy-name:Fake\r\n"),
        ("no type", "HTTP/1.0 200 OK\r\nicy-name: Fake\r\n"),
    ])
    func `Heads of all kinds are read`(name: String, head: String) throws {
        let server = QuirkServer(Self.serve(head))
        defer { server.stop() }
        let (reader, error) = try read(server.url)
        #expect(error == nil, "\(name)")
        #expect(reader.information?.name == "Fake", "\(name)")
        #expect(reader.information?.contentLength == nil, "\(name)")
        reader.close()
        let request = try #require(server.requests.first)
        #expect(request.header("Icy-MetaData") == "1")
        #expect(request.header("User-Agent") == "swift-video-capturing")
        #expect(request.header("Range") == nil)
    }

    @Test func `Metadata in Latin-1 is taken out and read`() throws {
        let server = QuirkServer(Self.serve(Self.icy, metaInterval: 8192))
        defer { server.stop() }
        let (reader, error) = try read(server.url)
        #expect(error == nil)
        #expect(reader.statistics.damages == 0)
        var samples = [Float](repeating: 0, count: 88_200)
        _ = samples.withUnsafeMutableBufferPointer { reader.read(into: $0) }
        #expect(reader.takeTitle() == "It's Mötley; a test")
        reader.close()
    }

    @Test func `Chunks, redirects and playlists lead to the stream`() throws {
        let port = Locked(0)
        let server = QuirkServer { request, connection in
            let here = "http://127.0.0.1:\(port.withLock { $0 })"
            switch request.path {
            case "/redirect":
                connection.write("HTTP/1.1 302 Found\r\nLocation: \(here)/list.pls\r\nContent-Length: 0\r\n\r\n")
            case "/list.pls":
                let list = "[playlist]\r\nFile1=\(here)/list.m3u\r\n"
                connection.write(
                    "HTTP/1.1 200 OK\r\nContent-Type: audio/x-scpls\r\nContent-Length: \(list.utf8.count)\r\n\r\n\(list)"
                )
            case "/list.m3u":
                connection.write("HTTP/1.0 200 OK\r\nContent-Type: audio/x-mpegurl\r\n\r\n#EXTM3U\n/chunked\n")
            default:
                connection.write("HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nTransfer-Encoding: chunked\r\n\r\n")
                for start in stride(from: 0, to: Self.clip.count, by: 3000) {
                    let piece = Self.clip[start..<min(Self.clip.count, start + 3000)]
                    connection.write("\(String(piece.count, radix: 16))\r\n")
                    guard connection.write(Array(piece)), connection.write("\r\n") else { return }
                }
                connection.awaitEnd()
            }
        }
        defer { server.stop() }
        port.withLock { $0 = server.port }
        let (reader, error) = try read("http://127.0.0.1:\(server.port)/redirect")
        #expect(error == nil)
        #expect(server.requests.map(\.path).last == "/chunked")
        reader.close()
    }

    @Test(arguments: [
        ("HTTP/1.0 404 Not Found\r\n", RadioErrorCode.streamNotFound), ("HTTP/1.0 401 No\r\n", .permissionDenied),
        ("HTTP/1.1 302 Found\r\nLocation: /stream\r\nContent-Length: 0\r\n", .streamUnsupported),
        ("HTTP/1.1 302 Found\r\nLocation: ftp://a/b\r\nContent-Length: 0\r\n", .streamUnsupported),
        ("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n", .streamUnsupported),
        ("HTTP/1.0 200 OK\r\nContent-Type: audio/aacp\r\n", .streamUnsupported),
        ("HTTP/1.0 503 Full\r\n", .networkConnectionFailed),
    ])
    func `Refusals keep their reason`(head: String, code: RadioErrorCode) throws {
        let server = QuirkServer { _, connection in
            connection.write(head + "\r\n<html>no stream</html>")
        }
        defer { server.stop() }
        let (_, error) = try read(server.url)
        #expect(error?.code == code)
        #expect(error?.subject == server.url)
    }

    @Test func `The cover of a file may have megabytes`() throws {
        let cover = [UInt8](repeating: 0, count: 3 << 20)
        let size = [21, 14, 7, 0].map { UInt8(cover.count >> $0 & 127) }
        let server = QuirkServer { _, connection in
            let tag = Array("ID3".utf8) + [4, 0, 0] + size
            connection.write(
                "HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\n"
                    + "Content-Length: \(tag.count + cover.count + Self.clip.count)\r\n\r\n")
            guard connection.write(tag), connection.write(cover) else { return }
            connection.write(Self.clip)
            connection.awaitEnd()
        }
        defer { server.stop() }
        let (reader, error) = try read(server.url)
        #expect(error == nil)
        #expect(reader.availableFrames >= 44_100)
        reader.close()
    }

    @Test func `A station that sends tags without end is given up`() throws {
        let server = QuirkServer { _, connection in
            connection.write("HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n")
            let tags = [UInt8](repeating: 0, count: 16 * 1024).enumerated().map { index, _ in
                let place = index % 16
                return place < 3 ? Array("ID3".utf8)[place] : place == 3 ? 4 : place == 9 ? 6 : 0
            }
            while connection.write(tags) {}
        }
        defer { server.stop() }
        let (_, error) = try read(server.url)
        #expect(error?.code == .audioDataNotFound)
    }

    @Test func `A playlist without an address of http names itself`() throws {
        let server = QuirkServer { _, connection in
            connection.write("HTTP/1.0 200 OK\r\nContent-Type: audio/x-mpegurl\r\n\r\nfile:///etc/passwd\n")
        }
        defer { server.stop() }
        let (_, error) = try read(server.url)
        #expect(error?.code == .streamUnsupported)
        #expect(error?.subject == server.url)
    }

    @Test func `To ask what is at an address ends when it is to stop`() {
        let server = QuirkServer { _, connection in connection.awaitEnd() }
        defer { server.stop() }
        var asked = 0
        let isRadio = RadioProbe.isRadio(server.url, limit: .seconds(600)) {
            asked += 1
            return asked > 2
        }
        #expect(!isRadio && asked == 3)
    }

    @Test func `A server that sends nothing is given up`() throws {
        let server = QuirkServer { _, connection in
            connection.write("HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n")
            connection.awaitEnd()
        }
        defer { server.stop() }
        let (_, error) = try read(server.url) { $0.noDataTimeout = .milliseconds(300) }
        #expect(error?.code == .networkStalled)
    }

    @Test func `A port where no server is, and a name that is none`() throws {
        let port = try freePort()
        #expect(try read("http://127.0.0.1:\(port)/").error?.code == .networkConnectionFailed)
        #expect(try read("http://no.such.host.invalid/").error?.code == .networkConnectionFailed)
    }

    @Test func `The login is sent, and never shown`() throws {
        let server = QuirkServer { request, connection in
            guard request.header("Authorization") == "Basic Ym9iOnMzY3JldA==" else {
                connection.write("HTTP/1.0 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
                return
            }
            Self.serve(Self.icy)(request, connection)
        }
        defer { server.stop() }
        let (reader, error) = try read("http://bob:s3cret@127.0.0.1:\(server.port)/stream")
        #expect(error == nil)
        #expect(reader.information?.address.contains("s3cret") == false)
        reader.close()
        let wrong = try read("http://bob:wr0ng@127.0.0.1:\(server.port)/stream").error
        #expect(wrong?.code == .permissionDenied)
        #expect(wrong?.description.contains("wr0ng") == false)
    }

    @Test func `A file that is cut goes on where it was`() throws {
        let server = QuirkServer { request, connection in
            let start = request.header("Range").flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
            let status = start > 0 ? "206 Partial Content" : "200 OK"
            connection.write(
                "HTTP/1.0 \(status)\r\nContent-Type: audio/mpeg\r\nContent-Length: \(Self.clip.count - start)\r\n\r\n")
            connection.write(Array(Self.clip[start..<min(Self.clip.count, start + 50_000)]))
        }
        defer { server.stop() }
        let (reader, error) = try read(server.url)
        #expect(error == nil)
        var frames = 0
        var room = [Float](repeating: 0, count: 44_100)
        #expect(
            eventually {
                guard (try? reader.work()) != nil else { return true }
                frames += room.withUnsafeMutableBufferPointer { reader.read(into: $0) }
                return reader.hasEnded && reader.availableFrames == 0
            })
        // All frames of the clip, and no damage where it was cut.
        #expect(abs(frames - Parsed.frameCount(Self.clip) * 1152) < 64)
        #expect(reader.statistics.damages == 0)
        #expect(server.requests.count == (Self.clip.count + 49_999) / 50_000)
    }

    /// Reads to the end of a file.
    private func readAll(_ url: String) throws -> (seconds: Double, error: RadioError?) {
        var (reader, error) = try read(url)
        defer { reader.close() }
        var frames = 0
        var room = [Float](repeating: 0, count: 88_200)
        let isOver = eventually {
            do throws(RadioError) {
                try reader.work()
            } catch let failure {
                error = failure
                return true
            }
            frames += room.withUnsafeMutableBufferPointer { reader.read(into: $0) }
            reader.wait(until: MonotonicClock().now.advanced(by: .milliseconds(5)), stop: -1)
            return reader.hasEnded && reader.availableFrames == 0
        }
        #expect(isOver)
        return (Double(frames) / 44_100, error)
    }

    @Test(arguments: [
        ("", 12.0), ("Transfer-Encoding: chunked\r\n", 12), ("Content-Disposition: inline; filename=\"a.mp3\"\r\n", 2),
        // A station may end as early; heard twice.
        ("", 2),
    ])
    func `A file without a length ends`(lines: String, seconds: Double) throws {
        let clip = seconds == 12 ? Self.clip : try mp3(seconds: seconds)
        let server = QuirkServer { _, connection in
            connection.write("HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nConnection: close\r\n\(lines)\r\n")
            guard lines.contains("chunked") else {
                connection.write(clip)
                return
            }
            connection.write("\(String(clip.count, radix: 16))\r\n")
            connection.write(clip)
            connection.write("\r\n0\r\n\r\n")
        }
        defer { server.stop() }
        let (heard, error) = try readAll(server.url)
        #expect(error == nil)
        #expect(abs(heard - seconds * Double(server.requests.count)) < 0.3, "\(heard)")
        #expect(server.requests.count == (seconds == 2 && lines.isEmpty ? 2 : 1))
    }

    @Test(arguments: ["audio/mpegurl", "application/ogg", "text/html", "audio/aac", "video/mp4"])
    func `MP3 under another type is heard`(type: String) throws {
        let server = QuirkServer(Self.serve("HTTP/1.0 200 OK\r\nContent-Type: \(type)\r\nicy-name: Liar\r\n"))
        defer { server.stop() }
        let (reader, error) = try read(server.url)
        #expect(error == nil)
        reader.close()
    }

    @Test(
        arguments: [
            (["-c:a", "aac", "-f", "adts"], "AAC"), (["-c:a", "aac", "-f", "latm"], "AAC (LATM)"),
            (["-c:a", "mp2", "-f", "mp2"], "layer II"), (["-c:a", "libopus", "-f", "ogg"], "Ogg"),
            (["-c:a", "aac", "-f", "mpegts"], "MPEG-TS"), (["-c:a", "flac", "-f", "flac"], "FLAC"),
        ], [true, false])
    func `Another codec under the type of MP3 is named`(codec: ([String], String), isStation: Bool) throws {
        let folder = TemporaryFolder()
        let source = ["-v", "error", "-f", "lavfi", "-i", "sine=duration=4", "-b:a", "96k"]
        try run("ffmpeg", source + codec.0 + [folder.file("sound")])
        let sound = try folder.read("sound")
        let server = QuirkServer { _, connection in
            let line = isStation ? "icy-name: Liar" : "Content-Length: \(sound.count)"
            connection.write("HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\n\(line)\r\n\r\n")
            connection.write(sound)
            if isStation { connection.awaitEnd() }
        }
        defer { server.stop() }
        let (_, error) = try readAll(server.url)
        #expect(error?.code == .audioDataNotFound)
        #expect(error?.message.contains(codec.1) == true, "\(String(describing: error))")
    }

    @Test func `A file without MP3 is an error`() throws {
        let server = QuirkServer { _, connection in
            let tag = Array("ID3".utf8) + [4, 0, 0, 0, 0, 1, 0] + [UInt8](repeating: 0, count: 128)
            connection.write("HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\nContent-Length: \(tag.count)\r\n\r\n")
            connection.write(tag)
        }
        defer { server.stop() }
        #expect(try readAll(server.url).error?.code == .audioDataNotFound)
    }

    @Test func `The login is not sent to another server that a playlist names`() throws {
        let other = QuirkServer { request, connection in
            guard request.header("Authorization") == nil else { return }
            connection.write("HTTP/1.0 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
        }
        defer { other.stop() }
        let server = QuirkServer { request, connection in
            let list = request.path == "/stream" ? "http://127.0.0.1:\(other.port)/evil\n/own\n" : nil
            guard let list else {
                guard request.header("Authorization") == "Basic Ym9iOnMzY3JldA==" else {
                    connection.write("HTTP/1.0 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\n\r\n")
                    return
                }
                return Self.serve(Self.icy)(request, connection)
            }
            connection.write("HTTP/1.0 200 OK\r\nContent-Type: audio/x-mpegurl\r\n\r\n\(list)")
        }
        defer { server.stop() }
        let (reader, error) = try read("http://127.0.0.1:\(server.port)/stream") {
            $0.credential = HTTPCredential(user: "bob", password: "s3cret")
        }
        #expect(error == nil)
        reader.close()
        #expect(other.requests.count == 1 && other.requests.allSatisfy { $0.header("Authorization") == nil })
        #expect(server.requests.map(\.path) == ["/stream", "/own", "/own"])
    }
}
