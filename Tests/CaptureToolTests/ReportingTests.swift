import AudioCapturing
import Foundation
import Testing
import VideoCapturing

@testable import CaptureTool
@testable import MediaPublishing

@Suite struct ReportingTests {
    @Test func numbers() {
        #expect(fixed(3.14159, 2) == "3.14")
        #expect(fixed(0.05, 1) == "0.1")
        #expect(fixed(-0.01, 1) == "0.0")
        #expect(fixed(-2.5, 1) == "-2.5")
        #expect(fixed(9.999, 2) == "10.00")
        #expect(fixed(.nan, 1) == "?")
        // More than 64 bits hold, in millionths.
        #expect(fixed(999_999_999_999_999, 6) == "999999999999999.000000")
        #expect(fixed(-123_456_789_012_345, 6) == "-123456789012345.000000")
        #expect(fixed(1e15, 6) == "?")
        #expect(scaled(0, "B") == "0 B")
        #expect(scaled(999, "B") == "999 B")
        #expect(scaled(999.6, "B") == "1.00 kB")
        #expect(scaled(12_345, "b/s") == "12.3 kb/s")
        #expect(scaled(999_600, "b/s") == "1.00 Mb/s")
        #expect(clockText(.seconds(65)) == "01:05")
        #expect(clockText(.seconds(7322)) == "2:02:02")
        #expect(milliseconds(.microseconds(420)) == "0.4")
        #expect(milliseconds(.microseconds(12_340)) == "12")
    }

    /// A flood of notices leaves 20 of them, and one each three seconds with the number of the rest.
    @Test func noticesAreLimited() {
        var limiter = NoticeLimiter()
        var shown: [String] = []
        for millisecond in 0..<10_000 {
            shown += limiter.admit("\(millisecond)", at: MediaTime(nanoseconds: Int64(millisecond) * 1_000_000))
        }
        #expect(shown.prefix(20) == (0..<20).map { "\($0)" }[...])
        #expect(
            Array(shown.dropFirst(20))
                == stride(from: 1000, to: 10_000, by: 1000).flatMap {
                    ["\($0 == 1000 ? 980 : 999) more notices like these were left out.", "\($0)"]
                })
        // After a minute of rest all are shown again.
        #expect(limiter.admit("a", at: MediaTime(nanoseconds: 80_000_000_000)).last == "a")
        for _ in 0..<19 { #expect(limiter.admit("b", at: MediaTime(nanoseconds: 80_000_000_000)) == ["b"]) }
        #expect(limiter.admit("c", at: MediaTime(nanoseconds: 80_000_000_000)).isEmpty)
    }

    @Test func theWholeStatusLine() {
        let line = StatusLine(snapshot()).text(columns: 79)
        #expect(line == "00:12 640x480 NV12 29.5/30 fps 998 kb/s cap 360 vp8 360 lat 3.9/8.1 ms")
    }

    @Test(arguments: 0...120)
    func theStatusLineFitsAnyTerminal(columns: Int) {
        let run = snapshot(consumers: [consumer("vp8", 360), consumer("y4m", 357, dropped: 3)], lost: 2)
        let text = StatusLine(run).text(columns: columns)
        #expect(text.count <= columns)
        if columns >= 5 { #expect(text.hasPrefix("00:12")) }
        // Parts go whole, the least important first.
        if columns >= 60 { #expect(text.contains("29.5/30 fps")) }
        #expect(!text.hasSuffix(" "))
    }

    /// Size, bitrate and latency go before an output does.
    @Test func noOutputIsLostInEightyColumns() {
        let names = ["vp8", "y4m", "mjpeg", "openh264"]
        let text = StatusLine(snapshot(consumers: names.map { consumer($0, 1_234_567) })).text(columns: 79)
        // The first is an encoder, whose packets are counted.
        #expect(text.contains("vp8 360"), "\(text)")
        for name in names.dropFirst() { #expect(text.contains("\(name) 1234567"), "\(text)") }
        #expect(text.contains("29.5/30 fps"))
    }

    @Test func whatIsLostIsSetOff() {
        let style = TextStyle(isTerminal: true) { $0 == "TERM" ? "xterm-256color" : nil }
        let run = snapshot(consumers: [consumer("vp8", 360, dropped: 3)])
        #expect(StatusLine(run).text(columns: 100, style: style).contains("\u{1B}[33mvp8 360 drop 3\u{1B}[0m"))
        #expect(!StatusLine(snapshot()).text(columns: 100, style: style).contains("\u{1B}"))
    }

    /// A camera that is unplugged: the run goes on, and says that it waits.
    @Test(arguments: [12, 40, 120]) func aRunThatWaitsSaysSo(columns: Int) {
        var run = snapshot()
        run.interruption = "not connected"
        #expect(StatusLine(run).text(columns: columns).contains("waiting"))
        #expect(StatisticsJSON.line("status", run).contains(#""interrupted":true"#))
        #expect(!StatusLine(snapshot()).text(columns: columns).contains("waiting"))
        // The last rates say nothing of the present.
        #expect(!StatusLine(run).text(columns: columns).contains("29.5"))
        #expect(!StatusLine(run).text(columns: columns).contains("kb/s"))
    }

    @Test func soundThatWaitsIsNotSilent() {
        var run = snapshot()
        let statistics = MediaPublisher.Statistics.Audio(
            capture: AudioStatistics(), format: nil, framesOfSilence: 0, framesLeftOut: 0, encoders: [])
        run.sound = SoundSnapshot(
            source: "mic", format: AudioFormat(.int16, .stereo, sampleRate: 48_000), statistics: statistics)
        #expect(StatusLine(run).text(columns: 120).contains("fps snd silent 998"))
        run.sound?.isInterrupted = true
        #expect(StatusLine(run).text(columns: 120).contains("fps snd waiting 998"))
    }

    @Test func theProgressOfAFile() {
        func text(_ position: Int, of duration: Int?, left: Int?) -> String {
            progressText(
                PlaybackProgress(
                    position: .seconds(position), duration: duration.map { .seconds($0) },
                    timeLeft: left.map { .seconds($0) }))
        }
        #expect(text(83, of: 300, left: 190) == "1:23 of 5:00, 27 %, 3:10 left")
        #expect(text(83, of: 300, left: nil) == "1:23 of 5:00, 27 %")
        #expect(text(7, of: nil, left: nil) == "0:07")
        #expect(text(3600, of: 7200, left: 3600) == "1:00:00 of 2:00:00, 50 %, 1:00:00 left")
        #expect(text(300, of: 300, left: 0) == "5:00 of 5:00, 100 %, 0:00 left")
        var run = snapshot()
        #expect(StatisticsJSON.line("status", run).contains(#""progress":null"#))
        run.progress = PlaybackProgress(position: .seconds(1), duration: .seconds(4), timeLeft: .seconds(3))
        #expect(StatusLine(run).text(columns: 120).contains("0:01 of 0:04, 25 %, 0:03 left"))
        #expect(StatisticsJSON.line("status", run).contains(#""percent":25"#))
        #expect(Summary.captureLine(run).contains("up to 0:01 of 0:04"))
    }

    /// Whatever a file says of its length, and a clock of the time since.
    @Test(arguments: [0, 1, 20_000_000_000_000, 9_000_000_000_000_000, .max, .min] as [Int64])
    func absurdTimesAreTold(seconds: Int64) {
        let time = Duration.seconds(seconds)
        var run = snapshot()
        run.progress = PlaybackProgress(position: time, duration: time, timeLeft: time)
        run.capturedTime = time
        run.elapsed = time
        for event in ["status", "summary"] {
            let line = StatisticsJSON.line(event, run)
            #expect(!line.contains("?") && line.hasPrefix("{") && line.hasSuffix("}"))
        }
        #expect(!StatusLine(run).text(columns: 120).isEmpty)
        #expect(!Summary.captureLine(run).isEmpty)
    }

    @Test func damageIsWarnedOf() {
        #expect(Reporter.damageWarning(0) == nil)
        #expect(Reporter.damageWarning(1)?.hasPrefix("1 frame was damaged") == true)
        #expect(Reporter.damageWarning(3)?.hasPrefix("3 frames were damaged") == true)
    }

    @Test func noticesInJSON() {
        #expect(
            StatisticsJSON.notice("The camera is gone.")
                == #"{"version":2,"event":"notice","message":"The camera is gone."}"#)
    }

    @Test func colorsAreThoseOfTheTerminal() {
        func colors(_ variables: [String: String], isTerminal: Bool = true) -> TextStyle.Colors {
            TextStyle(isTerminal: isTerminal) { variables[$0] }.colors
        }
        #expect(colors(["TERM": "xterm"]) == .indexed256)
        #expect(colors(["TERM": "xterm", "COLORTERM": "truecolor"]) == .direct)
        #expect(colors(["TERM": "xterm", "COLORTERM": "truecolor", "NO_COLOR": "1"]) == .none)
        #expect(colors(["TERM": "xterm", "NO_COLOR": ""]) == .indexed256)
        #expect(colors(["TERM": "dumb"]) == .none)
        #expect(colors(["TERM": "xterm"], isTerminal: false) == .none)
    }

    @Test func theSummaryIsThatOfTheOutputs() {
        let outputs = [
            output("my clip.webm", kind: "webm", summary: "my clip.webm: 1.50 MB."), output("terminal"),
            output("b.ivf", kind: "ivf", bytes: 5, summary: "b.ivf: 5 B.", hasFailed: true),
        ]
        let run = snapshot(outputs: outputs)
        #expect(
            Summary.captureLine(run)
                == "Captured 360 frames in 12.0 s (30.0 fps); vp8 encoded 360, dropped 0.")
        #expect(
            Summary.outputLines(run) == ["my clip.webm: 1.50 MB.", "b.ivf: 5 B. It is incomplete."])
    }

    @Test func theBeginningSaysWhichOutputsGetPackets() {
        var passed = output("a.mkv", kind: "matroska")
        passed.passedOn = .init(tracks: [.h264], packets: 0, bytes: 0, packetsDropped: 0)
        var run = snapshot(outputs: [passed, output("b.y4m")], encoding: nil)
        run.tracks = [TrackDescription(id: 0, codec: .h264, media: .video(.init(width: 640, height: 480)))]
        #expect(
            Summary.beginning(run)
                == "Passing on h264 of noise, to a.mkv (matroska); decoding for b.y4m (y4m), vp8 (y4m). Ctrl-C ends it."
        )
        run.outputs = [passed]
        #expect(Summary.beginning(run) == "Passing on h264 of noise, to a.mkv (matroska). Ctrl-C ends it.")
        run.passesUnasked = true
        #expect(
            Summary.beginning(run)
                == "Passing on h264 of noise, to a.mkv (matroska), since no option asks for frames. Ctrl-C ends it.")
        run.outputs = [output("b.y4m")]
        #expect(Summary.beginning(run) == "Decoding h264 of noise, for b.y4m (y4m). Ctrl-C ends it.")
    }

    @Test func lossesAreToldApart() {
        var run = snapshot(lost: 2)
        run.lost.source = 3
        #expect(Summary.captureLine(run).contains("3 lost at the source, 2 left out since this machine was too slow;"))
        #expect(StatusLine(run).text(columns: 120).contains("lost 3 late 2"))
    }

    @Test func theSpeedOfARecording() {
        var run = snapshot()
        run.isRecording = true
        run.elapsed = .seconds(4)
        #expect(Summary.captureLine(run).hasPrefix("Captured 360 frames, 12.0 s of video, in 4.0 s (3.0x); "))
    }

    @Test func aTargetThatIsNotHeldIsReportedOnce() {
        var watch = BitrateWatch()
        func warning(at second: Int, bitrate: Double) -> String? {
            var run = snapshot()
            run.elapsed = .seconds(second)
            run.encoders[0].encoding.bitrate = bitrate
            return watch.warning(run)
        }
        #expect(warning(at: 0, bitrate: 2e6) == nil)
        #expect(warning(at: 4, bitrate: 2e6) == nil)
        #expect(warning(at: 5, bitrate: 0.9e6) == nil, "it is held again")
        #expect(warning(at: 6, bitrate: 2e6) == nil)
        #expect(warning(at: 11, bitrate: 2e6)?.contains("2.00 Mb/s of a target of 922 kb/s") == true)
        #expect(warning(at: 60, bitrate: 2e6) == nil)
        // Two seconds of 2 Mb/s.
        var run = snapshot()
        run.encoders[0].encoding.bytes = 500_000
        for (seconds, isWarned) in [(1, false), (2, true), (4, false)] {
            run.capturedTime = .seconds(seconds)
            #expect((BitrateWatch().finalWarning(run) != nil) == isWarned)
            #expect(watch.finalWarning(run) == nil, "it was reported")
        }
    }

    @Test func json() {
        let value = JSONValue.object([
            ("text", .string("a\"\\\n\u{1B}é")),
            ("list", .array([.null, .bool(true), .integer(-1), .number(.infinity)])),
            ("half", .number(0.5)),
        ])
        #expect(value.text == #"{"text":"a\"\\\n\u001bé","list":[null,true,-1,null],"half":0.500000}"#)
    }

    @Test("docs/statistics.md has every member of the lines")
    func theReferenceIsComplete() throws {
        var run = snapshot(outputs: [output("a.webm")])
        run.progress = PlaybackProgress(position: .zero, duration: .zero, timeLeft: .zero)
        run.sound = SoundSnapshot(
            source: "mic", format: AudioFormat(.int16, .stereo, sampleRate: 48_000),
            statistics: MediaPublisher.Statistics.Audio(
                capture: AudioStatistics(), framesOfSilence: 0, framesLeftOut: 0,
                encoders: [("opus", AudioEncodingConsumer.Statistics())]))
        let lines = StatisticsJSON.line("status", run) + StatisticsJSON.error("x") + StatisticsJSON.notice("x")
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let reference = try String(contentsOf: folder.appending(path: "../../docs/statistics.md"), encoding: .utf8)
        let names = Set(lines.matches(of: /"(\w+)":/).map { String($0.1) })
        #expect(names.count > 50)
        let missing = names.filter { !reference.contains("`\($0)`") && !reference.contains(".\($0)`") }
        #expect(missing.isEmpty, "\(missing.sorted())")
    }

    @Test func statisticsAreVersionedLines() {
        let line = StatisticsJSON.line("summary", snapshot())
        #expect(line.hasPrefix(#"{"version":2,"event":"summary","elapsedSeconds":12.04"#))
        #expect(line.contains(#""capture":{"frames":360,"seconds":12.000000,"dropped":{"total":0,"#))
        #expect(line.contains(#""bitsPerSecondAsked":922000"#))
        #expect(!line.contains("\n"))
        #expect(
            StatisticsJSON.error("No.", output: "a.webm")
                == #"{"version":2,"event":"error","message":"No.","output":"a.webm"}"#)
    }
}
