import Testing
import VideoCapturing

@Suite struct CapturerCatalogTests {
    private let catalog = CapturerCatalog([
        CapturerEntry(
            name: "empty", summary: "Nothing.", schemes: ["empty"],
            options: [OptionDescription("input", .file, "where from", default: nil), .size(default: "8x4")],
            inputOption: "input"
        ) { request in
            guard request.input != nil else { throw OptionError("input", nil, "name an input.") }
            return CatalogSource(PushCapturer(format: try request.format(default: .nv12(width: 8, height: 4))))
        },
        CapturerEntry(name: "web", summary: "The web.", schemes: ["http", "https"]) { _ in
            CatalogSource(PushCapturer(format: .i420(width: 2, height: 2)))
        },
    ])

    @Test func entriesAreFoundByNameAndScheme() {
        #expect(catalog.names == ["empty", "web"])
        #expect(catalog.entry(named: "WEB")?.summary == "The web.")
        #expect(catalog.entry(named: "wb") == nil)
        #expect(catalog.entry(forURL: "HTTPS://host/video")?.name == "web")
        #expect(catalog.entry(forURL: "ftp://host") == nil)
        #expect(catalog.entry(forURL: "clip.y4m") == nil)
    }

    @Test func theCaseOfAnEntryDoesNotMatter() {
        let catalog = CapturerCatalog([
            CapturerEntry(name: "Noise", summary: "Noise.", schemes: ["Noise"]) { _ in
                CatalogSource(PushCapturer(format: .i420(width: 2, height: 2)))
            }
        ])
        for name in ["Noise", "noise", "NOISE"] {
            #expect(catalog.entry(named: name)?.name == "Noise")
            #expect(catalog.entry(forURL: "\(name):x")?.name == "Noise")
        }
    }

    @Test(arguments: [
        ("http://x", "http"), ("a+b-c.1:", "a+b-c.1"), ("1a:x", nil), (":x", nil), ("", nil), ("a b:c", nil),
        ("é:x", nil),
    ])
    func schemes(url: String, scheme: String?) {
        #expect(CapturerCatalog.scheme(of: url) == scheme)
    }

    @Test func aRequestFillsInWhatIsLeftOpen() throws {
        let entry = try #require(catalog.entry(named: "empty"))
        var request = CapturerEntry.Request(input: "x")
        request.options["size"] = "640x480"
        let source = try entry.make(request)
        let format = source.capture.captureSettings().format
        #expect(format.pixelFormat == .nv12)
        #expect((format.imageWidth, format.imageHeight) == (640, 480))
        #expect(try request.frameRate(default: 25) == 25)
        #expect(!request.asksForMaximumRate)
        request.options["fps"] = "Max"
        #expect(try request.frameRate(default: 25) == nil)
        #expect(request.asksForMaximumRate)
        #expect(throws: OptionError.self) { try entry.make(CapturerEntry.Request()) }
        #expect(entry.option(named: "preset")?.name == "size")
        // What an entry does not say has no effect.
        #expect(!source.isRecording && source.inputPath == nil && source.progress() == nil)
        try source.checkOptions()
    }
}
