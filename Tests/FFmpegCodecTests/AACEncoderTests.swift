import AudioCapturing
import FFmpegCodec
import TestTools
import Testing

@Suite struct AACEncoderTests {
    private func encode(
        frames: Int, _ configuration: AACEncoder.Configuration = .init(format: .float48kStereo), chunk: Int = 441,
        sample: (Int) -> Float = { _ in 0.1 }
    ) throws -> [MediaPacket] {
        let format = configuration.format ?? .float48kStereo
        let encoder = try AACEncoder(configuration)
        var packets: [MediaPacket] = []
        for first in stride(from: 0, to: frames, by: chunk) {
            let count = min(chunk, frames - first) * format.channels.count
            let samples = (0..<count).map { sample(first + $0 / format.channels.count) }
            try encoder.encode(chunkOf(samples, format, at: first)) { packets.append($0) }
        }
        try encoder.flush { packets.append($0) }
        return packets
    }

    private func chunkOf(_ samples: [Float], _ format: AudioFormat, at first: Int) throws -> AudioChunk {
        AudioChunk(
            buffer: try AudioBuffer(copying: samples, channels: format.channels, sampleRate: format.sampleRate),
            timestamp: MediaTime(nanoseconds: 7_000_000_000).advanced(by: format.duration(ofFrames: Int64(first))),
            firstFrame: Int64(first))
    }

    @Test func packetsHaveTheTimesOfTheirFirstSamples() throws {
        let packets = try encode(frames: 48_000)
        for (index, packet) in packets.enumerated() {
            let time = AudioFormat.float48kStereo.duration(ofFrames: Int64(index * 1024))
            #expect(abs(packet.timestamp.nanoseconds - 7_000_000_000 - time.nanoseconds) < 100)
            #expect(packet.isKeyFrame && packet.sequenceNumber == UInt64(index))
        }
        // 1024 frames of delay: the last sample is heard in a 48th packet.
        #expect(packets.count == 48)
    }

    @Test(arguments: [1, 1023, 1024, 1025, 2048, 5000]) func theEndIsExact(_ frames: Int) throws {
        let total = try encode(frames: frames).reduce(Duration.zero) { $0 + $1.duration }
        let expected = AudioFormat.float48kStereo.duration(ofFrames: Int64(frames + 1024))
        #expect(abs((total - expected).nanoseconds) < 1000)
    }

    @Test(arguments: [8000, 44_100, 48_000, 96_000], [ChannelLayout.mono, .stereo])
    func theTrackSaysWhatADecoderNeeds(_ rate: Int, _ channels: ChannelLayout) throws {
        let encoder = try AACEncoder(.init(format: AudioFormat(.int16, channels, sampleRate: rate)))
        let track = try #require(encoder.track)
        #expect(track.codec == .aac)
        #expect(
            track.media
                == .audio(.init(sampleRate: rate, channelCount: channels.count, initialPadding: 1024)))
        // ISO/IEC 14496-3, 1.6.2.1: five bits of object type, four of the rate's index, four of channels.
        let header = try #require(track.decoderConfiguration).withUnsafeBytes { Array($0) }
        let bits = Int(header[0]) << 8 | Int(header[1])
        #expect(bits >> 11 == 2)
        #expect(bits >> 7 & 15 == [96_000: 0, 48_000: 3, 44_100: 4, 8000: 11][rate])
        #expect(bits >> 3 & 15 == channels.count)
        #expect(abs(encoder.decoderDelay.seconds - 1024 / Double(rate)) < 1e-8)
    }

    @Test func gapsAreBridgedOrJumped() throws {
        let encoder = try AACEncoder()
        var packets: [MediaPacket] = []
        let second = [Float](repeating: 0.1, count: 96_000)
        for first in [0, 72_000, 240_000] {
            try encoder.encode(chunkOf(second, .float48kStereo, at: first)) { packets.append($0) }
        }
        try encoder.flush { packets.append($0) }
        // Half a second is silence; after two and a half the sound begins again, at its time.
        let jumps = zip(packets, packets.dropFirst()).filter { ($1.timestamp - $0.timestamp) > .milliseconds(22) }
        #expect(jumps.count == 1)
        #expect(jumps.first?.1.timestamp.nanoseconds == 12_000_000_000)
    }

    @Test func theBitrateIsKeptAndChanges() throws {
        var state: UInt32 = 1
        func noise(_: Int) -> Float {
            state = state &* 1_664_525 &+ 1_013_904_223
            return Float(state >> 8) / Float(1 << 24) - 0.5
        }
        func bits(_ packets: [MediaPacket]) -> Int { packets.reduce(0) { $0 + $1.data.count * 8 } }
        let whole = bits(try encode(frames: 96_000, sample: noise)) / 2
        #expect((90_000...150_000).contains(whole), "\(whole) bits per second of 128,000")
        let encoder = try AACEncoder(.init(format: .float48kStereo))
        try encoder.setBitrate(64_000)
        var packets: [MediaPacket] = []
        for first in stride(from: 0, to: 96_000, by: 960) {
            try encoder.encode(chunkOf((0..<1920).map(noise), .float48kStereo, at: first)) { packets.append($0) }
        }
        #expect(bits(packets) / 2 < whole * 3 / 4)
    }

    @Test func whatItDoesNotTakeIsRefused() throws {
        func code(_ body: () throws -> Void) -> CodecError.Code? {
            do { try body() } catch { return (error as? CodecError)?.code }
            return nil
        }
        #expect(code { _ = try AACEncoder(.init(bitrate: 1)) } == .invalidConfiguration)
        for format in [
            AudioFormat(.float32, .mono, sampleRate: 7999), AudioFormat(.float32, .discrete(6), sampleRate: 48_000),
        ] {
            #expect(code { _ = try AACEncoder(.init(format: format)) } == .formatUnsupported)
        }
        let encoder = try AACEncoder(.init(format: .float48kStereo))
        let mono = AudioFormat(.float32, .mono, sampleRate: 48_000)
        #expect(code { try encoder.encode(chunkOf([0], mono, at: 0)) { _ in } } == .formatUnsupported)
        // What is not a number is silence.
        try encoder.encode(chunkOf([.nan, .infinity, -.infinity, 1e30], .float48kStereo, at: 0)) { _ in }
        try encoder.flush { _ in }
    }
}
