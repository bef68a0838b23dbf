import CapturerTestKit
import TestTools
import Testing
import VideoCapturing

@testable import RTPOutput

/// What arrives at a receiver.
@Suite(.serialized) struct SendTests {
    /// The numbers of a packet: type with marker, sequence, timestamp.
    private func header(_ packet: [UInt8]) -> (type: UInt8, isMarked: Bool, number: UInt16, time: UInt32) {
        let time = packet[4..<8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return (packet[1] & 0x7F, packet[1] & 0x80 != 0, UInt16(packet[2]) << 8 | UInt16(packet[3]), time)
    }

    @Test func framesAndReports() throws {
        let peer = try TestPeer()
        let output = try RTPOutput(peer.url("pt=100&mtu=1000"))
        try output.begin([Sample.track])
        for number in 0..<5 { try output.write(Sample.packet(number)) }
        #expect(eventually { peer.packets.count == 20 && !peer.reportsReceived.isEmpty })
        let headers = peer.packets.map(header)
        #expect(headers.allSatisfy { $0.type == 100 } && peer.packets.allSatisfy { $0.count <= 1000 })
        #expect(headers.map(\.isMarked) == (0..<20).map { $0 % 4 == 3 })
        #expect(headers.indices.allSatisfy { headers[$0].number == headers[0].number &+ UInt16($0) })
        // 33.3 ms are 3000 ticks.
        #expect(headers.indices.allSatisfy { headers[$0].time == headers[0].time &+ UInt32($0 / 4 * 3000) })
        let content = peer.packets[0..<4].flatMap { $0[18...] }
        #expect(content == (0..<3000).map { UInt8(truncatingIfNeeded: $0) })
        let source = try #require(peer.source)
        #expect(output.sessionDescription.contains("a=ssrc:\(source) cname:"))
        #expect(output.sessionDescription.contains("m=video \(peer.port) RTP/AVPF 100\r\n"))
        // A sender report and the name, at once; then the same with a farewell.
        let report = peer.reportsReceived[0]
        #expect(report[0..<4] == [0x80, 200, 0, 6] && report[4..<8].elementsEqual(Message.big(source)))
        #expect(report[28..<30] == [0x81, 202])
        output.finish()
        #expect(eventually { peer.reportsReceived.last?.suffix(8).prefix(2) == [0x81, 203] })
        let last = peer.reportsReceived.last ?? []
        #expect(last[20..<24].elementsEqual(Message.big(20)), "\(last)")
        #expect(output.statistics.packets == 20 && output.statistics.packetsUnsent == 0)
        try output.write(Sample.packet(9))
        #expect(output.statistics.packets == 20)
    }

    /// More packets than leave together, and no more than the kernel keeps for a receiver.
    @Test func aLargeFrameArrivesWholeAndInOrder() throws {
        let peer = try TestPeer()
        let output = try RTPOutput(peer.url("mtu=1000"))
        try output.begin([Sample.track])
        try output.write(Sample.packet(0, size: 70_000))
        #expect(eventually { peer.packets.count == 72 })
        let headers = peer.packets.map(header)
        #expect(headers.indices.allSatisfy { headers[$0].number == headers[0].number &+ UInt16($0) })
        #expect(headers.map(\.isMarked) == (0..<headers.count).map { $0 == headers.count - 1 })
        #expect(output.statistics.packetsUnsent == 0)
        output.finish()
    }

    @Test func reportsGoOn() throws {
        let peer = try TestPeer()
        let output = try RTPOutput(peer.url())
        try output.begin([Sample.track])
        try output.write(Sample.packet(0))
        #expect(eventually { peer.reportsReceived.count >= 3 })
        // The mapping of timestamps to the wall clock is that of one line: 90 ticks for each millisecond.
        let times = peer.reportsReceived.prefix(3).map { report in
            let number = { (range: Range<Int>) in report[range].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
            return (ntp: number(8..<16), time: UInt32(number(16..<20)))
        }
        for (first, second) in zip(times, times.dropFirst()) {
            let seconds = Double(second.ntp - first.ntp) / 0x1p32
            #expect(abs(Double(second.time &- first.time) - seconds * 90_000) <= 1)
            #expect(seconds >= 0.999)
        }
        output.finish()
    }

    @Test func soundHasPortsOfItsOwn() throws {
        let peer = try TestPeer()
        let sound = try TestPeer()
        let output = try RTPOutput(peer.url("audio=\(sound.port)"))
        try output.begin([
            Sample.track,
            TrackDescription(id: 1, codec: .opus, media: .audio(.init(sampleRate: 48_000, channelCount: 2))),
        ])
        try output.write(Sample.packet(0, size: 100))
        for number in 0..<3 {
            var packet = Sample.packet(number, size: 80, track: 1)
            packet.timestamp = MediaTime(nanoseconds: 1_000_000_000 + Int64(number) * 20_000_000)
            try output.write(packet)
        }
        #expect(eventually { peer.packets.count == 1 && sound.packets.count == 3 })
        let headers = sound.packets.map(header)
        #expect(headers.map(\.type) == [111, 111, 111] && headers[2].time == headers[0].time &+ 1920)
        let lines = output.sessionDescription.split(separator: "\r\n")
        #expect(lines.contains("m=audio \(sound.port) RTP/AVPF 111") && lines.contains("a=rtpmap:111 opus/48000/2"))
        #expect(lines.contains { $0.hasPrefix("a=ssrc:\(sound.source ?? 0) cname:") })
        output.finish()
        #expect(output.statistics.packets == 4)
    }

    @Test func theDescriptionHasParameterSets() throws {
        let folder = TemporaryFolder()
        let peer = try TestPeer()
        let file = folder.file("stream.sdp")
        let output = try RTPOutput(peer.url("codec=h264&sdp=\(file)"))
        try output.open()
        let before = String(decoding: try readBytes(file), as: UTF8.self)
        #expect(before.contains("a=fmtp:96 packetization-mode=1\r\n") && before == output.sessionDescription)
        // avcC with one set of each kind.
        let configuration: [UInt8] = [
            1, 0x42, 0xC0, 0x1E, 0xFF, 0xE1, 0, 6, 0x67, 0x42, 0xC0, 0x0E, 0xAB, 0xCD, 1, 0, 3, 0x68, 0xCE, 1,
        ]
        try output.begin([
            TrackDescription(
                id: 0, codec: .h264, media: .video(.init(width: 64, height: 48)),
                decoderConfiguration: configuration.withUnsafeBytes { PacketBuffer(copying: $0) })
        ])
        let after = String(decoding: try readBytes(file), as: UTF8.self)
        #expect(
            after.contains(
                "a=fmtp:96 packetization-mode=1;profile-level-id=42c00e;sprop-parameter-sets=Z0LADqvN,aM4B\r\n"))
        output.finish()
        // Nothing else is lost by a wrong name.
        for content in ["precious", "v=0", ""] {
            let other = try folder.write(Array(content.utf8), to: "other")
            let refused = try RTPOutput(peer.url("sdp=\(other)"))
            let error = #expect(throws: CaptureError.self) { try refused.open() }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.message.contains("is not a session description") == true)
            #expect(try readBytes(other) == Array(content.utf8))
        }
    }

    @Test func multicast() throws {
        let group = "239.255.77.9"
        let peer = try TestPeer(group: group)
        let output = try RTPOutput(peer.url("from=127.0.0.1&ttl=3", host: group))
        try output.begin([Sample.track])
        #expect(output.sessionDescription.contains("c=IN IP4 \(group)/3\r\n"))
        #expect(
            eventually {
                try? output.write(Sample.packet(0))
                return !peer.packets.isEmpty && !peer.reportsReceived.isEmpty
            })
        // A member answers from its own address.
        peer.answer(Message.pictureLoss(try #require(peer.source)))
        #expect(eventually { output.statistics.keyFrameRequests == 1 })
        output.finish()
    }

    @Test func theContractOfSinks() throws {
        let others = [
            TrackDescription(id: 0, codec: .jpeg, media: .video(.init(width: 64, height: 48))),
            TrackDescription(id: 0, codec: .h264, media: .video(.init(width: 64, height: 48))),
        ]
        let suite = PacketSinkSuite(
            tracks: [Sample.track], refused: others,
            makeTrial: {
                let peer = try TestPeer()
                let output = try RTPOutput(peer.url())
                return PacketSinkSuite.Trial(sink: output) {
                    let sent = output.statistics.packets
                    let haveArrived = eventually { peer.packets.count >= sent }
                    return haveArrived ? peer.packets.count { $0[1] & 0x80 != 0 } : -1
                }
            })
        let failures = suite.run()
        #expect(failures.isEmpty, "\(failures)")
    }
}
