import CaptureCore
import Testing

@testable import RTP

/// AAC behind its headers (RFC 3640, 3.3.6), and its description.
@Suite struct AACTests {
    private let clock = NTPClock(wallClock: .seconds(1_000_000), at: .zero)
    private let track = TrackDescription(
        id: 0, codec: .aac, media: .audio(.init(sampleRate: 44_100, channelCount: 2)),
        decoderConfiguration: [UInt8]([0x12, 0x10]).withUnsafeBytes { PacketBuffer(copying: $0) })

    @Test func oneAccessUnitInAPacket() throws {
        let format = try #require(RTPFormat(track))
        #expect(format == .aac(rate: 44_100, channels: 2) && format.isAudio && format.codec == .aac)
        let sender = RTPSender(.known(format), clock: clock)
        // A second is 44,100 ticks, 0xAC44, which the offset makes overflow.
        let packets = sender.packets(of: frame([1, 2, 3], at: MediaTime(nanoseconds: 1_000_000_000)))
        #expect(
            packets == [
                [
                    0x80, 0xE0, 0x7F, 0xFE, 0x00, 0x00, 0xAB, 0x44, 0x11, 0x22, 0x33, 0x44,  // RFC 3550, 5.1
                    0, 16, 0, 3 << 3, 1, 2, 3,  // 16 bits of headers: 13 of the size, 3 of the index
                ]
            ])
    }

    @Test func aLargeUnitIsCut() throws {
        let sender = RTPSender(.known(.aac(rate: 48_000, channels: 1)), clock: clock)
        let unit = numbered(3000)
        let packets = sender.packets(of: frame(unit))
        #expect(packets.count == 3 && packets.map { $0[1] & 0x80 } == [0, 0, 0x80])
        #expect(packets.allSatisfy { Array($0[12..<16]) == [0, 16, UInt8(3000 >> 5), UInt8(3000 << 3 & 0xFF)] })
        #expect(packets.flatMap { $0[16...] } == unit)
        var depacketizer = Depacketizer(.aac(rate: 48_000, channels: 1))
        for packet in packets { try depacketizer.add(try #require(ReadPacket(packet))) }
        #expect(depacketizer.frames == [unit])
        // What its header cannot state is left out, and counted.
        #expect(sender.packets(of: frame(numbered(8192))).isEmpty && sender.statistics.oversizedFrames == 1)
    }

    @Test func theDescription() {
        var stream = PlainSession.Stream(
            format: .aac(rate: 44_100, channels: 2), payloadType: 97, port: 0, reportPort: 0, ssrc: 1, cname: "name")
        stream.describe(track)
        stream.control = "trackID=1"
        let text = PlainSession(host: "0.0.0.0", streams: [stream]).text
        #expect(text.contains("a=rtpmap:97 mpeg4-generic/44100/2\r\n"))
        #expect(text.contains(";sizelength=13;indexlength=3;indexdeltalength=3;config=1210\r\n"))
        #expect(text.contains("a=control:*\r\nm=audio 0 RTP/AVPF 97\r\n") && text.contains("a=control:trackID=1\r\n"))
    }

    @Test func otherTracks() {
        let video = TrackDescription.Media.video(.init(width: 64, height: 48))
        #expect(RTPFormat(TrackDescription(id: 0, codec: .aac, media: video)) == nil)
        #expect(RTPFormat(TrackDescription(id: 0, codec: .opus, media: video)) == nil)
        #expect(RTPFormat(TrackDescription(id: 0, codec: .h264, media: video)) == .h264)
        #expect(RTPFormat(TrackDescription(id: 0, codec: .pcm, media: track.media)) == nil)
        // WebRTC has none.
        #expect(RTPFormat(Codec.aac) == nil)
    }
}
