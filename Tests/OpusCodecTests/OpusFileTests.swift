import AudioCapturing
import CaptureCore
import MediaContainers
import OpusCodec
import TestTools
import Testing

/// Opus in WebM, as other programs read it.
@Suite struct OpusFileTests {
    private let folder = TemporaryFolder()

    private func write(frames: Int, sample: (Int) -> Float) throws -> String {
        let path = folder.file("a.webm")
        let encoded = try encode(frames: frames, .init(format: .float48kStereo, bitrate: 256_000), sample: sample)
        let writer = WebMWriter(try OutputFile(path: path))
        try writer.begin([encoded.track])
        for packet in encoded.packets { try writer.write(packet) }
        try writer.finish()
        return path
    }

    /// Not a sample early or late, and neither the delay at the beginning nor the padding at the end is heard.
    @Test(arguments: [48_000, 50_001]) func ffmpegDecodesEachSampleInItsPlace(_ frames: Int) throws {
        let path = try write(frames: frames, sample: click(at: 30_000))
        let raw = folder.file("a.raw")
        _ = try run("ffmpeg", "-v", "error", "-i", path, "-f", "f32le", "-c:a", "pcm_f32le", raw)
        let samples = try readBytes(raw).withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
        let found = try #require(edge(samples, channels: 2))
        #expect(abs(found - 30_000) <= 1)
        #expect(samples.count / 2 == frames)
        let duration = try run("ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", path)
        #expect(abs((Double(duration.filter { !$0.isWhitespace }) ?? 0) - Double(frames) / 48_000) < 0.001)
    }

    @Test func mkvinfoReadsWhatTheStandardDemands() throws {
        let path = try write(frames: 48_000 * 12) { _ in 0.1 }
        let text = try run("mkvinfo", "--all", path)
        for line in [
            "Document type: webm", "Codec ID: A_OPUS", "Codec-inherent delay: 00:00:00.006500000",
            "Seek pre-roll: 00:00:00.080000000", "Sampling frequency: 48000", "Channels: 2", "Track type: audio",
            "Discard padding: 13500000", "Codec's private data: size 19", "Duration: 00:00:12",
        ] {
            #expect(text.contains(line), "\(line)")
        }
        // A cue and a cluster each five seconds.
        #expect(text.split(separator: "\n").count { $0.contains("Cue point") } == 3)
        #expect(!text.lowercased().contains("error"))
    }
}
