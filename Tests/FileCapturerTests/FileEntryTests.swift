import MediaContainers
import TestTools
import Testing
import VideoCapturing

@testable import FileCapturer

/// The options of the source `file`.
@Suite struct FileEntryTests {
    private let entry = CapturerEntry.file()

    private func request(_ input: String, _ options: [String: String] = [:]) -> CapturerEntry.Request {
        CapturerEntry.Request(input: input, options: OptionValues(options.mapValues { [$0] }))
    }

    @Test func theOptionsOfPlaying() throws {
        func playback(_ options: [String: String] = [:]) throws(OptionError) -> FileCapturer.Playback {
            try FileCapturer.Playback(request("a.y4m", options))
        }
        #expect(try playback() == .realTime)
        #expect(try playback(["fps": "max"]) == .asFastAsPossible)
        #expect(try playback(["fps": "10"]) == FileCapturer.Playback(frameRate: 10))
        #expect(
            try playback(["rate": "0.5x", "loop": "", "start": "1.5", "end": "20s"])
                == FileCapturer.Playback(rate: 0.5, plays: nil, start: .milliseconds(1500), end: .seconds(20)))
        for (options, name) in [
            (["rate": "1x2"], "rate"), (["rate": "0.001"], "rate"), (["start": "x"], "start"),
            (["start": "2", "end": "2"], "end"),
        ] {
            let error = #expect(throws: OptionError.self) { try playback(options) }
            #expect(error?.option == name)
        }
    }

    @Test func fileURLs() {
        #expect(localPath(ofURL: "a.y4m") == "a.y4m")
        #expect(localPath(ofURL: "file:a.y4m") == "a.y4m")
        #expect(localPath(ofURL: "file:///tmp/a%20b.y4m") == "/tmp/a b.y4m")
        #expect(localPath(ofURL: "file://localhost/tmp/a.y4m") == "/tmp/a.y4m")
        #expect(localPath(ofURL: "file:%zz%") == "%zz%")
    }

    @Test func aRawFileNeedsItsSize() {
        let error = #expect(throws: OptionError.self) { try entry.make(request("a.yuv")) }
        #expect(error?.description == "--size: a.yuv is a raw file, which does not state its size; give WIDTHxHEIGHT.")
    }

    @Test func optionsMustAgreeWithTheFile() throws {
        let folder = TemporaryFolder()
        let frame = [UInt8](repeating: 128, count: 16 * 8 * 3 / 2)
        let path = try folder.write(Array("YUV4MPEG2 W16 H8 F25:1 C420jpeg\nFRAME\n".utf8) + frame, to: "a.y4m")
        for (options, isRight) in [
            ([:], true), (["size": "16x8"], true), (["size": "16x16"], false), (["fps": "25"], true),
            (["fps": "30"], false), (["fps": "10"], true), (["fps": "max"], true), (["pixel-format": "i420"], true),
            (["pixel-format": "nv12"], false),
        ] as [([String: String], Bool)] {
            let source = try entry.make(request("file:\(path)", options))
            #expect(source.isRecording && source.isInputAtFault() && source.inputPath == path)
            try source.capture.initCapture()
            if isRight {
                try source.checkOptions()
                #expect(source.progress()?.duration == .milliseconds(40))
            } else {
                let error = #expect(throws: OptionError.self) { try source.checkOptions() }
                #expect(error?.option == options.keys.first)
                let advice = options["size"] == nil ? "leave the option out." : "write -o FILE,size=16x16."
                #expect(error?.description.hasSuffix(advice) == true)
            }
            source.capture.releaseCapture()
        }
    }
}
