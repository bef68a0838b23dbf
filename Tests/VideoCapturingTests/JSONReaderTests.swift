import Testing
import VideoCapturing

/// JSON as servers send it.
@Suite struct JSONReaderTests {
    private func read(_ text: String) -> JSONValue? { JSONValue(reading: text.utf8) }

    @Test(arguments: [
        "null", "true", "false", "0", "-0", "-12", "9223372036854775807", #""text""#, "[]", "{}", "[1,[2,{}]]",
        #"{"a":1,"b":[null,true],"a":2}"#, #""\"\\\n""#,
    ])
    func `Values are read as they were written`(text: String) {
        #expect(read(text)?.text == (text == "-0" ? "0" : text))
    }

    @Test func `Blanks, members and types`() throws {
        let value = try #require(read(" { \"a\" : [ 1 , 2.5 , \"x\" ] ,\r\n\t\"b\":{\"c\":false},\"a\":7 } "))
        #expect(value["a"]?.elements.count == 3)
        #expect(value["a"]?.elements[0].integerValue == 1)
        #expect(value["a"]?.elements[1].integerValue == nil)
        #expect(value["a"]?.elements[2].stringValue == "x")
        #expect(value["b"]?["c"]?.boolValue == false)
        #expect(value["missing"] == nil)
        #expect(value["a"]?["x"] == nil)
        #expect(value.elements.isEmpty)
        #expect(value["b"]?.stringValue == nil)
    }

    @Test(arguments: [
        (#""\u00e9\u20AC""#, "é€"), (#""\ud83d\ude00""#, "😀"), (#""\ud83d""#, "\u{FFFD}"), (#""\ude00x""#, "\u{FFFD}x"),
        (#""\ud83dA""#, "\u{FFFD}A"), (#""\ud83d\u0041""#, "\u{FFFD}A"), (#""\b\f\n\r\t\/""#, "\u{8}\u{C}\n\r\t/"),
        ("\"é😀\"", "é😀"),
    ])
    func `Text is read`(text: String, whole: String) { #expect(read(text)?.stringValue == whole) }

    @Test(arguments: [
        ("1.5", 1.5), ("-2e3", -2000.0), ("1E+2", 100.0), ("9223372036854775808", 9_223_372_036_854_775_808.0),
        ("0.25e-1", 0.025),
    ])
    func `Numbers are read`(text: String, number: Double) {
        guard case .number(let value, _) = read(text) else {
            Issue.record("\(text) was read as another value")
            return
        }
        #expect(value == number)
    }

    @Test(arguments: [
        "", " ", "nul", "nulls", "tru", "01", "-", "+1", ".5", "1.", "1e", "1e+", "0x1", "NaN", "\"", "\"\\\"",
        #""\x""#,
        #""\u12""#, "\"\n\"", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "]", "{", "{\"a\"", "{\"a\":", "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}", "{a:1}", "{1:1}", "{\"a\" 1}", "1 1", "{}{}", "'a'", "//",
    ])
    func `What is no JSON is refused`(text: String) { #expect(read(text) == nil) }

    @Test func `Bytes that are no text are refused`() {
        #expect(JSONValue(reading: [0x22, 0xFF, 0x22]) == nil)
        #expect(JSONValue(reading: [0xEF, 0xBB, 0xBF, 0x31]) == nil)
    }

    @Test func `Nesting has a limit`() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(read(nested(64)) != nil)
        #expect(read(nested(65)) == nil)
        #expect(read(nested(100_000)) == nil)
        #expect(read(String(repeating: "{\"a\":", count: 100_000)) == nil)
    }
}
