import Testing
import VideoCapturing

/// Percent-encoding in addresses.
@Suite struct PercentEncodingTests {
    @Test(arguments: [
        ("", ""), ("a%20b", "a b"), ("%c3%A9", "é"), ("p%40ss%2Fw%3a", "p@ss/w:"), ("%2541", "%41"), ("é%41", "éA"),
        // Cut or malformed escapes stay.
        ("%", "%"), ("a%4", "a%4"), ("%zz", "%zz"), ("%4z", "%4z"), ("%%41", "%A"), ("%+f%-1%0x", "%+f%-1%0x"),
        ("%４１", "%４１"),
        ("a%00b", "a\0b"), ("%0D%0A", "\r\n"),
        // Not UTF-8: a lone byte, an overlong slash, half a surrogate pair.
        ("%FFa", "\u{FFFD}a"), ("%C0%AF", "\u{FFFD}\u{FFFD}"), ("%ED%A0%80", "\u{FFFD}\u{FFFD}\u{FFFD}"),
    ])
    func decoding(text: String, decoded: String) {
        #expect(Array(percentDecoded(text.utf8).utf8) == Array(decoded.utf8))
    }

    @Test func aPlusSignIsABlankOnlyInQueries() {
        #expect(percentDecoded("a+b%2Bc".utf8) == "a+b+c")
        #expect(percentDecoded("a+b%2Bc".utf8, decodesPlus: true) == "a b+c")
    }

    @Test func encoding() {
        #expect(percentEncoded("aZ09-._~".utf8) == "aZ09-._~")
        #expect(percentEncoded("a b/\"%é\0".utf8) == "a%20b%2F%22%25%C3%A9%00")
        #expect(percentEncoded("/a b?é%41".utf8) { $0 > 0x20 && $0 < 0x80 } == "/a%20b?%C3%A9%41")
    }
}
