import FFmpegCodec
import FFmpegMuxing
import FileOutput
import Glibc
import MediaContainers
import MediaPublishing
import TestTools
import Testing
import VP8Codec
import VideoCapturing

/// Each file lasts as long as what was recorded, to one frame: also of a source that gives a picture only when something
/// changes, and cut into files.
@Suite struct DurationTests {
    private let folder = TemporaryFolder()

    /// Gives frames at some times, the last of which is shown up to another one.
    private final class ScriptedCapture: ForwardingVideoCapture {
        let forwardedCapture: SourceCapturer
        let end: Duration

        init(_ times: [Duration], until end: Duration) {
            forwardedCapture = SourceCapturer(Script(times: times), name: "script")
            self.end = end
        }

        var endOfLastFrame: MediaTime? { MediaTime.zero.advanced(by: end) }
    }

    private struct Script: FrameSource {
        var times: [Duration]
        var settings = CaptureSettings(format: VideoFormat(.i420, width: 64, height: 48, estimatedFramesPerSecond: 25))
        var pacing: FramePacing { .device }

        mutating func nextFrame(_ context: FrameContext) throws -> SourceFrame? {
            guard !times.isEmpty else { return nil }
            let buffer = try PixelBuffer.black(.i420, width: 64, height: 48, color: .bt601)
            return SourceFrame(buffer, timestamp: .zero.advanced(by: times.removeFirst()))
        }
    }

    private static func output(_ path: String) throws -> any MediaOutput {
        if let format = try? OutputFormat(path: path) { return FileOutput(path, format: format) }
        return try FFmpegOutput(path)
    }

    private func record(_ times: [Duration], until end: Duration, to output: any MediaOutput) throws {
        var settings = MediaPublisher.Settings(encoders: [.vp8] + EncoderEntry.ffmpeg)
        settings.pacing = .playback(isPaced: false)
        let publisher = MediaPublisher(video: ScriptedCapture(times, until: end), settings: settings)
        let hasEnded = ManualResetEvent()
        publisher.setEventHandler { event in
            switch event {
            case .ended: hasEnded.raise()
            case .outputsFailed(_, let error): Issue.record(error)
            case .outputCompleted, .warning: break
            }
        }
        try publisher.add(output)
        try publisher.start()
        hasEnded.wait()
        try publisher.stop()
    }

    private func duration(_ path: String) throws -> Double {
        // A transport stream of two small pictures is too short to be recognized.
        let format = path.hasSuffix(".ts") ? ["-f", "mpegts"] : []
        let text = try run(
            "ffprobe", ["-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0"] + format + [path])
        return try #require(Double(String(decoding: text, as: UTF8.self).filter { !$0.isWhitespace }))
    }

    /// What is recorded: bursts of frames, and times in which nothing changes.
    private func times(_ seed: UInt64) -> (times: [Duration], end: Duration) {
        var random = SeededRandom(state: seed)
        var times = [Duration.zero]
        for number in 0..<20 {
            let isStill = Int.random(in: 0..<4, using: &random) == 0
            // Once longer than encoders go without a key frame.
            let still = number == 10 ? 15_000 : isStill ? Int.random(in: 100..<3000, using: &random) : 40
            times.append(times.last! + .milliseconds(still))
        }
        return (times, times.last! + .milliseconds(Int.random(in: 40..<5000, using: &random)))
    }

    private static let frame = 0.045

    @Test(arguments: ["webm", "ivf", "mp4", "mov", "mkv", "ts", "m3u8", "y4m"], [1, 2] as [UInt64])
    func aFileLastsAsLongAsTheRecording(_ ending: String, seed: UInt64) throws {
        let (times, end) = times(seed)
        let path = folder.file("a.\(ending)")
        try record(times, until: end, to: DurationTests.output(path))
        // FFmpeg does not count the last frame of MPEG-TS.
        let uncounted = ["ts", "m3u8"].contains(ending) ? 0.04 : 0
        #expect(abs(try duration(path) - end.seconds) < DurationTests.frame + uncounted)
    }

    /// A source at rest in the last segment of a playlist, of which the muxer adds up the durations of the packets.
    @Test func theLastSegmentLastsAsLongAsItsPictures() throws {
        let path = folder.file("a.m3u8")
        let times = [0, 40, 80, 2500].map { Duration.milliseconds($0) }
        try record(times, until: .milliseconds(4100), to: DurationTests.output(path))
        let lengths = String(decoding: try readBytes(path), as: UTF8.self).split(separator: "\n").compactMap { line in
            line.hasPrefix("#EXTINF:") ? Double(line.dropFirst(8).prefix { $0 != "," }) : nil
        }
        #expect(lengths.count == 2 && abs(lengths.reduce(0, +) - 4.1) < DurationTests.frame, "\(lengths)")
    }

    @Test(arguments: ["webm", "ivf", "mp4", "mov", "mkv", "ts", "y4m"])
    func filesThatFollowEachOtherLastAsLongAsTheRecording(_ ending: String) throws {
        let (times, end) = times(3)
        let split = try SplitOutput(folder.file("a-%03d.\(ending)"), every: .duration(.seconds(2))) {
            try DurationTests.output($0)
        }
        try record(times, until: end, to: split)
        // Each begins with the first frame of its time.
        var starts = [Duration.zero]
        for time in times where time >= .seconds(2) * (Int(starts.last!.seconds) / 2 + 1) { starts.append(time) }
        let lengths = zip(starts, starts.dropFirst() + [end]).map { $1 - $0 }
        for (index, length) in lengths.enumerated() {
            let path = folder.file("a-00\(index + 1).\(ending)")
            let uncounted = ending == "ts" ? 0.04 : 0
            #expect(
                abs(try duration(path) - length.seconds) < DurationTests.frame + uncounted, "\(path) of \(lengths)")
        }
        #expect(access(folder.file("a-00\(lengths.count + 1).\(ending)"), F_OK) != 0)
    }
}
