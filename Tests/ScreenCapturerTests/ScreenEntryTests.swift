import Testing
import VideoCapturing

@testable import ScreenCapturer

/// The options of the source `screen`.
@Suite struct ScreenEntryTests {
    private func configuration(
        _ options: [String: [String]] = [:], input: String? = nil
    ) throws(OptionError) -> ScreenCapturer.Configuration {
        try ScreenCapturer.Configuration(CapturerEntry.Request(input: input, options: OptionValues(options)))
    }

    @Test func takesTheWholeDesktopWithoutOptions() throws {
        #expect(try configuration() == ScreenCapturer.Configuration())
    }

    @Test(arguments: [
        ("window", "0x2A00007", ScreenCapturer.Configuration.Target.window(0x2A00007)), ("window", "123", .window(123)),
        ("window", "click", .clickedWindow), ("window", "0xyz", .windowTitled("0xyz")),
        ("window", "Mozilla Firefox", .windowTitled("Mozilla Firefox")), ("monitor", "HDMI-1", .monitor("HDMI-1")),
    ])
    func findsTheTarget(option: String, value: String, target: ScreenCapturer.Configuration.Target) throws {
        #expect(try configuration([option: [value]]).target == target)
    }

    @Test func takesDisplayRegionPointerFormatAndRate() throws {
        let made = try configuration(
            ["region": ["10,20,640x480"], "no-cursor": [""], "pixel-format": ["argb"], "fps": ["12.5"]], input: ":1")
        let expected = ScreenCapturer.Configuration(
            display: ":1", region: PixelRect(x: 10, y: 20, width: 640, height: 480), showsPointer: false,
            frameRate: FrameRate(25, per: 2)!, pixelFormat: .argb)
        #expect(made == expected)
        #expect(try configuration(input: "x11::7").display == ":7")
    }

    @Test(arguments: ["1,2", "1,2,3", "a,b,640x480", "-1,0,640x480", "0,0,0x4", "1,2,640x480,5"])
    func invalidRegions(text: String) {
        let error = #expect(throws: OptionError.self) { try configuration(["region": [text]]) }
        #expect(error?.description == "--region '\(text)': give X,Y,WIDTHxHEIGHT, such as 0,0,640x480.")
    }

    @Test func refusesTwoTargets() {
        let error = #expect(throws: OptionError.self) { try configuration(["monitor": ["a"], "window": ["b"]]) }
        #expect(error?.description.contains("leave one out") == true)
        #expect(throws: OptionError.self) { try configuration(["window": [""]]) }
    }

    @Test func asFastAsPossibleIsMoreThanAnyScreenHas() throws {
        #expect(try configuration(["fps": ["max"]]).frameRate == 1000)
    }
}

@Suite struct ScreenReportTests {
    private let report = ScreenReport(
        display: ":0",
        monitors: [
            ScreenDirectory.Monitor(
                name: "HDMI-1", frame: PixelRect(x: 1280, y: 0, width: 1920, height: 1080), isPrimary: true)
        ],
        windows: [
            ScreenDirectory.Window(
                id: 0x20000C, title: "A \u{1B}[31mred\u{7} title", className: "XTerm", processID: 7,
                frame: PixelRect(x: 0, y: 0, width: 484, height: 394))
        ])

    @Test func tellsMonitorsAndWindows() {
        let lines = ScreenReport.lines([report])
        #expect(lines[0] == "display :0")
        #expect(lines[1] == "  monitor HDMI-1: 1920x1080 at 1280,0, primary")
        #expect(lines[2].hasPrefix("  window 0x20000c: 484x394 A "))
        #expect(!lines.joined().contains { $0 == "\u{1B}" || $0 == "\u{7}" })
        #expect(ScreenReport.lines([]) == ["screens: none; no X server runs on this machine"])
    }

    @Test func tellsTheSameToPrograms() {
        let text = report.json.text
        #expect(text.contains(#""id":"0x20000c""#) && text.contains(#""process":7"#))
        #expect(text.contains(#""frame":{"x":1280,"y":0,"width":1920,"height":1080}"#))
    }

    @Test func tellsWhyADisplayCannotBeCaptured() {
        let problem = CaptureError(.permissionDenied, operation: "connect", subject: ":0", message: "Not let in.")
        #expect(ScreenReport.lines([ScreenReport(display: ":0", problem: problem)]) == ["display :0", "  Not let in."])
    }

    @Test func aSelfTestSaysHowToFixIt() {
        #expect(ScreenReport.findings([]).map(\.state) == [.missing])
        let refused = CaptureError(.permissionDenied, operation: "connect", message: "Not let in.")
        let displays = ScreenReport.findings([
            ScreenReport(
                display: ":0",
                monitors: [
                    ScreenDirectory.Monitor(
                        name: "HDMI-1", frame: PixelRect(x: 0, y: 0, width: 640, height: 480), isPrimary: true)
                ]), ScreenReport(display: ":1", problem: refused),
        ])
        #expect(displays.map(\.state) == [.ok, .missing])
        #expect(displays[0].detail == "HDMI-1 640x480, 0 windows")
        #expect(displays[1].remedy == "Not let in.")
    }
}
