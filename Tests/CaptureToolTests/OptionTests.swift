import FrameProcessing
import MediaContainers
import Testing
import VideoCapturing

@testable import CaptureTool

@Suite struct OptionTests {
    @Test(arguments: [
        ("640x480", 640, 480), ("2x2", 2, 2), ("16383x1", 16383, 1), ("641X479", 641, 479), ("vga", 640, 480),
        ("CIF", 352, 288), ("720p", 1280, 720), ("1080p", 1920, 1080), ("4k", 3840, 2160),
    ])
    func sizes(text: String, width: Int, height: Int) throws {
        let size = try PictureSizeOption.parse(text)
        #expect(size.width == width)
        #expect(size.height == height)
    }

    @Test(arguments: [
        "", "x", "640", "640x", "x480", "0x480", "640x0", "-2x480", "+2x2", "16384x2", "640x480x3", "640.5x480",
        "99999999999999999999x1", "６４０x480",
    ])
    func sizesThatAreNone(text: String) {
        #expect(error { () throws(OptionError) in try PictureSizeOption.parse(text) } != nil)
    }

    @Test func theNearestSizeIsNamed() throws {
        let error = try #require(error { () throws(OptionError) in try PictureSizeOption.parse("72p") })
        #expect(error.description.contains("Did you mean 720p?"))
    }

    @Test func rates() throws {
        #expect(try RateOption.parse("30") == .frames(30))
        #expect(try RateOption.parse("12.5") == .frames(FrameRate(25, per: 2)!))
        #expect(try RateOption.parse("29.97") == .frames(FrameRate(30000, per: 1001)!))
        #expect(try RateOption.parse("1/10") == .frames(FrameRate(1, per: 10)!))
        #expect(try RateOption.parse("MAX") == .maximum)
    }

    @Test(arguments: ["", "0", "-1", "nan", "inf", "1/0", "0/1", "30/-1", "1e9", "1001", "1/3601", "2000000000", "x"])
    func ratesThatAreNone(text: String) {
        #expect(error { () throws(OptionError) in try RateOption.parse(text) } != nil)
    }

    @Test(arguments: [
        ("1000", 1000), ("800k", 800_000), ("800K", 800_000), ("1.5M", 1_500_000), ("0.064M", 64_000),
        ("2000M", 2_000_000_000),
    ])
    func bitrates(text: String, value: Int) throws {
        #expect(try BitrateOption.parse(text) == value)
    }

    @Test(arguments: [
        "", "0", "999", "-1", "5X", "1e3k", "k", "M", ".5M", "1.M", "1.0000001M", "1.5", "2001M",
        "9999999999999999999M",
    ])
    func bitratesThatAreNone(text: String) {
        #expect(error { () throws(OptionError) in try BitrateOption.parse(text) } != nil)
    }

    @Test func times() throws {
        #expect(try TimeOption.parse("10", option: "--duration") == .seconds(10))
        #expect(try TimeOption.parse("2.5s", option: "--duration") == .milliseconds(2500))
        #expect(try TimeOption.parse("0.000000001", option: "--duration") == .nanoseconds(1))
        for text in ["", "0", "-1", "nan", "inf", "1e3", "soon", "s", "1.", "99999999999", "0.0000000001"] {
            #expect(
                error { () throws(OptionError) in try TimeOption.parse(text, option: "--duration") } != nil, "\(text)")
        }
    }

    @Test func keyFrameIntervals() throws {
        #expect(try KeyFrameIntervalOption.parse("2") == .time(.seconds(2)))
        #expect(try KeyFrameIntervalOption.parse("0.5s") == .time(.milliseconds(500)))
        #expect(try KeyFrameIntervalOption.parse("60f") == .frames(60))
        for text in ["", "0", "-1", "often", "0f", "f", "-1f", "1.5f", "1000001f"] {
            #expect(error { () throws(OptionError) in try KeyFrameIntervalOption.parse(text) } != nil, "\(text)")
        }
    }

    /// A frame may be a nanosecond early, by rounding: the sixtieth must be a key frame all the same.
    @Test(arguments: ["30", "29.97", "59.94", "7"])
    func aKeyFrameIntervalInFramesIsExact(rate: String) throws {
        let rate = try #require(FrameRate(rate))
        let interval = KeyFrameIntervalOption.frames(60).duration(at: rate)
        for first in Int64(0)..<100 {
            #expect(rate.time(ofFrame: first + 60) - rate.time(ofFrame: first) >= interval)
            #expect(rate.time(ofFrame: first + 59) - rate.time(ofFrame: first) < interval)
        }
    }

    @Test func choices() throws {
        #expect(try ChoiceOption.orientation("90").clockwiseDegrees == 90)
        #expect(try ChoiceOption.orientation("270").clockwiseDegrees == 270)
        #expect(try ChoiceOption.contentHint("Text") == .text)
        #expect(try ChoiceOption.pixelFormat("i420") == .i420)
        #expect(try ChoiceOption.statistics("json") == .json)
        let wrong = try #require(error { () throws(OptionError) in try ChoiceOption.statistics("jsn") })
        #expect(wrong.description == "--stats 'jsn': unknown. Did you mean json? Choose one of text, json, none.")
    }

    @Test(arguments: [
        ("a.webm", OutputFormat.webm, "a.webm"), ("dir.d/A.IVF", .ivf, "dir.d/A.IVF"), ("-", .webm, "-"),
        ("md5", .md5, "-"), ("ivf:-", .ivf, "-"), ("y4m:/dev/fd/3", .y4m, "/dev/fd/3"), ("nv12:a.bin", .nv12, "a.bin"),
        ("photos:today.webm", .webm, "photos:today.webm"), ("a.md5", .md5, "a.md5"),
    ])
    func outputs(text: String, format: OutputFormat, path: String) throws {
        #expect(try OutputName.parse(text) == OutputName(format: format, path: path))
    }

    @Test func theNullOutputHasNoPath() throws {
        #expect(try OutputName.parse("null") == OutputName(format: .null, path: nil))
        #expect(try OutputName.parse("null:x") == OutputName(format: .null, path: nil))
    }

    @Test(arguments: ["", "a", "a.wbem", "webm:", "yuf:-", ":-", ".webm", "a\0b.webm", "a.x\n", "a.x\u{2028}"])
    func outputsThatAreNone(text: String) throws {
        let error = try #require(error { () throws(OptionError) in try OutputName.parse(text) })
        #expect(!error.description.contains { $0.isNewline })
    }

    /// What is typed may be long, and may hold orders to the terminal.
    @Test func whatWasTypedIsShownCutAndPlain() throws {
        let text = "\u{1B}[2J" + String(repeating: "9", count: 1_000_000)
        let error = try #require(error { () throws(OptionError) in try BitrateOption.parse(text) })
        #expect(error.description.count < 300)
        #expect(!error.description.contains("\u{1B}"))
    }
}
