import CaptureCore
import Testing

@testable import RTP

/// H.265, VP9 and G.711, byte by byte and back, and their descriptions.
@Suite struct PayloadTests {
    private let clock = NTPClock(wallClock: .seconds(1_000_000), at: .zero)
    private let start: [UInt8] = [0, 0, 0, 1]
    private let sets: [[UInt8]] = [[0x40, 1, 0x0C, 1], [0x42, 1, 1, 2, 3], [0x44, 1, 0xC1]]

    /// The parameter sets, each behind what a closure makes of it.
    private func joined(_ prefix: ([UInt8]) -> [UInt8]) -> [UInt8] {
        sets.reduce(into: []) { $0 += prefix($1) + $1 }
    }

    private func payloads(_ format: RTPFormat, _ frame: MediaPacket, size: Int = 1200) -> [[UInt8]] {
        var configuration = RTPSender.Configuration.known(format)
        configuration.maximumPacketSize = size
        return RTPSender(configuration, clock: clock).packets(of: frame).map { Array($0[12...]) }
    }

    // MARK: H.265

    @Test func h265SetsGoTogether() {
        // A delimiter is left out.
        let unit = start + [0x46, 1, 0x50] + joined { _ in start } + start + [0x26, 1, 7, 8]
        let aggregate = [0x60, 1] + joined { [0, UInt8($0.count)] }
        #expect(payloads(.h265, frame(unit)) == [aggregate, [0x26, 1, 7, 8]])
        // One set alone is a unit like any other; a unit without a header is damaged.
        #expect(payloads(.h265, frame(start + sets[0] + start + [0x26] + start + [2, 1, 9])) == [sets[0], [2, 1, 9]])
    }

    @Test func h265Fragments() {
        let parts = payloads(.h265, frame([0, 0, 1, 0x27, 0x0A] + numbered(400)), size: 200)
        // Type 49 with the layers of the unit; S, E and type 19.
        #expect(parts.map { Array($0[..<3]) } == [[0x63, 0x0A, 0x93], [0x63, 0x0A, 0x13], [0x63, 0x0A, 0x53]])
        #expect(parts.flatMap { $0[3...] } == numbered(400))
    }

    @Test func h265OfAnyUnits() throws {
        var random = Repeatable(state: 7)
        let sender = RTPSender(.known(.h265), clock: clock)
        for _ in 0..<300 {
            var expected: [UInt8] = []
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                let kind: UInt8 = [0x40, 0x42, 0x44, 0x26, 0x02, 0x4E].randomElement(using: &random)!
                let size = Bool.random(using: &random) ? 20 : 4000
                expected += start + [kind, 1] + numbered(Int.random(in: 1..<size, using: &random))
            }
            var depacketizer = Depacketizer(.h265)
            let packets = sender.packets(of: frame(expected))
            for packet in packets { try depacketizer.add(try #require(ReadPacket(packet))) }
            #expect(packets.allSatisfy { $0.count <= 1200 })
            #expect(depacketizer.frames == [expected])
        }
    }

    @Test func h265Description() {
        // hvcC: 22 bytes, the number of arrays, and for each its type, the number of its units, and these.
        let arrays = joined { [$0[0] >> 1 | 0x80, 0, 1, 0, UInt8($0.count)] }
        let record = [1] + [UInt8](repeating: 0, count: 21) + [3] + arrays
        for configuration in [record, joined { _ in start }] {
            let track = TrackDescription(
                id: 0, codec: Codec(rawValue: "hevc"), media: .video(.init(width: 64, height: 48)),
                decoderConfiguration: configuration.withUnsafeBytes { PacketBuffer(copying: $0) })
            #expect(
                description(track).contains(
                    "a=rtpmap:96 H265/90000\r\na=fmtp:96 sprop-vps=QAEMAQ==;sprop-sps=QgEBAgM=;sprop-pps=RAHB\r\n"))
        }
        // A damaged record states fewer sets, and nothing is read beyond its end.
        for count in 0..<record.count {
            let found = record[..<count].withUnsafeBytes { H265.parameterSets(of: $0) }
            #expect(found.values.allSatisfy { $0.count == 1 && sets.contains($0[0]) } && found.count < 3)
        }
    }

    private func description(_ track: TrackDescription) -> String {
        guard let format = RTPFormat(track) else { return "" }
        var stream = PlainSession.Stream(
            format: format, payloadType: format.fixedPayloadType ?? 96, port: 0, reportPort: 0, ssrc: 1, cname: "name")
        stream.describe(track)
        return PlainSession(host: "0.0.0.0", streams: [stream]).text
    }

    // MARK: VP9

    @Test func vp9() throws {
        let sender = RTPSender(.known(.vp9), clock: clock)
        // I, B and E, and 15 bits of the number; P on what refers to earlier frames.
        #expect(sender.packets(of: frame([1, 2]))[0][12...] == [0x8C, 0xFF, 0xFF, 1, 2])
        #expect(sender.packets(of: frame([3], isKeyFrame: false))[0][12...] == [0xCC, 0x80, 0, 3])
        var depacketizer = Depacketizer(.vp9)
        let packets = sender.packets(of: frame(numbered(5000)))
        for packet in packets { try depacketizer.add(try #require(ReadPacket(packet))) }
        #expect(packets.count == 5 && depacketizer.frames == [numbered(5000)])
        let video = TrackDescription.Media.video(.init(width: 64, height: 48))
        #expect(
            description(TrackDescription(id: 0, codec: Codec(rawValue: "vp9"), media: video))
                .contains("a=rtpmap:96 VP9/90000\r\n"))
    }

    // MARK: G.711

    @Test func g711() throws {
        let samples = numbered(400)
        let sender = RTPSender(.known(.g711(isALaw: false, rate: 8000, channels: 1), payloadType: 0), clock: clock)
        let packets = try sender.packets(of: frame(samples)).map { try #require(ReadPacket($0)) }
        // 20 ms at most, each with its time; the first one is marked.
        #expect(packets.map(\.payload.count) == [134, 134, 132] && packets.flatMap(\.payload) == samples)
        #expect(packets.map { $0.timestamp &- packets[0].timestamp } == [0, 134, 268])
        #expect(packets.map(\.isMarked) == [true, false, false] && packets.allSatisfy { $0.payloadType == 0 })
        // The two samples of a time stay together, and half of one is left out.
        let stereo = RTPSender(.known(.g711(isALaw: true, rate: 8000, channels: 2)), clock: clock)
        let halves = try stereo.packets(of: frame(numbered(401))).map { try #require(ReadPacket($0)) }
        #expect(halves.map(\.payload.count) == [200, 200] && halves[1].timestamp &- halves[0].timestamp == 100)
    }

    @Test func g711Descriptions() {
        func line(_ codec: String, _ rate: Int, _ channels: Int) -> String {
            description(
                TrackDescription(
                    id: 0, codec: Codec(rawValue: codec),
                    media: .audio(.init(sampleRate: rate, channelCount: channels)))
            ).split(separator: "\r\n").first { $0.hasPrefix("a=rtpmap") }.map(String.init) ?? ""
        }
        // RFC 3551, 6: types that need no description.
        #expect(
            line("pcm_mulaw", 8000, 1) == "a=rtpmap:0 PCMU/8000" && line("pcm_alaw", 8000, 1) == "a=rtpmap:8 PCMA/8000")
        #expect(line("pcm_mulaw", 16_000, 2) == "a=rtpmap:96 PCMU/16000/2")
        #expect(line("pcm_alaw", 0, 1).isEmpty && line("pcm_mulaw", 8000, 0).isEmpty)
    }
}
