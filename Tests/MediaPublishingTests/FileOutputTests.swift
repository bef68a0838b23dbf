import MediaContainers
import MediaPublishing
import TestTools
import Testing
import VideoCapturing

@testable import FileOutput

/// Y4M and raw files: at which rate they are written, and what is said of it and of how to play them.
@Suite struct FileOutputTests {
    private func context(_ rate: FrameRate?, _ pacing: MediaPublisher.Pacing) -> OutputContext {
        OutputContext(
            format: VideoFormat(.i420, width: 64, height: 48, estimatedFramesPerSecond: rate), pacing: pacing)
    }

    @Test func theRateIsTheCapturesOwnOrMeasured() {
        #expect(FileOutput.timing(context(25, .realTime)) == .constant(25))
        #expect(FileOutput.timing(context(nil, .realTime)) == .measured(stated: nil))
        // What a screen states that is captured as fast as possible is a limit, and no rate.
        #expect(FileOutput.timing(context(1000, .realTime)) == .constant(60))
        #expect(FileOutput.timing(context(nil, .onDemand)) == .everyFrame(rate: 30))
    }

    @Test(arguments: [true, false]) func aRecordingMayStateAMeanRate(isPaced: Bool) {
        #expect(FileOutput.timing(context(24, .playback(isPaced: isPaced))) == .measured(stated: 24))
    }

    private func summary(
        _ path: String, _ format: OutputFormat, bytes: Int64 = 10, digest: String? = nil,
        constantRate: ConstantRateWriter.Statistics? = nil
    ) -> String {
        FileSummary(
            output: FileOutput(path, format: format), bytes: bytes, digest: digest, constantRate: constantRate,
            context: context(30, .realTime)
        ).text
    }

    @Test func summariesSayHowToPlay() {
        #expect(
            summary("my clip.webm", .webm, bytes: 1_500_000)
                == "my clip.webm: 1.50 MB, VP8 in WebM, for browsers and players. Play it with: ffplay 'my clip.webm', "
                + "or open it in a browser.")
        #expect(
            summary("a.nv12", .nv12).hasSuffix(
                "ffplay -f rawvideo -pixel_format nv12 -video_size 64x48 -framerate 30 a.nv12"))
        #expect(summary("-", .md5, digest: "abc") == "md5: MD5 abc.")
        #expect(summary("a.ivf", .ivf, bytes: 0) == "a.ivf: nothing was written.")
        #expect(summary("-", .webm).hasPrefix("standard output: 10 B"))
    }

    @Test func pathsAreQuotedForTheShell() {
        #expect(shellQuoted("a.webm") == "a.webm")
        #expect(shellQuoted("it's.webm") == "'it'\\''s.webm'")
        #expect(shellQuoted("-a.webm") == "./-a.webm")
        #expect(shellQuoted("$HOME.webm") == "'$HOME.webm'")
    }

    @Test func repeatsAreCounted() {
        var statistics = ConstantRateWriter.Statistics()
        statistics.rate = 30
        statistics.framesWritten = 240
        statistics.framesRepeated = 234
        let line = summary("a.nv12", .nv12, constantRate: statistics)
        #expect(line.contains("bare NV12 pictures, 8.0 s at 30 fps, 234 repeated, 0 dropped. Play it with"))
        statistics.timeLeftOut = .seconds(86_400)
        #expect(
            summary("a.nv12", .nv12, constantRate: statistics).contains(
                "a gap of 86400.0 s in the timestamps left out"))
        #expect(!summary("a.webm", .webm).contains("repeated"))
    }
}
