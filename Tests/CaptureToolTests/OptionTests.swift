import MediaPublishing
import Testing
import VideoCapturing

@testable import CaptureTool

/// The values of the tool's own options.
@Suite struct OptionTests {
    private func values(_ name: String, _ text: String) -> OptionValues { OptionValues([name: [text]]) }

    @Test(arguments: [
        ("1000", 1000), ("800k", 800_000), ("800K", 800_000), ("1.5M", 1_500_000), ("0.064M", 64_000),
        ("2000M", 2_000_000_000),
    ])
    func bitrates(text: String, value: Int) throws {
        #expect(try values("bitrate", text).bitrate("bitrate") == value)
    }

    @Test(arguments: [
        "", "0", "999", "-1", "5X", "1e3k", "k", "M", ".5M", "1.M", "1.0000001M", "1.5", "2001M",
        "9999999999999999999M",
    ])
    func invalidBitrates(text: String) {
        #expect(throws: OptionError.self) { try values("bitrate", text).bitrate("bitrate") }
    }

    @Test func times() throws {
        func time(_ text: String) throws(OptionError) -> Duration? {
            try values("duration", text).time("duration")
        }
        #expect(try time("10") == .seconds(10))
        #expect(try time("2.5s") == .milliseconds(2500))
        #expect(try time("500ms") == .milliseconds(500))
        #expect(try time("1h") == .seconds(3600))
        #expect(try time("0.000000001") == .nanoseconds(1))
        for text in ["", "0", "-1", "nan", "inf", "1e3", "soon", "s", "1.", "99999999999", "0.0000000001"] {
            #expect(throws: OptionError.self, "\(text)") { try time(text) }
        }
        #expect(try values("start", "0").time("start", allowsZero: true) == .zero)
    }

    private func interval(_ text: String) throws(OptionError) -> EncodingSettings.KeyFrameInterval? {
        try EncodingSettings(values("keyframe-interval", text), encoders: demoCatalog.encoders).keyFrameInterval
    }

    @Test func keyFrameIntervals() throws {
        #expect(try interval("2") == .time(.seconds(2)))
        #expect(try interval("0.5s") == .time(.milliseconds(500)))
        #expect(try interval("60f") == .frames(60))
        for text in ["", "0", "-1", "often", "0f", "f", "-1f", "1.5f", "1000001f"] {
            #expect(throws: OptionError.self, "\(text)") { try interval(text) }
        }
    }

    /// A frame may be a nanosecond early, by rounding: the sixtieth must be a key frame all the same.
    @Test(arguments: ["30", "29.97", "59.94", "7"])
    func aKeyFrameIntervalInFramesIsExact(rate: String) throws {
        let rate = try #require(FrameRate(rate))
        let request = EncoderEntry.Request(
            format: .nv12(width: 16, height: 16), frameRate: rate, settings: .init(keyFrameInterval: .frames(60)))
        let interval = try #require(request.keyFrameInterval)
        for first in Int64(0)..<100 {
            #expect(rate.time(ofFrame: first + 60) - rate.time(ofFrame: first) >= interval)
            #expect(rate.time(ofFrame: first + 59) - rate.time(ofFrame: first) < interval)
        }
    }

    @Test func theEncoderIsChosenByName() throws {
        var values = OptionValues()
        values["codec"] = "VP8"
        values["encoder"] = "vp8"
        values["threads"] = "2"
        values["size"] = "cif"
        let settings = try EncodingSettings(values, encoders: demoCatalog.encoders)
        #expect(settings.codec == .vp8 && settings.encoder == "vp8")
        // The encoder's own options, and nothing else.
        #expect(settings.options == OptionValues(["threads": ["2"]]))
        values["encoder"] = "vp9"
        let error = #expect(throws: OptionError.self) {
            try EncodingSettings(values, encoders: demoCatalog.encoders)
        }
        #expect(error?.description.contains("Did you mean vp8?") == true)
    }

    @Test func threadsAreANumberOrTheEncodersChoice() throws {
        func threads(_ text: String?) throws -> Int? {
            var request = EncoderEntry.Request(format: .nv12(width: 16, height: 16), frameRate: 30)
            request.settings.options["threads"] = text
            return try request.threads(in: 1...16)
        }
        #expect(try threads(nil) == nil)
        #expect(try threads("auto") == nil && threads("Auto") == nil)
        #expect(try threads("16") == 16)
        for text in ["0", "17", "", "many"] { #expect(throws: OptionError.self) { try threads(text) } }
    }

    @Test func choices() throws {
        #expect(try plan("--orientation", "90").orientation.clockwiseDegrees == 90)
        #expect(try plan("--orientation", "270").orientation.clockwiseDegrees == 270)
        #expect(try plan("--content-hint", "Text").contentHint == .text)
        #expect(try plan("--stats", "json").statistics == .json)
        let wrong = error { () throws(any Error) in try plan("--stats", "jsn") } as? OptionError
        #expect(wrong?.description == "--stats 'jsn': unknown. Did you mean json? Choose one of text, json, none.")
    }

    /// What is typed may be long, and may hold orders to the terminal.
    @Test func whatWasTypedIsShownCutAndPlain() throws {
        let text = "\u{1B}[2J" + String(repeating: "9", count: 1_000_000)
        let error = #expect(throws: OptionError.self) { try values("bitrate", text).bitrate("bitrate") }
        #expect((error?.description.count ?? .max) < 300)
        #expect(error?.description.contains("\u{1B}") == false)
    }
}
