import CapturerTestKit
import MediaPublishing
import TestTools
import Testing
import VideoCapturing

@testable import RTSPServer

#if canImport(Glibc)
    import Glibc
#endif

/// A server and clients on loopback.
@Suite(.serialized) struct ServerTests {
    private func server(
        _ change: (inout RTSPServer.Configuration) -> Void = { _ in },
        onWarning: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> RTSPServer {
        var configuration = RTSPServer.Configuration()
        change(&configuration)
        let server = try RTSPServer(configuration: configuration, onWarning: onWarning)
        try server.start()
        return server
    }

    @Test func aClientGetsTheGroupSinceTheLastKeyFrame() throws {
        let server = try server()
        defer { server.stop() }
        try server.begin([Sample.video])
        for number in 0..<6 { try server.write(Sample.packet(number, key: number % 3 == 0)) }
        let client = try Client(server)
        try client.play()
        // There is no encoder to ask, so it is the group that was kept.
        #expect(try client.read { $0.frames.count >= 3 })
        #expect(client.frames == [3, 4, 5])
        #expect(client.starts == client.beginnings)
        #expect(client.reports(on: 1).prefix(2) == [200, 202])
        try server.write(Sample.packet(6, key: false))
        #expect(try client.read { $0.frames.count == 4 })
        // A pause ends it, and a new beginning has a key frame again.
        #expect(try client.ask("PAUSE").status == 200)
        try server.write(Sample.packet(7, key: false))
        #expect(try client.ask("PLAY").status == 200)
        #expect(try client.read { $0.frames.count == 9 })
        #expect(client.frames.suffix(5) == [3, 4, 5, 6, 7])
        #expect(try client.ask("TEARDOWN").status == 200)
        #expect(eventually { server.statistics.clients.isEmpty })
        #expect(server.statistics.sessions == 2)
    }

    @Test func aKeyFrameIsAskedFor() throws {
        let asked = Locked(0)
        let server = try server()
        defer { server.stop() }
        server.connectFeedback(PacketFeedback(onKeyFrame: { asked.withLock { $0 += 1 } }, onBitrate: { _ in }))
        try server.begin([Sample.video, Sample.audio])
        let client = try Client(server)
        try client.play(tracks: [0, 1])
        #expect(eventually { asked.withLock { $0 } == 1 })
        // Nothing comes before the key frame.
        try server.write(Sample.packet(1, key: true, size: 80, track: 1))
        try server.write(Sample.packet(2, key: false))
        try server.write(Sample.packet(3, key: true))
        try server.write(Sample.packet(4, key: true, size: 80, track: 1))
        #expect(try client.read { client in client.packets.contains { $0.channel == 2 } })
        #expect(client.frames == [3])
        #expect(client.packets.count { $0.channel == 2 } == 1)
        // The sound begins with its next packet, and its time is that of the key frame: 40 ms before.
        var expected = client.beginnings
        let sound = expected[1]["rtptime"].flatMap { UInt32($0) } ?? 0
        expected[1]["rtptime"] = "\(sound &- 40 * 48)"
        #expect(client.starts == expected)
    }

    @Test func soundAlone() throws {
        let server = try server()
        defer { server.stop() }
        try server.begin([Sample.video, Sample.audio])
        try server.write(Sample.packet(0, key: true))
        let client = try Client(server)
        try client.play(tracks: [1])
        #expect(eventually { !server.statistics.clients.isEmpty })
        for number in 1...3 { try server.write(Sample.packet(number, key: true, size: 80, track: 1)) }
        // A packet of sound has no parts, and no reports of pictures come.
        #expect(try client.read { client in client.packets.count { $0.channel == 2 } == 3 })
        #expect(client.starts == client.beginnings)
        #expect(client.frames.isEmpty && client.packets.allSatisfy { $0.channel >= 2 })
    }

    @Test func datagramsReachTheClient() throws {
        let server = try server()
        defer { server.stop() }
        try server.begin([Sample.video])
        try server.write(Sample.packet(0, key: true))
        let client = try Client(server)
        #expect(try client.ask("DESCRIBE").status == 200)
        let media = try DatagramReceiver()
        let reports = try DatagramReceiver()
        let transport = "RTP/AVP/UDP;unicast;client_port=\(media.port)-\(reports.port)"
        let answer = try client.ask("SETUP", track: 0, ["Transport": transport])
        #expect(answer["Transport"]?.contains("server_port=") == true)
        #expect(try client.ask("PLAY").status == 200)
        // Three parts of a frame, then a large one, which leaves in bursts.
        for _ in 0..<3 { #expect(try media.receive().count > 900) }
        #expect(try reports.receive()[1] == 200)
        try server.write(Sample.packet(1, key: false, size: 100_000))
        var numbers: [UInt16] = []
        repeat {
            let packet = try media.receive()
            numbers.append(UInt16(packet[2]) << 8 | UInt16(packet[3]))
            if packet[1] & 0x80 != 0 { break }
        } while true
        #expect(numbers.count > 80 && zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
        #expect(eventually { server.statistics.clients.first?.isInterleaved == false })
        // The connection is the session.
        shutdown(client.socket, Int32(SHUT_RDWR))
        #expect(eventually { server.statistics.clients.isEmpty })
    }

    @Test func aGroupGetsPacketsOnceAndOnlyWhileItHasClients() throws {
        let port = try DatagramReceiver.freePair()
        let server = try server {
            $0.transports = [.tcp]
            $0.multicast = .init(group: "239.255.77.1", port: port)
        }
        defer { server.stop() }
        try server.begin([Sample.video])
        try server.write(Sample.packet(0, key: true, size: 80))
        let receiver = try DatagramReceiver(group: "239.255.77.1", port: port)
        func join() throws -> Client {
            let client = try Client(server)
            #expect(try client.ask("DESCRIBE").status == 200)
            #expect(try client.ask("SETUP", track: 0, ["Transport": "RTP/AVP;multicast"]).status == 200)
            #expect(try client.ask("PLAY").status == 200)
            return client
        }
        let first = try join()
        // The kept group once: the second client joins a stream that flows.
        #expect(try receiver.receive().last == 0)
        let second = try join()
        try server.write(Sample.packet(1, key: false, size: 80))
        #expect(try receiver.receive().last == 1)
        shutdown(first.socket, Int32(SHUT_RDWR))
        #expect(eventually { server.statistics.clients.count == 1 })
        try server.write(Sample.packet(2, key: false, size: 80))
        #expect(try receiver.receive().last == 2)
        #expect(try second.ask("TEARDOWN").status == 200)
        try server.write(Sample.packet(3, key: false, size: 80))
        #expect(try join().ask("OPTIONS").status == 200)
        // Not the one without clients on its own, but the group that was kept for the third one.
        #expect(try (0..<4).map { _ in try receiver.receive().last } == [0, 1, 2, 3])
        #expect(eventually { server.statistics.framesSent == 8 })
    }

    @Test func aStalledClientLosesGroupsAndHarmsNoOther() throws {
        let warnings = Locked<[String]>([])
        let server = try server(
            {
                $0.maximumDelay = .seconds(600)
                $0.limits.waitingBytes = 400_000
                $0.sendBufferSize = 16_384
            }, onWarning: { warning in warnings.withLock { $0.append(warning) } })
        defer { server.stop() }
        try server.begin([Sample.video])
        let stalled = try Client(server, bufferSize: 4096)
        try stalled.play()
        let other = try Client(server)
        try other.play()
        // Both take the first frame.
        try server.write(Sample.packet(0, key: true))
        #expect(try other.read { $0.frames == [0] })
        #expect(try stalled.read { $0.frames == [0] })
        for number in 1...120 {
            try server.write(Sample.packet(number, key: number % 10 == 0, size: 20_000))
            #expect(try other.read { $0.frames.last == number })
        }
        #expect(other.frames == Array(0...120))
        #expect(eventually { server.statistics.gaps > 0 && !warnings.withLock { $0 }.isEmpty })
        #expect(warnings.withLock { $0 }.allSatisfy { $0.contains("127.0.0.1:") })
        // It goes on with whole groups, and with a key frame behind each gap.
        #expect(try stalled.read { $0.frames.last == 120 })
        let found = stalled.frames
        #expect(found.count < 120)
        for (first, second) in zip(found, found.dropFirst()) where second != first + 1 { #expect(second % 10 == 0) }
        #expect(eventually { server.statistics.framesDropped == UInt64(121 - found.count) })
    }

    @Test func aClientThatTakesNothingIsDisconnected() throws {
        let warnings = Locked<[String]>([])
        let server = try server(
            {
                $0.limits.sendTimeout = .milliseconds(100)
                $0.sendBufferSize = 16_384
            }, onWarning: { warning in warnings.withLock { $0.append(warning) } })
        defer { server.stop() }
        try server.begin([Sample.video])
        let client = try Client(server, bufferSize: 4096)
        try client.play()
        for number in 0..<50 { try server.write(Sample.packet(number, key: true, size: 20_000)) }
        #expect(eventually { server.statistics.connections == 0 })
        #expect(warnings.withLock { $0 }.contains { $0.contains("taken nothing") })
    }

    @Test func theEndIsSaid() throws {
        let server = try server()
        try server.begin([Sample.video])
        try server.write(Sample.packet(0, key: true))
        let port = try #require(server.address?.port)
        let client = try Client(server)
        try client.play()
        #expect(try client.read { $0.frames == [0] })
        server.finish()
        #expect(try client.readToEnd())
        #expect(client.reports(on: 1).last == 203)
        #expect(server.address == nil && server.name == "rtsp://127.0.0.1:\(port)/")
        #expect(eventually { openSockets(port: port) <= 1 })
    }

    @Test func requestsBeforeTheFirstPacketWait() throws {
        let server = try server { $0.limits.mediaTimeout = .milliseconds(50) }
        defer { server.stop() }
        let client = try Client(server)
        #expect(try client.ask("DESCRIBE").status == 503)
        try server.begin([Sample.video])
        #expect(try client.ask("DESCRIBE").status == 200)
        let patient = try self.server { $0.limits.mediaTimeout = .seconds(3600) }
        defer { patient.stop() }
        let waiting = try Client(patient)
        // A second request behind the one that waits is not lost.
        waiting.write("DESCRIBE rtsp://h/ RTSP/1.0\r\nCSeq: 7\r\n\r\nOPTIONS * RTSP/1.0\r\nCSeq: 8\r\n\r\n")
        #expect(eventually { patient.statistics.connections == 1 })
        try patient.begin([Sample.video])
        #expect(try waiting.answer()?["CSeq"] == "7")
        #expect(try waiting.answer()?["CSeq"] == "8")
    }

    @Test func theSinksContractIsKept() throws {
        let suite = PacketSinkSuite(
            tracks: [Sample.video, Sample.audio],
            refused: [
                TrackDescription(id: 0, codec: Codec(rawValue: "av1"), media: .video(.init(width: 64, height: 48))),
                TrackDescription(id: 0, codec: .jpeg, media: .video(.init(width: 2048, height: 48))),
                TrackDescription(id: 0, codec: .pcm, media: .audio(.init(sampleRate: 48_000, channelCount: 2))),
            ],
            makePacket: { track, number in
                Sample.packet(number, key: track.isAudio || number == 0, size: 80, track: track.id)
            },
            makeTrial: {
                let sink = ServedSink(try self.server())
                return PacketSinkSuite.Trial(sink: sink) { try sink.countFrames() }
            })
        let failures = suite.run()
        #expect(failures.isEmpty, "\(failures)")
    }

    @Test func addressesAndErrors() throws {
        let server = try server()
        defer { server.stop() }
        let port = try #require(server.address?.port)
        #expect(#expect(throws: CaptureError.self) { try server.start() }?.code == .invalidState)
        let taken = try OutputCatalog([.rtspServer]).makeOutput("rtsp://127.0.0.1:\(port)/cam?listen")
        #expect(taken.name == "rtsp://127.0.0.1:\(port)/cam")
        let context = OutputContext(format: .i420(width: 64, height: 48))
        let busy = #expect(throws: CaptureError.self) { _ = try taken.open(context) }
        #expect(busy?.code == .deviceBusy && busy?.message.contains("\(port)") == true)
        let foreign = try OutputCatalog([.rtspServer]).makeOutput("serve-rtsp://192.0.2.1:0")
        #expect(#expect(throws: CaptureError.self) { _ = try foreign.open(context) }?.code == .deviceNotFound)
        for (target, reason) in [
            ("rtsp://0.0.0.0:8554/cam?listen&codek=vp8", "Did you mean codec?"), ("rtsp://h:99999/?listen", "65535"),
            ("rtsp://:8554/cam?listen", "0.0.0.0"), ("rtsp://h:1/?listen&udp=5001", "even"), ("serve-rtsp://h", "port"),
            ("rtsp://h:1/?listen&transport=sctp", "tcp or udp"),
            ("rtsp://h:1/?listen&multicast=10.0.0.1", "224.0.1.0"), ("rtsp://h:1/?listen&ttl=3", "224.0.1.0"),
            ("rtsp://h:1/?listen&multicast=239.1.1.1:5", "even"),
            ("rtsp://h:1/?listen&multicast=239.1.1.1&ttl=0", "ttl"),
            ("rtsp://h:1/?listen&codec=av1", "h264, hevc, vp8"),
        ] {
            let error = #expect(throws: OptionError.self) { try OutputCatalog([.rtspServer]).makeOutput(target) }
            #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
        }
    }

    @Test func warnsOfAnOpenServer() throws {
        let warnings = Locked<[String]>([])
        let server = try server(
            { $0.address = "0.0.0.0" }, onWarning: { warning in warnings.withLock { $0.append(warning) } })
        server.stop()
        #expect(warnings.withLock { $0 }.count == 1 && warnings.withLock { $0 }[0].contains("without a password"))
    }
}

/// A server with a client, which begins before the first packet.
private final class ServedSink: PacketSink {
    private let server: RTSPServer
    private let client = Locked<Client?>(nil)

    init(_ server: RTSPServer) { self.server = server }

    func begin(_ tracks: [TrackDescription]) throws {
        try server.begin(tracks)
        let client = try Client(server)
        try client.play(tracks: Array(tracks.indices))
        self.client.withLock { $0 = client }
    }

    func write(_ packet: MediaPacket) throws { try server.write(packet) }
    func finish() { server.finish() }

    /// The frames that have reached the client: each packet with a marker, and all of sound.
    func countFrames() throws -> Int {
        try client.withLock { client in
            _ = try client?.readToEnd()
            return client?.packets.count { $0.channel == 0 && $0.bytes[1] & 0x80 != 0 || $0.channel == 2 } ?? 0
        }
    }
}
