import ArgumentParser
import FileCapturer
import MediaContainers
import Testing
import VideoCapturing

@testable import CaptureTool

@Suite struct CapturePlanTests {
    @Test func withoutOptionsNoiseGoesToAFile() throws {
        let plan = try plan()
        #expect(plan.source.name == "noise")
        #expect(plan.request == CaptureRequest())
        #expect(plan.outputs == [OutputName(format: .webm, path: "capture.webm")])
        #expect(!plan.overwrites)
        #expect(plan.statistics == .text)
    }

    @Test func everythingIsTaken() throws {
        let plan = try plan(
            "--source", "noise", "--preset", "cif", "--fps", "max", "--pixel-format", "argb", "--seed", "7",
            "--orientation", "90", "--content-hint", "text", "--frames", "10", "--duration", "2", "-o", "a.ivf",
            "--output", "-", "--force", "--keep-going", "--bitrate", "1M", "--keyframe-interval", "30f", "--threads",
            "2", "--preview", "--stats", "none", "--quiet")
        #expect(plan.request.size! == (352, 288))
        #expect(plan.request.rate == .maximum)
        #expect(plan.request.pixelFormat == .argb)
        #expect(plan.request.seed == 7)
        #expect(plan.orientation == .left)
        #expect(plan.contentHint == .text)
        #expect(plan.frames == 10)
        #expect(plan.duration == .seconds(2))
        #expect(plan.outputs.map(\.format) == [.ivf, .webm])
        #expect(plan.overwrites && plan.keepsGoing && plan.showsPreview && plan.isQuiet)
        #expect(plan.encoding.bitrate == 1_000_000)
        #expect(plan.encoding.keyFrameInterval == .frames(30))
        #expect(plan.encoding.threads == 2)
        #expect(plan.statistics == .none)
    }

    @Test func anInputChoosesItsSource() throws {
        #expect(try plan("--input", "a.y4m").source.name == "file")
        #expect(try plan("--input", "file:///a.y4m").source.name == "file")
    }

    @Test(arguments: [
        (["--source", "niose"], "Did you mean noise?"), (["--source", "file"], "needs --input"),
        (["--source", "file", "--input", ""], "needs --input"),
        (["--source", "noise", "--input", "x"], "no such option"),
        (["--input", "x", "--seed", "1"], "no such option"), (["--frames", "0"], "from 1 to"),
        (["--threads", "65"], "from 1 to 64"), (["-o", "-", "-o", "md5"], "only one output"),
        (["-o", "a.y4m", "--bitrate", "1M"], "no output is encoded"),
        (["--quiet", "--stats", "json"], "cannot be combined with --quiet"),
        (["--preview", "--stats", "json"], "cannot be combined with --stats json"),
        (["--device", ""], "--device '': names no device; give /dev/videoN, "),
        (["--source", "camera", "--device", " "], "or leave it out for the first that can be used."),
        (["--input", "v4l2:"], "--device '': names no device; "),
    ])
    func whatDoesNotFitTogether(arguments: [String], reason: String) throws {
        let options = try CaptureOptions.parse(arguments)
        let error = try #require(
            error { () throws(OptionError) in try CapturePlan(options, catalog: demoCatalog) })
        #expect(error.description.contains(reason))
    }

    @Test func theOptionsOfPlaying() throws {
        func playback(_ arguments: String...) throws -> FileCapturer.Playback {
            try filePlayback(
                CapturePlan(CaptureOptions.parse(["--input", "a.y4m"] + arguments), catalog: demoCatalog).request)
        }
        #expect(try playback() == .realTime)
        #expect(try playback("--fps", "max") == .asFastAsPossible)
        #expect(try playback("--fps", "10") == FileCapturer.Playback(frameRate: 10))
        #expect(
            try playback("--rate", "0.5x", "--loop", "--start", "1.5", "--end", "20s")
                == FileCapturer.Playback(rate: 0.5, plays: nil, start: .milliseconds(1500), end: .seconds(20)))
        for arguments in [["--rate", "1x2"], ["--rate", "0.001"], ["--start", "x"], ["--start", "2", "--end", "2"]] {
            let plan = try CapturePlan(
                CaptureOptions.parse(["--input", "a.y4m"] + arguments), catalog: demoCatalog)
            let failure = try #require(error { () throws(CaptureError) in try filePlayback(plan.request) })
            #expect(failure.message.contains(arguments[arguments.count - 2]))
        }
    }

    @Test func fileURLs() {
        #expect(localPath("a.y4m") == "a.y4m")
        #expect(localPath("file:a.y4m") == "a.y4m")
        #expect(localPath("file:///tmp/a%20b.y4m") == "/tmp/a b.y4m")
        #expect(localPath("file://localhost/tmp/a.y4m") == "/tmp/a.y4m")
        #expect(localPath("file:%zz%") == "%zz%")
    }
}
