import MediaContainers
import Testing
import VideoCapturing

@testable import CaptureTool

/// Text from outside, before it comes to a terminal.
@Suite struct PrintableTests {
    @Test(arguments: [
        "\u{1B}", "\n", "\u{7F}", "\u{85}", "\u{9B}", "\u{2028}", "\u{2029}", "\u{200B}", "\u{200D}", "\u{200E}",
        "\u{202A}", "\u{202E}", "\u{2060}", "\u{2066}", "\u{2069}", "\u{FEFF}", "\u{AD}", "\u{61C}", "\u{FFF9}",
        "\u{E0041}", "\u{115F}", "\u{3164}",
    ])
    func whatIsObeyedOrUnseenIsReplaced(_ text: String) {
        #expect(printable("a\(text)b", limit: 9) == "a?b")
        let value = JSONValue.string("a\(text)b").text
        #expect(value.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) }, "\(value)")
    }

    @Test(arguments: ["Caméra de Zoë", "ビデオ 📷", "e\u{301}", "❤\u{FE0F}", "שלום", "a?b…"])
    func whatPeopleReadStays(_ text: String) {
        #expect(printable(text, limit: 99) == text)
        #expect(JSONValue.string(text).text == "\"\(text)\"")
    }

    @Test func longTextIsCut() {
        #expect(printable("12345", limit: 5) == "12345")
        #expect(printable("123456", limit: 5) == "12345…")
    }

    /// In JSON it is the same text again for who reads it.
    @Test func jsonKeepsItsText() {
        #expect(JSONValue.string("\u{202E}\u{9B}\u{E0041}").text == #""\u202e\u009b\udb40\udc41""#)
    }

    @Test(arguments: [
        ("rtsp://bob:geheim@h/x", "rtsp://…@h/x"), ("--input 'http://bob:geheim@h'", "--input 'http://…@h'"),
        ("rtsp://bob@h/x", "rtsp://…@h/x"), ("//bob:geheim@h/x", "//…@h/x"),
        ("rtsp://bob:ge@heim@h/x", "rtsp://…@h/x"), ("rtsp://bob:ge heim@h/x", "rtsp://…@h/x"),
        // Characters that should have been percent-encoded.
        ("rtsp://bob:ge/heim@h/x", "rtsp://…@h/x"), ("rtsp://bob:ge?he#im@h/x", "rtsp://…@h/x"),
        ("from http://a:b@c/ to http://d:e@f/.", "from http://…@c/ to http://…@f/."),
        ("https://h:8080/img@2x.png", "https://h:8080/img@2x.png"), ("mail bob@h", "mail bob@h"),
        ("http://h/a and bob@h", "http://h/a and bob@h"), ("/data//bob@home.webm", "/data//bob@home.webm"),
        ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
    ])
    func passwordsInAddressesAreMasked(_ text: String, _ shown: String) {
        #expect(printable(text, limit: 200) == shown)
        #expect(CaptureError(.system, operation: "read", subject: text, message: text).subject == shown)
        #expect("\(CaptureError(.system, operation: "read", message: text))" == shown)
        #expect(MediaFileError(.system, operation: "read", subject: text, message: text).subject == shown)
        #expect("\(MediaFileError(.system, operation: "read", message: text))" == shown)
        #expect(CaptureSettings(format: .nv12(width: 2, height: 2), sourceName: text).sourceName == shown)
    }
}
