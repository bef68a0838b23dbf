import TestTools
import Testing
import VideoCapturing

@testable import RTSPServer

#if canImport(Glibc)
    import Glibc
#endif

/// Clients that do what they should not.
@Suite(.serialized) struct HostileTests {
    private func server(_ change: (inout RTSPServer.Configuration) -> Void = { _ in }) throws -> RTSPServer {
        var configuration = RTSPServer.Configuration()
        change(&configuration)
        let server = try RTSPServer(configuration: configuration)
        try server.start()
        try server.begin([Sample.video])
        try server.write(Sample.packet(0, key: true))
        return server
    }

    /// Whether a client is served, which begins now.
    private func serves(_ server: RTSPServer) throws -> Bool {
        let client = try Client(server)
        try client.play()
        return try client.read { $0.frames == [0] }
    }

    @Test(arguments: [
        ("GET /cam HTTP/1.1\r\n", 400), ("\u{16}\u{3}\u{1}\u{0}", 400), ("DESCRIBE rtsp://h/ RTSP/2.0\r\n", 505),
        ("DESCRIBE rtsp://h/ RTSP/1.0\r\nno colon\r\n\r\n", 400), (String(repeating: "A", count: 20_000), 413),
        ("SET_PARAMETER rtsp://h/ RTSP/1.0\r\nContent-Length: 999999\r\n\r\n", 413),
        ("OPTIONS rtsp://h/ RTSP/1.0\r\n" + String(repeating: "X: y\r\n", count: 3000), 413),
    ]) func malformedRequestsEndTheConnection(_ text: String, _ status: Int) throws {
        let server = try server()
        defer { server.stop() }
        let client = try Client(server)
        client.write(text)
        #expect(try client.answer()?.status == status)
        #expect(try client.readToEnd())
        #expect(try serves(server))
    }

    @Test func aRequestThatDoesNotCome() throws {
        let server = try server {
            $0.limits.requestTimeout = .milliseconds(100)
            $0.limits.idleTimeout = .milliseconds(100)
        }
        defer { server.stop() }
        let silent = try Client(server)
        #expect(try silent.answer()?.status == 408)
        // On a busy machine the time may be over before a client has written anything.
        func attempt(_ text: String, _ statuses: [Int]) -> Bool {
            guard let client = try? Client(server) else { return false }
            client.write(text)
            return statuses.allSatisfy { (try? client.answer())?.status == $0 } && (try? client.readToEnd()) == true
        }
        let options = "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n"
        #expect((0..<100).contains { _ in attempt(options + "DESCRIBE rtsp://h/ RT", [200, 408]) })
        #expect((0..<100).contains { _ in attempt(options, [200]) })
        #expect(eventually { server.statistics.connections == 0 })
    }

    @Test func connectionsAreLimited() throws {
        let server = try server { $0.limits.connections = 4 }
        defer { server.stop() }
        let port = try #require(server.address?.port)
        var sockets: [Int32] = []
        defer { for socket in sockets { close(socket) } }
        for _ in 0..<200 { sockets.append(try connectTo(port)) }
        // The limit, and those that are answered with 503.
        #expect(eventually { server.statistics.connectionsAccepted == 200 })
        #expect(server.statistics.connections <= 4 + 32 && server.statistics.connectionsRefused >= 196)
        // The last one that is turned away may just be closing.
        #expect(eventually { openSockets(port: port) <= 1 + 200 + 36 })
        let refused = try Client(server)
        #expect(try refused.answer().map { $0.status == 503 } ?? true)
        for socket in sockets { close(socket) }
        sockets = []
        #expect(eventually { server.statistics.connections == 0 })
        #expect(try serves(server))
    }

    @Test func clientsThatVanishLeaveNothing() throws {
        let server = try server()
        defer { server.stop() }
        let port = try #require(server.address?.port)
        for number in 0..<100 {
            let client = try Client(server)
            let transport =
                number % 2 == 0
                ? "RTP/AVP/TCP;unicast;interleaved=0-1" : "RTP/AVP;unicast;client_port=\(20_000 + number * 2)"
            #expect(try client.ask("DESCRIBE").status == 200)
            #expect(try client.ask("SETUP", track: 0, ["Transport": transport]).status == 200)
            if number % 3 != 0 { #expect(try client.ask("PLAY").status == 200) }
            if number % 5 == 0 { #expect(try client.ask("TEARDOWN").status == 200) }
            // With a reset, in the middle of a request, or in good order.
            if number % 4 == 0 { setLinger(client.socket) }
            if number % 7 == 0 { client.write("PLAY rtsp://") }
        }
        #expect(eventually { server.statistics.connections == 0 && openSockets(port: port) == 1 })
        #expect(eventually { server.statistics.clients.isEmpty })
        try server.write(Sample.packet(0, key: true))
        #expect(try serves(server))
    }

    @Test func aClientThatReadsNoResponses() throws {
        let server = try server { $0.sendBufferSize = 4096 }
        defer { server.stop() }
        let client = try Client(server, bufferSize: 4096)
        var time = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(client.socket, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        let requests = Array(String(repeating: "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n", count: 1000).utf8)
        // As many as are taken.
        var isTaken = true
        while isTaken {
            isTaken = requests.withUnsafeBytes {
                send(client.socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) > 0
            }
        }
        #expect(eventually { server.statistics.connections == 0 })
        #expect(try serves(server))
    }

    @Test func packetsAndDatagramsOfAnyKind() throws {
        let asked = Locked(0)
        let server = try server()
        defer { server.stop() }
        server.connectFeedback(PacketFeedback(onKeyFrame: { asked.withLock { $0 += 1 } }, onBitrate: { _ in }))
        let client = try Client(server)
        try client.play()
        #expect(eventually { !server.statistics.clients.isEmpty })
        let before = asked.withLock { $0 }
        // On channels that were not set up, damaged, and too large.
        for packet: [UInt8] in [
            [0x24, 0, 0, 0], [0x24, 9, 0, 3, 1, 2, 3], [0x24, 1, 0, 4, 0x80, 201, 0xFF, 0xFF],
            [0x24, 1, 0xFF, 0xFF] + [UInt8](repeating: 0x24, count: 0xFFFF),
        ] {
            _ = packet.withUnsafeBytes { send(client.socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        }
        // A request for a key frame of any source (RFC 4585, 6.3.1).
        let request: [UInt8] = [0x24, 1, 0, 12, 0x81, 206, 0, 2, 0, 0, 0, 9, 0, 0, 0, 0]
        _ = request.withUnsafeBytes { send(client.socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        #expect(eventually { asked.withLock { $0 } > before })
        #expect(try client.ask("OPTIONS").status == 200)
    }

    @Test func datagramsGoToTheClientAlone() throws {
        let server = try server()
        defer { server.stop() }
        let (media, reports) = (try DatagramReceiver(), try DatagramReceiver())
        let client = try Client(server)
        #expect(try client.ask("DESCRIBE").status == 200)
        let transport = "RTP/AVP;unicast;destination=192.0.2.9;client_port=\(media.port)-\(reports.port)"
        let answer = try client.ask("SETUP", track: 0, ["Transport": transport])
        #expect(answer.status == 200 && answer["Transport"]?.contains("192.0.2.9") == false)
        #expect(try client.ask("PLAY").status == 200)
        #expect(try media.receive().count > 12)
    }
}
