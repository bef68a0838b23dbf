import AudioCapturing
import CaptureCore
import MediaContainers
import OpusCodec
import TestTools
import Testing

/// What an encoder has given.
struct Encoded {
    var track: TrackDescription
    var packets: [MediaPacket] = []
}

/// Sound of a second whose samples are a function of their number, in chunks of any length.
func encode(
    frames: Int, chunk: Int = 441, _ configuration: OpusEncoder.Configuration = .init(format: .float48kStereo),
    sampleType: SampleType = .float32, sample: (Int) -> Float
) throws -> Encoded {
    let format = configuration.format ?? .float48kStereo
    let encoder = try OpusEncoder(configuration)
    var packets: [MediaPacket] = []
    var first = 0
    while first < frames {
        let count = min(chunk, frames - first)
        let values = (0..<count * format.channels.count).map { sample(first + $0 / format.channels.count) }
        let buffer =
            sampleType == .float32
            ? try AudioBuffer(copying: values, channels: format.channels, sampleRate: format.sampleRate)
            : try AudioBuffer(
                copying: values.map { Int16($0 * 32_767) }, channels: format.channels, sampleRate: format.sampleRate)
        try encoder.encode(makeChunk(buffer, first)) { packets.append($0) }
        first += count
    }
    try encoder.flush { packets.append($0) }
    return Encoded(track: try #require(encoder.track), packets: packets)
}

/// A chunk whose time follows from its first frame.
func makeChunk(_ buffer: AudioBuffer, _ first: Int, after delay: Duration = .zero) -> AudioChunk {
    let time = MediaTime(nanoseconds: 7_000_000_000).advanced(
        by: buffer.format.duration(ofFrames: Int64(first)) + delay)
    return AudioChunk(buffer: buffer, timestamp: time, firstFrame: Int64(first))
}

/// A click: loud for a few samples, quiet elsewhere.
func click(at frame: Int) -> (Int) -> Float { { (0..<24).contains($0 - frame) ? 0.9 : 0 } }

/// The first sample above a quarter of full scale, as edges are found in any codec's output.
func edge(_ samples: [Float], channels: Int) -> Int? {
    samples.firstIndex { abs($0) > 0.25 }.map { $0 / channels }
}

func decode(_ encoded: Encoded) throws -> [Float] {
    let decoder = try OpusDecoder(try #require(encoded.track.decoderConfiguration))
    var samples: [Float] = []
    for packet in encoded.packets {
        try packet.data.withUnsafeBytes { bytes in try decoder.decode(bytes) { samples += Array($0) } }
    }
    return samples
}

@Suite struct OpusEncoderTests {
    @Test(arguments: [SampleType.float32, .int16], [ChannelLayout.mono, .stereo])
    func aClickComesBackWhereItWas(_ type: SampleType, _ channels: ChannelLayout) throws {
        let format = AudioFormat(.float32, channels, sampleRate: 48_000)
        let encoded = try encode(
            frames: 48_000, .init(format: format, bitrate: 256_000), sampleType: type, sample: click(at: 20_011))
        let samples = try decode(encoded)
        // One frame of slack: a codec smears an edge.
        let found = try #require(edge(samples, channels: channels.count))
        #expect(abs(found - 20_011) <= 1)
        #expect(samples.count / channels.count >= 48_000)
    }

    @Test func packetsHaveTheTimesOfTheirFirstSamples() throws {
        let encoded = try encode(frames: 48_000) { _ in 0.1 }
        for (index, packet) in encoded.packets.enumerated() {
            #expect(packet.timestamp.nanoseconds == 7_000_000_000 + Int64(index) * 20_000_000)
            #expect(packet.isKeyFrame && packet.sequenceNumber == UInt64(index))
        }
        #expect(encoded.packets.dropLast().allSatisfy { $0.duration == .milliseconds(20) })
        // 312 frames of delay: the last sample is heard in a 51st packet, after 6.5 ms of it.
        #expect(encoded.packets.count == 51)
        #expect(encoded.packets.last?.duration == .microseconds(6500))
        let header = try #require(encoded.track.decoderConfiguration).withUnsafeBytes { Array($0) }
        #expect(header == Array("OpusHead".utf8) + [1, 2, 0x38, 1, 0x80, 0xBB, 0, 0, 0, 0, 0])
        #expect(encoded.track.media == .audio(.init(sampleRate: 48_000, channelCount: 2)))
    }

    @Test(arguments: [1, 312, 647, 648, 649, 959, 960, 961, 5000])
    func theEndIsExact(_ frames: Int) throws {
        let encoded = try encode(frames: frames) { _ in 0.2 }
        let total = encoded.packets.reduce(Duration.zero) { $0 + $1.duration }
        let expected = AudioFormat.float48kStereo.duration(ofFrames: Int64(frames + 312))
        #expect(abs((total - expected).nanoseconds) < 100)
    }

    @Test(arguments: [
        Duration.microseconds(2500), .milliseconds(5), .milliseconds(10), .milliseconds(40), .milliseconds(60),
    ])
    func packetsOfAllLengths(_ length: Duration) throws {
        let encoded = try encode(
            frames: 9600, .init(format: .float48kStereo, packetDuration: length), sample: click(at: 5000))
        #expect(encoded.packets.dropLast().allSatisfy { $0.duration == length })
        let found = try #require(edge(decode(encoded), channels: 2))
        #expect(abs(found - 5000) <= 1)
    }

    @Test(arguments: [8000, 12_000, 16_000, 24_000]) func otherRatesAreTaken(_ rate: Int) throws {
        let format = AudioFormat(.float32, .mono, sampleRate: rate)
        let encoded = try encode(frames: rate, .init(format: format, bitrate: 64_000), sample: click(at: rate / 2))
        let found = try #require(edge(decode(encoded), channels: 1))
        #expect(abs(found - 24_000) <= 48, "within a millisecond; the band is narrow")
    }

    /// A hole of half a second is encoded as silence; after one of two seconds times jump.
    @Test func gapsAreBridgedOrJumped() throws {
        let encoder = try OpusEncoder()
        var packets: [MediaPacket] = []
        let buffer = try AudioBuffer(
            copying: [Float](repeating: 0.3, count: 1920), channels: .stereo, sampleRate: 48_000)
        try encoder.encode(makeChunk(buffer, 0)) { packets.append($0) }
        try encoder.encode(makeChunk(buffer, 25_920)) { packets.append($0) }
        #expect(packets.count == 28)
        #expect(zip(packets, packets.dropFirst()).allSatisfy { $1.timestamp - $0.timestamp == .milliseconds(20) })
        try encoder.encode(makeChunk(buffer, 26_880, after: .seconds(2))) { packets.append($0) }
        // The delay of the sound before the jump is flushed.
        #expect(packets.count == 30)
        #expect(packets[29].timestamp - packets[27].timestamp == .milliseconds(2020))
        // Sound of a time that was encoded already is left out.
        try encoder.encode(makeChunk(buffer, 24_960, after: .seconds(2))) { packets.append($0) }
        #expect(packets.count == 30)
    }

    @Test func driftOfAClockIsNoGap() throws {
        let encoder = try OpusEncoder()
        var packets: [MediaPacket] = []
        let buffer = try AudioBuffer(
            copying: [Float](repeating: 0.3, count: 1920), channels: .stereo, sampleRate: 48_000)
        for index in 0..<100 {
            try encoder.encode(makeChunk(buffer, index * 960, after: .microseconds(index * 20))) { packets.append($0) }
        }
        #expect(packets.count == 100)
        #expect(packets[99].timestamp.nanoseconds == 7_000_000_000 + 99 * 20_020_000)
    }

    @Test func theBitrateIsKeptAndChanges() throws {
        var state: UInt32 = 1
        let noise = { (_: Int) -> Float in
            state = state &* 1_664_525 &+ 1_013_904_223
            return Float(state >> 8) / 16_777_216 - 0.5
        }
        for bitrate in [32_000, 96_000, 256_000] {
            let bytes = try encode(frames: 96_000, .init(format: .float48kStereo, bitrate: bitrate), sample: noise)
                .packets.reduce(0) { $0 + $1.data.count }
            #expect((bitrate * 7 / 10...bitrate * 14 / 10).contains(bytes * 8 / 2), "\(bitrate)")
        }
        let encoder = try OpusEncoder(.init(format: .float48kStereo, bitrate: 256_000))
        try encoder.setBitrate(16_000)
        #expect(throws: CodecError.self) { try encoder.setBitrate(100) }
    }

    @Test func whatCannotBeEncodedIsRefused() throws {
        for configuration: OpusEncoder.Configuration in [
            .init(bitrate: 5000), .init(bitrate: 600_000), .init(packetDuration: .milliseconds(25)),
            .init(complexity: 11), .init(expectedPacketLoss: 101),
        ] {
            #expect(throws: CodecError.self) { try OpusEncoder(configuration) }
        }
        for format in [
            AudioFormat(.float32, .stereo, sampleRate: 44_100), AudioFormat(.float32, .discrete(6), sampleRate: 48_000),
        ] {
            let error = #expect(throws: CodecError.self) { try OpusEncoder(.init(format: format)) }
            #expect(error?.code == .formatUnsupported)
        }
        // The format of a track stays.
        let encoder = try OpusEncoder(.init(format: .float48kStereo))
        let mono = try AudioBuffer(copying: [Float](repeating: 0, count: 960), channels: .mono, sampleRate: 48_000)
        #expect(throws: CodecError.self) { try encoder.encode(makeChunk(mono, 0)) { _ in } }
    }

    @Test func damagedPacketsAreErrors() throws {
        let encoded = try encode(frames: 960) { _ in 0.1 }
        let decoder = try OpusDecoder(try #require(encoded.track.decoderConfiguration))
        let error = #expect(throws: CodecError.self) {
            try [UInt8](repeating: 0xFF, count: 7).withUnsafeBytes { bytes in try decoder.decode(bytes) { _ in } }
        }
        #expect(error?.code == .corruptData)
        for bytes in [[], Array("OpusHead".utf8), [UInt8](repeating: 1, count: 30)] as [[UInt8]] {
            #expect(throws: CodecError.self) { try OpusDecoder(bytes.withUnsafeBytes { PacketBuffer(copying: $0) }) }
        }
    }
}
