import ArgumentParser
import MediaContainers
import Testing
import VideoCapturing

@testable import CaptureTool

/// Y4M and raw files: at which rate they are written, and what is said of it.
@Suite struct ConstantRateTests {
    private func format(_ rate: FrameRate?) -> VideoFormat {
        VideoFormat(.i420, width: 64, height: 48, estimatedFramesPerSecond: rate)
    }

    @Test func theRateIsTheCapturesOwnOrMeasured() throws {
        #expect(
            try plan("--fps", "12.5").frameTiming(for: format(FrameRate("12.5")), isFile: false)
                == .constant(FrameRate("12.5")!))
        #expect(try plan("--source", "camera").frameTiming(for: format(25), isFile: false) == .constant(25))
        let network = try plan("--input", "http://127.0.0.1/")
        #expect(network.frameTiming(for: format(nil), isFile: false) == .measured(stated: nil))
    }

    @Test(arguments: [[], ["--fps", "max"]]) func aFileMayStateAMeanRate(_ options: [String]) throws {
        let plan = try CapturePlan(CaptureOptions.parse(["--input", "a.mp4"] + options), catalog: demoCatalog)
        #expect(plan.frameTiming(for: format(24), isFile: true) == .measured(stated: 24))
    }

    @Test func asFastAsPossible() throws {
        #expect(try plan("--fps", "max").frameTiming(for: format(nil), isFile: false) == .everyFrame(rate: 30))
        #expect(
            try plan("--source", "camera", "--fps", "max").frameTiming(for: format(120), isFile: false)
                == .constant(120))
        // What a screen states then is a limit, and no rate.
        #expect(
            try plan("--source", "screen", "--fps", "max").frameTiming(for: format(1000), isFile: false)
                == .constant(60))
    }

    @Test func theSummaryCountsRepeats() {
        var statistics = ConstantRateWriter.Statistics()
        statistics.rate = 30
        statistics.framesWritten = 240
        statistics.framesRepeated = 234
        var output = RunSnapshot.Output(name: OutputName(format: .nv12, path: "a.nv12"), bytes: 10)
        output.constantRate = statistics
        var run = snapshot(outputs: [output])
        run.askedRate = nil
        let line = Summary.outputLines(run)[0]
        #expect(line.contains("bare NV12 pictures, 8.0 s at 30 fps, 234 repeated, 0 dropped. Play it with"))
        #expect(line.hasSuffix("-framerate 30 a.nv12"))
        #expect(
            StatisticsJSON.line("summary", run).contains(
                #""seconds":8.000000,"frames":240,"repeated":234,"dropped":0,"secondsLeftOut":0.000000}"#))
        statistics.timeLeftOut = .seconds(86_400)
        output.constantRate = statistics
        run.outputs = [output]
        #expect(Summary.outputLines(run)[0].contains("a gap of 86400.0 s in the timestamps left out"))
    }

    @Test func otherFormatsSayNothingOfIt() {
        let run = snapshot(outputs: [.init(name: OutputName(format: .webm, path: "a.webm"), bytes: 10)])
        #expect(!Summary.outputLines(run)[0].contains("repeated"))
        #expect(StatisticsJSON.line("summary", run).contains(#""constantRate":null"#))
    }
}
