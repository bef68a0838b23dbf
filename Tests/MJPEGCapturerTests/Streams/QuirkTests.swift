import CapturerTestKit
import MJPEGCapturer
import TestTools
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// Each quirk over a real connection. The clock stands still, so that no picture is ever too old.
@Suite struct QuirkTests {
    private func numbers(
        _ expected: [Int], from server: QuirkServer, _ configuration: MJPEGCapturer.Configuration = .test()
    ) throws -> [Int?] {
        defer { server.stop() }
        let consumer = RecordingConsumer()
        let capture = MJPEGCapturer(url: server.url, configuration: configuration, clock: VirtualClock())
        capture.videoCaptureConsumer = consumer
        try capture.play()
        #expect(consumer.waitForFrames(expected.count))
        capture.releaseCapture()
        return consumer.frames.map(\.number)
    }

    /// The last picture comes although nothing follows it, and the connection stays open.
    @Test(arguments: Quirk.all)
    func takesStream(_ quirk: Quirk) throws {
        let server = QuirkServer { request, connection in
            connection.write("HTTP/1.0 200 OK\r\nContent-Type: \(quirk.contentType)\r\n\r\n")
            connection.write(quirk.body)
            connection.awaitEnd()
        }
        // A stream that has ended is not asked for again, since that would begin with the first picture.
        let configuration = MJPEGCapturer.Configuration.test { $0.reconnect = .never }
        #expect(try numbers(quirk.expected, from: server, configuration) == quirk.expected)
    }

    /// Most of it is received without curl then.
    @Test(arguments: Quirk.all)
    func takesStreamInPieces(_ quirk: Quirk) throws {
        let server = QuirkServer { _, connection in
            connection.write("HTTP/1.0 200 OK\r\nContent-Type: \(quirk.contentType)\r\n\r\n")
            let step = max(1, quirk.body.count / 12)
            for start in stride(from: 0, to: quirk.body.count, by: step) {
                connection.write(Array(quirk.body[start..<min(quirk.body.count, start + step)]))
                usleep(2000)
            }
            connection.awaitEnd()
        }
        // A stream that has ended is not asked for again, since that would begin with the first picture.
        let configuration = MJPEGCapturer.Configuration.test { $0.reconnect = .never }
        #expect(try numbers(quirk.expected, from: server, configuration) == quirk.expected)
    }

    @Test(arguments: [
        "ICY 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=frame\r\n\r\n",
        "HTTP/1.1 200\r\nContent-Type: multipart/x-mixed-replace; boundary=frame\r\nContent-Length: 9999999\r\n\r\n",
        "HTTP/1.0 200 OK\nContent-Type: multipart/x-mixed-replace;boundary=frame\n\n",
        "HTTP/1.0 200 OK\r\nServer : x\r\nCache-Control: no-cache\r\nContent-Type:multipart/x-mixed-replace;boundary=frame\r\n\r\n",
        "HTTP/1.0 200 OK\r\nno colon here\r\nContent-Type: multipart/x-mixed-replace;boundary=frame\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=frame\r\nConnection: Keep-Alive\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 700\r\nContent-Type: multipart/x-mixed-replace;boundary=frame\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        "",
    ])
    func takesHead(_ head: String) throws {
        let server = QuirkServer { _, connection in
            connection.write(head)
            connection.write(Quirk.parts(Quirk.usual()))
            connection.awaitEnd()
        }
        #expect(try numbers([0, 1, 2, 3], from: server) == [0, 1, 2, 3])
    }

    /// Asked for a single picture of a camera that is away, its `nph-zms` prints the head of a part in that of the answer.
    @Test func takesZoneMindersPictureWithoutACamera() throws {
        let server = QuirkServer { _, connection in
            connection.write(
                "HTTP/1.0 200 OK\r\nServer: ZoneMinder Video Server/1.36.33\r\nPragma: no-cache\r\n--ZoneMinderFrame\r\n"
                    + "Content-Type: image/jpeg\r\nContent-Length: \(picture(1).count)\r\n\r\n")
            connection.write(picture(1))
        }
        let configuration = MJPEGCapturer.Configuration.test { $0.pollInterval = .milliseconds(10) }
        let found = try numbers([1, 1, 1], from: server, configuration)
        #expect(found.count >= 3 && found.allSatisfy { $0 == 1 })
    }

    /// As curl's reader of heads would not have it, with a password.
    @Test func takesHeadWithoutColonsAndAPassword() throws {
        let server = QuirkServer { request, connection in
            let isRight = request.header("Authorization") == "Basic dTpw"
            connection.write(
                isRight ? "HTTP/1.0 200 OK\nhello\n" : "HTTP/1.0 401 No\nhello\nWWW-Authenticate: Basic realm=x\n")
            connection.write("Content-Type: multipart/x-mixed-replace;boundary=frame\n\n")
            if isRight { connection.write(Quirk.parts(Quirk.usual())) }
            if isRight { connection.awaitEnd() }
        }
        let configuration = MJPEGCapturer.Configuration.test {
            $0.credential = MJPEGCapturer.Credential(user: "u", password: "p")
        }
        #expect(try numbers([0, 1, 2, 3], from: server, configuration) == [0, 1, 2, 3])
    }

    @Test func takesChunks() throws {
        let server = QuirkServer { _, connection in
            connection.write(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: multipart/x-mixed-replace; boundary=frame\r\n\r\n"
            )
            let body = Quirk.parts(Quirk.usual())
            for start in stride(from: 0, to: body.count, by: 100) {
                let chunk = body[start..<min(body.count, start + 100)]
                connection.write("\(String(chunk.count, radix: 16))\r\n")
                connection.write(chunk + Array("\r\n".utf8))
            }
            connection.awaitEnd()
        }
        #expect(try numbers([0, 1, 2, 3], from: server) == [0, 1, 2, 3])
    }

    /// While no picture is delivered, and at a stop: those that cannot be decoded, and those that are cut off.
    @Test(arguments: [10, 40]) func countsDamageAfterThePictures(missing: Int) throws {
        var broken = picture(1)
        broken.removeSubrange((broken.count - missing)..<(broken.count - (missing == 10 ? 2 : 0)))
        let server = QuirkServer { [broken] _, connection in
            connection.write(streamHead)
            connection.write(part(0))
            while connection.write(Array(Quirk.usual()(1, broken).utf8) + broken + Array("\r\n".utf8)) { usleep(1000) }
        }
        defer { server.stop() }
        let consumer = RecordingConsumer()
        let capture = MJPEGCapturer(url: server.url, configuration: .test())
        capture.videoCaptureConsumer = consumer
        try capture.play()
        #expect(eventually { capture.statistics.framesDropped.corrupt > 10 })
        try capture.stop()
        #expect(capture.statistics.framesDropped.corrupt == capture.streamStatistics.framesDamaged)
        #expect(consumer.count == 1)
        capture.releaseCapture()
    }

    @Test func countsDamagedAndOversized() throws {
        var broken = picture(2)
        // Entropy-coded data that end too soon.
        broken.removeSubrange((broken.count - 12)..<(broken.count - 2))
        let body = part(0) + part(1, padding: 100_000) + Quirk.usual()(2, broken).utf8 + broken + part(3)
        let server = QuirkServer { _, connection in
            connection.write(streamHead)
            connection.write(body)
            connection.awaitEnd()
        }
        defer { server.stop() }
        let consumer = RecordingConsumer()
        let capture = MJPEGCapturer(
            url: server.url, configuration: .test { $0.maximumFrameBytes = 50_000 }, clock: VirtualClock())
        capture.videoCaptureConsumer = consumer
        try capture.play()
        #expect(consumer.waitForFrames(2))
        #expect(consumer.frames.map(\.number) == [0, 3])
        #expect(consumer.frames.map(\.sequenceNumber) == [0, 3])
        let (seen, own) = (capture.statistics, capture.streamStatistics)
        #expect(seen.framesDropped.corrupt == 1 && seen.framesDropped.source == 1)
        #expect(own.framesDamaged == 1 && own.framesOversized == 1 && own.framesReceived == 3)
        capture.releaseCapture()
    }
}
