import Testing
import VideoCapturing

/// Options that several capturers have.
@Suite struct VideoOptionTests {
    private func size(_ text: String) throws(OptionError) -> PixelSize? {
        try OptionValues(["size": [text]]).size("size")
    }

    private func rate(_ text: String) throws(OptionError) -> CapturerEntry.Request.Rate? {
        try OptionValues(["fps": [text]]).rate("fps")
    }

    @Test(arguments: [
        ("640x480", 640, 480), ("2x2", 2, 2), ("16383x1", 16383, 1), ("641X479", 641, 479), ("vga", 640, 480),
        ("CIF", 352, 288), ("720p", 1280, 720), ("1080p", 1920, 1080), ("4k", 3840, 2160),
    ])
    func sizes(text: String, width: Int, height: Int) throws {
        #expect(try size(text) == PixelSize(width: width, height: height))
    }

    @Test(arguments: [
        "", "x", "640", "640x", "x480", "0x480", "640x0", "-2x480", "+2x2", "16384x2", "640x480x3", "640.5x480",
        "99999999999999999999x1", "６４０x480",
    ])
    func invalidSizes(text: String) {
        #expect(throws: OptionError.self) { try size(text) }
    }

    @Test func theNearestSizeIsNamed() {
        let error = #expect(throws: OptionError.self) { try size("72p") }
        #expect(error?.description.contains("--size '72p': not a size. Did you mean 720p?") == true)
    }

    @Test func rates() throws {
        #expect(try rate("30") == .frames(30))
        #expect(try rate("12.5") == .frames(FrameRate(25, per: 2)!))
        #expect(try rate("29.97") == .frames(FrameRate(30000, per: 1001)!))
        #expect(try rate("1/10") == .frames(FrameRate(1, per: 10)!))
        #expect(try rate("MAX") == .maximum)
    }

    @Test(arguments: ["", "0", "-1", "nan", "inf", "1/0", "0/1", "30/-1", "1e9", "1001", "1/3601", "2000000000", "x"])
    func invalidRates(text: String) {
        #expect(throws: OptionError.self) { try rate(text) }
    }

    @Test func pixelFormats() throws {
        #expect(try OptionValues(["pixel-format": ["i420"]]).pixelFormat("pixel-format") == .i420)
        let error = #expect(throws: OptionError.self) {
            try OptionValues(["pixel-format": ["nv21x"]]).pixelFormat("pixel-format")
        }
        #expect(error?.description.contains("Did you mean nv21?") == true)
    }
}
