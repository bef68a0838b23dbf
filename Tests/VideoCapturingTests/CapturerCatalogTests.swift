import Testing
import VideoCapturing

@Suite struct CapturerCatalogTests {
    private let catalog = CapturerCatalog([
        CapturerEntry(
            name: "empty", summary: "Nothing.", schemes: ["empty"],
            options: [.init("input", "where from", default: nil)]
        ) { request throws(CaptureError) in
            guard request.input != nil else {
                throw CaptureError(.invalidConfiguration, operation: "make a capture", message: "Name an input.")
            }
            return PushCapturer(format: request.format(default: .nv12(width: 8, height: 4)))
        },
        CapturerEntry(name: "web", summary: "The web.", schemes: ["http", "https"]) { _ throws(CaptureError) in
            PushCapturer(format: .i420(width: 2, height: 2))
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
            CapturerEntry(name: "Noise", summary: "Noise.", schemes: ["Noise"]) { _ throws(CaptureError) in
                PushCapturer(format: .i420(width: 2, height: 2))
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
        var request = CaptureRequest()
        request.input = "x"
        request.size = (640, 480)
        let capture = try #require(try catalog.entry(named: "empty")?.makeCapture(request))
        let format = capture.captureSettings().format
        #expect(format.pixelFormat == .nv12)
        #expect((format.imageWidth, format.imageHeight) == (640, 480))
        #expect(request.frameRate(default: 25) == 25)
        request.rate = .maximum
        #expect(request.frameRate(default: 25) == nil)
        #expect(throws: CaptureError.self) { try catalog.entry(named: "empty")?.makeCapture(CaptureRequest()) }
    }
}
