import FFmpegContainers
import MediaContainers
import TestTools
import Testing
import VideoCapturing

/// Where the login of an RTSP address goes.
@Suite struct RedirectTests {
    /// Asks for a login in each answer but those to requests that have one.
    private static func demand(_ request: QuirkServer.Request, _ connection: Connection) {
        let status = request.header("Authorization") == nil ? "401 No" : "404 No"
        connection.write(
            "RTSP/1.0 \(status)\r\nCSeq: \(request.header("CSeq") ?? "0")\r\nWWW-Authenticate: Basic realm=\"r\"\r\n\r\n"
        )
        connection.isKept = true
    }

    private func open(_ url: String) -> CaptureError? {
        let request = StreamDemuxerFactory.Request(
            url: url, source: .address, timeout: .seconds(60), isInterrupted: { false })
        do throws(CaptureError) {
            _ = try StreamDemuxerFactory.ffmpeg.open(request)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: ["127.0.0.1", "localhost"]) func `A login does not follow a redirect to another server`(
        host: String
    ) {
        let other = QuirkServer(Self.demand)
        defer { other.stop() }
        let server = QuirkServer { request, connection in
            connection.write(
                "RTSP/1.0 302 Found\r\nCSeq: \(request.header("CSeq") ?? "0")\r\n"
                    + "Location: rtsp://\(host):\(other.port)/x\r\n\r\n")
        }
        defer { server.stop() }
        let error = open("rtsp://bob:s3cret@127.0.0.1:\(server.port)/live")
        #expect(error?.code == .permissionDenied)
        #expect(error?.description.contains("s3cret") == false)
        #expect(server.requests.count == 1)
        #expect(other.requests.isEmpty, "\(other.requests.map(\.text))")
        // Without a login it is followed.
        _ = open("rtsp://127.0.0.1:\(server.port)/live")
        #expect(other.requests.count > 0 && other.requests.allSatisfy { $0.header("Authorization") == nil })
    }

    @Test func `A login goes to the server itself, also after a redirect on it`() {
        let port = Locked(0)
        let server = QuirkServer { request, connection in
            guard request.path.hasSuffix("/live") else { return Self.demand(request, connection) }
            connection.write(
                "RTSP/1.0 302 Found\r\nCSeq: \(request.header("CSeq") ?? "0")\r\n"
                    + "Location: rtsp://127.0.0.1:\(port.withLock { $0 })/x\r\n\r\n")
        }
        defer { server.stop() }
        port.withLock { $0 = server.port }
        _ = open("rtsp://bob:s3cret@127.0.0.1:\(server.port)/live")
        #expect(server.requests.contains { $0.header("Authorization") == "Basic Ym9iOnMzY3JldA==" })
    }
}
