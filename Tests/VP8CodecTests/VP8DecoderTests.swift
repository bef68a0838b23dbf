import Testing
import VP8Codec
import VideoCapturing

@Suite struct VP8DecoderTests {
    private func packets(_ count: Int) throws -> [[UInt8]] {
        var configuration = VP8Encoder.Configuration(bitrate: 300_000)
        configuration.keyFrameInterval = .milliseconds(300)
        let encoder = try VP8Encoder(configuration)
        var packets: [[UInt8]] = []
        for step in 0..<count {
            try encoder.encode(try movingFrame(width: 32, height: 24, step: step)) {
                packets.append(bytes($0))
            }
        }
        return packets
    }

    @Test func waitsForAKeyFrame() throws {
        let packets = try packets(12)
        let decoder = try VP8Decoder()
        var shown = 0
        for packet in packets[1..<9] {
            #expect { try packet.withUnsafeBytes { try decoder.decode($0) { _ in shown += 1 } } } throws: {
                ($0 as? CodecError)?.code == .corruptData
            }
        }
        // The second key frame is the tenth packet.
        for packet in packets[9...] { try packet.withUnsafeBytes { try decoder.decode($0) { _ in shown += 1 } } }
        #expect(shown == 3)
    }

    @Test func recoversAtTheNextKeyFrame() throws {
        let packets = try packets(12)
        let decoder = try VP8Decoder()
        var pictures = 0
        var failures = 0
        for (index, packet) in packets.enumerated() {
            let damaged = index == 4 ? Array(packet.prefix(2)) : packet
            do {
                try damaged.withUnsafeBytes { try decoder.decode($0) { _ in pictures += 1 } }
            } catch {
                failures += 1
            }
        }
        #expect(failures >= 1)
        #expect(pictures + failures == packets.count)
        #expect(pictures >= 4 + 3)
    }

    @Test func absurdSizesAreRefused() throws {
        var packet = try packets(1)[0]
        packet.replaceSubrange(6..<10, with: [0xff, 0x3f, 0xff, 0x3f])
        #expect {
            try packet.withUnsafeBytes { try VP8Decoder().decode($0) { _ in } }
        } throws: {
            ($0 as? CodecError)?.code == .corruptData && "\($0)".contains("16383x16383")
        }
    }

    /// Bytes changed, cut and added, thousands of times from one seed: errors at most.
    @Test func damagedPacketsNeverCrash() throws {
        let packets = try packets(10)
        var state: UInt64 = 42
        func random(_ below: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % below
        }
        var decoder = try VP8Decoder()
        for round in 0..<3000 {
            if round % 50 == 0 { decoder = try VP8Decoder(maximumPixelCount: 4096) }
            var packet = packets[random(packets.count)]
            for _ in 0..<(1 + random(8)) { packet[random(packet.count)] = UInt8(random(256)) }
            if random(3) == 0 { packet.removeLast(random(packet.count)) }
            packet.withUnsafeBytes { bytes in try? decoder.decode(bytes) { _ in } }
        }
    }
}
