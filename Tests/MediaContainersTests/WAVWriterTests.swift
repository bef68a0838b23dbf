import AudioCapturing
import CapturerTestKit
import TestTools
import Testing
import ToneCapturer
import VideoCapturing

@testable import MediaContainers

/// WAV files, with FFmpeg as their judge. These tests need `ffmpeg` and `ffprobe`, and fail without them.
@Suite struct WAVWriterTests {
    private let folder = TemporaryFolder()

    private static func track(_ rate: Int = 48_000, _ channels: Int = 2) -> TrackDescription {
        TrackDescription(id: 3, codec: .pcm, media: .audio(.init(sampleRate: rate, channelCount: channels)))
    }

    /// The packet of a number: 480 frames that differ from all others.
    private static func packet(_ number: Int, channels: Int = 2) -> MediaPacket {
        let samples = (0..<480 * channels).map { Int16(truncatingIfNeeded: number * 7919 + $0 * 31).littleEndian }
        let data = samples.withUnsafeBytes { PacketBuffer(copying: $0) }
        return MediaPacket(
            data: data, track: 3, timestamp: MediaTime(nanoseconds: Int64(number) * 10_000_000),
            duration: .milliseconds(10), sequenceNumber: UInt64(number))
    }

    /// Writes packets, and gives the path and the samples' bytes.
    private func write(
        _ packets: Int, rate: Int = 48_000, channels: Int = 2, sizeLimit: UInt64 = UInt64(UInt32.max),
        finishes: Bool = true
    ) throws -> (path: String, bytes: [UInt8], writer: WAVWriter) {
        let path = folder.file("a.wav")
        let writer = WAVWriter(try OutputFile(path: path, overwrite: true), sizeLimit: sizeLimit)
        try writer.begin([Self.track(rate, channels)])
        var bytes: [UInt8] = []
        for number in 0..<packets {
            let packet = Self.packet(number, channels: channels)
            packet.data.withUnsafeBytes { bytes += Array($0) }
            try writer.write(packet)
        }
        if finishes { try writer.finish() }
        return (path, bytes, writer)
    }

    private func probe(_ path: String) throws -> String {
        try run(
            "ffprobe", "-v", "error", "-show_entries", "stream=codec_name,sample_rate,channels,duration_ts", "-of",
            "default=nokey=1:noprint_wrappers=1", path
        ).split(separator: "\n").joined(separator: " ")
    }

    private func decode(_ path: String) throws -> [UInt8] {
        try run("ffmpeg", ["-v", "error", "-i", path, "-f", "s16le", "-"])
    }

    @Test(arguments: [(48_000, 2), (8000, 1), (44_100, 6), (192_000, 8)])
    func ffmpegReadsEverySample(rate: Int, channels: Int) throws {
        let (path, bytes, writer) = try write(25, rate: rate, channels: channels)
        #expect(try probe(path) == "pcm_s16le \(rate) \(channels) 12000")
        #expect(try decode(path) == bytes)
        #expect(writer.bytesWritten == Int64(bytes.count + (channels > 2 ? 104 : 80)))
        #expect(try readBytes(path).count == Int(writer.bytesWritten))
    }

    /// A program that is killed leaves a whole file.
    @Test(arguments: [0, 1, 7])
    func aFileThatWasNotFinishedIsWhole(packets: Int) throws {
        let (path, bytes, writer) = try write(packets, finishes: false)
        #expect(try probe(path).hasPrefix("pcm_s16le 48000 2"))
        #expect(try decode(path) == bytes)
        let file = try readBytes(path)
        #expect(size(file, at: 4) == UInt32(file.count - 8))
        #expect(size(file, at: 76) == UInt32(bytes.count))
        try writer.finish()
    }

    /// From where 32 bits no longer hold the sizes.
    @Test func largeFilesAreRF64() throws {
        // The 21st packet goes beyond.
        let limit = UInt64(72 + 20 * 1920)
        let (small, smallBytes, _) = try write(20, sizeLimit: limit)
        #expect(try readBytes(small).starts(with: "RIFF".utf8))
        #expect(try decode(small) == smallBytes)
        let (large, largeBytes, _) = try write(21, sizeLimit: limit)
        let file = try readBytes(large)
        #expect(file.starts(with: "RF64".utf8))
        #expect(file[12..<16].elementsEqual("ds64".utf8))
        #expect(size(file, at: 4) == .max && size(file, at: 76) == .max)
        #expect(size(file, at: 20) == UInt32(file.count - 8))
        #expect(size(file, at: 28) == UInt32(largeBytes.count))
        #expect(size(file, at: 36) == UInt32(largeBytes.count / 4))
        #expect(try probe(large) == "pcm_s16le 48000 2 \(21 * 480)")
        #expect(try decode(large) == largeBytes)
    }

    private func size(_ file: [UInt8], at offset: Int) -> UInt32 {
        file.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
    }

    @Test func refusesWhatTheHeaderCannotHold() throws {
        for (rate, channels) in [(0, 2), (48_000, 0), (48_000, 32_768), (.max, 2), (48_000, .max), (-1, -1)] {
            let writer = WAVWriter(try OutputFile(path: folder.file("b.wav"), overwrite: true))
            #expect(mediaFileError { try writer.begin([Self.track(rate, channels)]) }?.code == .formatUnsupported)
            try writer.finish()
            #expect(try readBytes(folder.file("b.wav")).isEmpty)
        }
    }

    @Test func refusesPartsOfFrames() throws {
        let (_, _, writer) = try write(1, finishes: false)
        var packet = Self.packet(1)
        packet.data = [UInt8](repeating: 0, count: 7).withUnsafeBytes { PacketBuffer(copying: $0) }
        #expect(mediaFileError { try writer.write(packet) }?.code == .corruptData)
        try writer.finish()
    }

    @Test func keepsTheContract() {
        let path = folder.file("c.wav")
        let others = [
            makeTrack(), makeTrack(.opus),
            TrackDescription(id: 0, codec: .opus, media: .audio(.init(sampleRate: 48_000, channelCount: 2))),
        ]
        let makePacket: @Sendable (TrackDescription, Int) -> MediaPacket = { _, number in Self.packet(number) }
        let suite = PacketSinkSuite(tracks: [Self.track()], refused: others, makePacket: makePacket) {
            PacketSinkSuite.Trial(sink: WAVWriter(try OutputFile(path: path, overwrite: true))) {
                max(0, try readBytes(path).count - 80) / 1920
            }
        }
        let failures = suite.run()
        #expect(failures.isEmpty, "\(failures)")
    }

    /// From the capture to the file, and as loud as FFmpeg's own meter finds it.
    @Test(arguments: [ToneCapturer.Sound.whiteNoise(seed: 1), .sine(frequency: 100), .sine(frequency: 8000)])
    func aToneIsAsLoudAsFFmpegFindsIt(sound: ToneCapturer.Sound) throws {
        let path = folder.file("tone.wav")
        let encoding = AudioEncodingConsumer(
            PCMEncoder(), to: [("wav", WAVWriter(try OutputFile(path: path, overwrite: true)))])
        let meter = LevelMeter()
        let end = NullAudioConsumer()
        let publisher = AudioPublisher(ToneCapturer(sound, duration: .seconds(10), isPaced: false))
        for (name, consumer) in [("wav", encoding as any AudioCaptureConsumer), ("meter", meter), ("end", end)] {
            try publisher.add(consumer, name: name, queue: .init(capacity: 8, policy: .block))
        }
        try publisher.start()
        #expect(end.waitForChunks(500))
        try publisher.stop()
        encoding.finish()
        #expect(try probe(path) == "pcm_s16le 48000 2 480000")
        let lines = try run(
            "ffmpeg", "-v", "error", "-i", path, "-af",
            "ebur128=metadata=1,ametadata=print:key=lavfi.r128.I:file=-", "-f", "null", "-")
        let last = try #require(lines.split(separator: "\n").last { $0.hasPrefix("lavfi.r128.I=") })
        let theirs = try #require(Double(last.dropFirst("lavfi.r128.I=".count)))
        let ours = try #require(meter.levels.integratedLoudness)
        #expect(abs(ours - theirs) < 0.1, "\(ours) and \(theirs)")
        publisher.close()
    }
}
