import AudioCapturing
import MediaPublishing
import NoiseCapturer
import OpusCodec
import TestTools
import Testing
import ToneCapturer
import VP8Codec
import VideoCapturing

@testable import RTPOutput

/// The output at a publisher, as programs name it.
@Suite(.serialized) struct PublisherTests {
    private func publisher(withSound: Bool) -> MediaPublisher {
        var settings = MediaPublisher.Settings(encoders: [.vp8], audioEncoders: [.opus])
        // Further key frames come on request only.
        settings.encoding.keyFrameInterval = .time(.seconds(3600))
        let video = NoiseCapturer(format: .i420(width: 64, height: 48), frameRate: 30)
        return withSound
            ? MediaPublisher(video: video, audio: ToneCapturer(), settings: settings)
            : MediaPublisher(video: video, settings: settings)
    }

    /// Whether a packet begins a key frame: bit 0 of the frame tag behind the descriptor of six bytes.
    private func beginsKeyFrame(_ packet: [UInt8]) -> Bool { packet[12] & 0x10 != 0 && packet[18] & 1 == 0 }

    @Test func aReceiverGetsAKeyFrameWhenItAsks() throws {
        let peer = try TestPeer()
        let publisher = publisher(withSound: false)
        defer { publisher.close() }
        let output = try OutputCatalog([.rtp]).makeOutput(peer.url())
        try publisher.add(output)
        try publisher.start()
        #expect(eventually { peer.packets.count > 20 && !peer.reportsReceived.isEmpty })
        #expect(peer.packets.first.map(beginsKeyFrame) == true)
        #expect(peer.packets.count(where: beginsKeyFrame) == 1)
        peer.answer(Message.pictureLoss(try #require(peer.source)))
        #expect(eventually { peer.packets.count(where: beginsKeyFrame) == 2 })
        try publisher.stop()
        #expect(eventually { peer.reportsReceived.last?.suffix(8).prefix(2) == [0x81, 203] })
        let statistics = output.outputStatistics
        #expect(statistics.bytes > 0 && statistics.summary.contains("to rtp://127.0.0.1:\(peer.port)"))
    }

    @Test func picturesAndSound() throws {
        let peer = try TestPeer()
        let sound = try TestPeer()
        let publisher = publisher(withSound: true)
        defer { publisher.close() }
        let output = try OutputCatalog([.rtp]).makeOutput(peer.url("audio=\(sound.port)"))
        try publisher.add(output)
        try publisher.start()
        // Before a packet has been sent the description has both.
        let announced = output.outputStatistics.announcement ?? ""
        #expect(announced.contains("\nm=video \(peer.port) RTP/AVPF 96\n"))
        #expect(announced.contains("\nm=audio \(sound.port) RTP/AVPF 111\n"))
        #expect(eventually { sound.packets.count > 50 && peer.packets.count > 10 })
        try publisher.stop()
        // Packets of 20 ms follow each other without a gap.
        let times = sound.packets.map { $0[4..<8].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 &- $0 == 960 })
    }
}
