import AudioCapturing
import FFmpegCodec
import FFmpegMuxing
import MediaContainers
import OpusCodec
import TestTools
import Testing

/// What FFmpeg decodes of a file: when its sound begins, and the samples of its first channel.
struct DecodedSound {
    var start: Double
    var samples: [Float]

    init(_ path: String) throws {
        let text = try run(
            "ffprobe", "-v", "error", "-select_streams", "a:0", "-read_intervals", "%+0.2", "-show_entries",
            "frame=pts_time", "-of", "csv=p=0", path)
        start = try #require(
            text.split(whereSeparator: { "\n,".contains($0) }).first.flatMap { Double($0) }, "\(path): \(text)")
        let bytes = try run(
            "ffmpeg",
            [
                "-nostdin", "-v", "error", "-xerror", "-err_detect", "explode", "-i", path, "-map", "0:a:0", "-af",
                "pan=mono|c0=c0", "-f", "f32le", "-",
            ])
        samples = bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
    }

    /// When the click is heard.
    var click: Double? { samples.firstIndex { abs($0) > 0.25 }.map { start + Double($0) / 48_000 } }
}

/// The sound of files ends where it ended, begins with the pictures, and is as long as what was recorded.
@Suite struct SoundFileTests {
    private let folder = TemporaryFolder()
    /// No whole number of packets.
    private static let frames = 190_003
    private static let click = 96_000

    /// The packets of sound that begins with the pictures of `Clip`.
    static func encode(
        _ encoder: any AudioEncoder, frames: Int = SoundFileTests.frames,
        _ sample: (Int) -> Float = { (0..<24).contains($0 - SoundFileTests.click) ? 0.9 : 0 }
    ) throws -> (TrackDescription, [MediaPacket]) {
        var packets: [MediaPacket] = []
        let pool = AudioBufferPool()
        for first in stride(from: 0, to: frames, by: 480) {
            let buffer = try pool.makeBuffer(.float48kStereo, frameCapacity: min(480, frames - first)) { writer in
                let count = min(480, frames - first)
                writer.withSamples(as: Float.self) { samples in
                    for index in 0..<2 * count { samples[index] = sample(first + index / 2) }
                }
                return count
            }
            let time = MediaTime(nanoseconds: 7_000_000_000)
                .advanced(by: AudioFormat.float48kStereo.duration(ofFrames: Int64(first)))
            try encoder.encode(AudioChunk(buffer: buffer, timestamp: time, firstFrame: Int64(first))) {
                packets.append($0)
            }
        }
        try encoder.flush { packets.append($0) }
        var track = try #require(encoder.track)
        track.id = 1
        for index in packets.indices { packets[index].track = 1 }
        return (track, packets)
    }

    /// As an encoder gives them: sound later than the pictures of its time.
    private func write(
        _ path: String, _ encoder: any AudioEncoder, hasPictures: Bool = true,
        _ configuration: FFmpegMuxer.Configuration = FFmpegMuxer.Configuration()
    ) throws {
        let clip = try Clip.h264.get()
        let (track, sound) = try SoundFileTests.encode(encoder)
        let muxer = try FFmpegMuxer(path, configuration)
        try muxer.begin(hasPictures ? [clip.track, track] : [track])
        var rest = sound[...]
        for packet in hasPictures ? clip.packets : [] {
            try muxer.write(packet)
            while let next = rest.first, next.timestamp.advanced(by: .milliseconds(60)) < packet.timestamp {
                try muxer.write(next)
                rest.removeFirst()
            }
        }
        for packet in rest { try muxer.write(packet) }
        try muxer.finish()
        #expect(muxer.indexFailure == nil)
    }

    private func expectInStep(_ path: String, padding: ClosedRange<Int>) throws {
        let sound = try DecodedSound(path)
        let picture = try #require(
            try probe(path, "pts_time", ["-select_streams", "v:0"]).first?.first.flatMap(Double.init))
        let click = try #require(sound.click)
        #expect(abs(click - picture - 2) < 0.001, "\(path): \(click - picture - 2) s late")
        #expect(padding.contains(sound.samples.count - SoundFileTests.frames), "\(sound.samples.count) frames")
    }

    /// MP4 states the delay and the end. FFmpeg 5.1 decodes the last packet to its end all the same.
    @Test(arguments: ["mp4", "mov"]) func aacInMP4(_ ending: String) throws {
        let path = folder.file("a.\(ending)")
        try write(path, try AACEncoder())
        try expectInStep(path, padding: 0...1023)
        #expect(try statedFrames(path) == SoundFileTests.frames)
    }

    /// Matroska states the end, and of AAC no delay.
    @Test func aacInMatroska() throws {
        let path = folder.file("a.mkv")
        try write(path, try AACEncoder())
        try expectInStep(path, padding: 1024...1024)
    }

    private func statedFrames(_ path: String) throws -> Int? {
        let text = try run(
            "ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries", "stream=duration_ts", "-of", "csv=p=0",
            path)
        return Int(text.prefix { $0.isNumber })
    }

    /// Streams cannot state it: the sound has up to two packets of silence more, and is in step all the same.
    @Test(arguments: ["ts", "flv", "m3u8"]) func aacInStreams(_ ending: String) throws {
        let path = folder.file("a.\(ending)")
        try write(path, try AACEncoder())
        try expectInStep(path, padding: 1024...2048)
    }

    @Test func aacInFragments() throws {
        let path = folder.file("a.mp4")
        try write(path, try AACEncoder(), FFmpegMuxer.Configuration(makesIndex: false))
        try expectInStep(path, padding: 1024...2048)
    }

    @Test(arguments: [("mp4", 0...959), ("mkv", 0...0), ("ts", 0...1272)])
    func opus(_ ending: String, _ padding: ClosedRange<Int>) throws {
        let path = folder.file("a.\(ending)")
        try write(path, try OpusEncoder())
        try expectInStep(path, padding: padding)
        if ending == "mp4" { #expect(try statedFrames(path) == SoundFileTests.frames) }
    }

    @Test(arguments: [("m4a", 0...1023), ("aac", 1024...2048)])
    func soundAlone(_ ending: String, _ padding: ClosedRange<Int>) throws {
        let path = folder.file("a.\(ending)")
        try write(path, try AACEncoder(), hasPictures: false)
        if ending == "m4a" { #expect(try statedFrames(path) == SoundFileTests.frames) }
        let sound = try DecodedSound(path)
        #expect(padding.contains(sound.samples.count - SoundFileTests.frames), "\(sound.samples.count) frames")
    }
}
