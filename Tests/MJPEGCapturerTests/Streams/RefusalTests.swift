import CapturerTestKit
import MJPEGCapturer
import TestTools
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// What is wrong is said at the beginning, in words.
@Suite struct RefusalTests {
    @Test(arguments: [
        ("404 Not Found", "text/plain", CaptureError.Code.deviceNotFound, "404 Not Found"),
        ("403 Forbidden", "text/plain", .permissionDenied, "403"),
        ("401 Unauthorized", "text/plain", .permissionDenied, "user name"),
        ("503 Service Unavailable", "text/html", .deviceBusy, "503"),
        ("500 Oops", "text/html", .unavailable, "500 Oops"),
        ("200 OK", "text/html; charset=utf-8", .formatUnsupported, "text/html"),
        ("200 OK", "video/mp4", .formatUnsupported, "video/mp4"),
        ("204 No Content", "image/jpeg", .formatUnsupported, "204"),
    ])
    func saysWhatTheServerSays(_ status: String, _ type: String, _ code: CaptureError.Code, _ words: String) {
        let server = QuirkServer { _, connection in
            connection.write("HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\n\r\n<html>")
        }
        defer { server.stop() }
        let error = failure(of: MJPEGCapturer(url: server.url, configuration: .test()))
        #expect(error?.code == code)
        #expect(error?.message.contains(words) == true, "\(error as Any)")
        #expect(error?.subject == server.url)
    }

    /// A picture as others decode it only: with arithmetic coding.
    private func unsupportedPart() -> [UInt8] {
        var bytes = part(0)
        for index in bytes.indices.dropLast() where bytes[index] == 0xFF && [0xC0, 0xC2].contains(bytes[index + 1]) {
            bytes[index + 1] = 0xC9
        }
        return bytes
    }

    /// A first picture of a kind that is not decoded is passed over, and a camera that has no other is refused.
    @Test func aFirstPictureMayBeOfAnotherKind() throws {
        let unsupported = unsupportedPart()
        let server = QuirkServer { request, connection in
            connection.write(streamHead)
            for number in 0..<10 { connection.write(request.index > 0 || number < 2 ? unsupported : part(number)) }
            connection.awaitEnd()
        }
        defer { server.stop() }
        let consumer = RecordingConsumer()
        let capture = MJPEGCapturer(url: server.url, configuration: .test(), clock: VirtualClock())
        capture.videoCaptureConsumer = consumer
        try capture.play()
        #expect(consumer.waitForFrames(8))
        capture.releaseCapture()
        #expect(consumer.frames.map(\.number) == Array(2..<10))
        let error = failure(of: MJPEGCapturer(url: server.url, configuration: .test()))
        #expect(error?.code == .formatUnsupported)
        #expect(error?.message.contains("arithmetic") == true, "\(error as Any)")
    }

    @Test func findsNobody() throws {
        let port = try freePort()
        let error = failure(of: MJPEGCapturer(url: "http://127.0.0.1:\(port)/", configuration: .test()))
        #expect(error?.code == .deviceNotFound)
        #expect(error?.systemError == ECONNREFUSED)
        let unknown = failure(of: MJPEGCapturer(url: "http://no-such-camera.invalid/", configuration: .test()))
        #expect(unknown?.code == .deviceNotFound || unknown?.code == .stalled, "\(unknown as Any)")
    }

    @Test func refusesEndlessRedirects() {
        let server = QuirkServer { _, connection in
            connection.write("HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        defer { server.stop() }
        let error = failure(of: MJPEGCapturer(url: server.url, configuration: .test()))
        #expect(error?.code == .invalidConfiguration)
        #expect(server.requests.count == 11)
    }

    @Test func refusesOtherSchemes() {
        let server = QuirkServer { _, connection in
            connection.write(
                "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        defer { server.stop() }
        #expect(failure(of: MJPEGCapturer(url: server.url, configuration: .test()))?.code == .formatUnsupported)
    }

    @Test(arguments: [
        "", "camera.local/video", "rtsp://camera/", "http://", "http:///x", "http://a b/", "http://camera:99999/",
        "http://user:pass/word@camera/", "http://[::1/", "http://camera/\u{7}",
    ])
    func refusesWhatIsNoAddress(_ url: String) {
        let error = failure(of: MJPEGCapturer(url: url))
        #expect(error?.code == .invalidConfiguration)
        #expect(error.map { "\($0)".contains("pass/word") } == false)
    }

    @Test func refusesBytesThatAreNoStream() {
        let server = QuirkServer { _, connection in
            connection.write("HTTP/1.1 200 OK\r\n\r\n")
            connection.write([UInt8](repeating: 0x41, count: 100_000))
        }
        defer { server.stop() }
        #expect(failure(of: MJPEGCapturer(url: server.url, configuration: .test()))?.code == .formatUnsupported)
        let garbage = QuirkServer { _, connection in connection.write("220 mail.example ESMTP\r\n") }
        defer { garbage.stop() }
        #expect(failure(of: MJPEGCapturer(url: garbage.url, configuration: .test()))?.code == .formatUnsupported)
    }

    /// Which curl, out of a limit of its own, takes for a lack of memory.
    @Test(arguments: ["HTTP/1.1 ", "HTTP/1.1 200 OK\r\nX: "])
    func refusesAHeadWithoutEnd(_ beginning: String) {
        let server = QuirkServer { _, connection in
            connection.write(beginning)
            connection.write([UInt8](repeating: 0x39, count: 300_000))
        }
        defer { server.stop() }
        let error = failure(of: MJPEGCapturer(url: server.url, configuration: .test()))
        #expect(error?.code == .formatUnsupported)
        #expect(error?.message.contains("does not speak HTTP") == true, "\(error as Any)")
    }

    @Test func refusesAHeadOfTooManyLines() {
        let server = QuirkServer { _, connection in
            connection.write("HTTP/1.1 200 OK\r\n")
            let lines = Array(String(repeating: "X-A: 123456789012345678901234567890\r\n", count: 1000).utf8)
            while connection.write(lines) {}
        }
        defer { server.stop() }
        let error = failure(of: MJPEGCapturer(url: server.url, configuration: .test()))
        #expect(error?.code == .formatUnsupported)
        #expect(error?.message.contains("64 KB") == true, "\(error as Any)")
    }

    @Test func namesTheHostThatItWasRedirectedTo() throws {
        let port = try freePort()
        let server = QuirkServer { _, connection in
            connection.write(
                "HTTP/1.1 302 Found\r\nLocation: http://eve:s3cret@127.0.0.1:\(port)/x\r\nContent-Length: 0\r\n"
                    + "Connection: close\r\n\r\n")
        }
        defer { server.stop() }
        let error = failure(of: MJPEGCapturer(url: server.url, configuration: .test()))
        #expect(error?.code == .deviceNotFound)
        #expect(error?.message.hasPrefix("127.0.0.1:\(port) cannot be reached") == true, "\(error as Any)")
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test func refusesAStreamOfDamagedPictures() {
        let server = QuirkServer { _, connection in
            connection.write(streamHead)
            var broken = picture(0)
            broken.removeSubrange((broken.count - 12)..<(broken.count - 2))
            while connection.write(Array(Quirk.usual()(0, broken).utf8) + broken) { usleep(1000) }
        }
        defer { server.stop() }
        #expect(failure(of: MJPEGCapturer(url: server.url, configuration: .test()))?.code == .corruptData)
    }

    @Test func refusesSettingsThatCannotBe() {
        func code(_ change: (inout MJPEGCapturer.Configuration) -> Void) -> CaptureError.Code? {
            failure(of: MJPEGCapturer(url: "http://127.0.0.1/", configuration: .test(change)))?.code
        }
        #expect(code { $0.pixelFormat = .argb } == .invalidConfiguration)
        #expect(code { $0.stallTimeout = .zero } == .invalidConfiguration)
        #expect(code { $0.maximumFrameBytes = 1 } == .invalidConfiguration)
        #expect(code { $0.trust = .pinned(publicKeySHA256: "xyz") } == .invalidConfiguration)
        #expect(code { $0.userAgent = "a\r\nHost: b" } == .invalidConfiguration)
        #expect(code { $0.credential = MJPEGCapturer.Credential(user: "a:b", password: "") } == .invalidConfiguration)
        #expect(
            code {
                $0.reconnect = MJPEGCapturer.Configuration.ReconnectPolicy(steps: [.init(delay: .zero, attempts: 0)])
            }
                == .invalidConfiguration)
    }
}
