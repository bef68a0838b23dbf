import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The one shape of all errors, and what programs and pages read of them.
@Suite struct MediaErrorTests {
    @Test func saysWhatTheSystemOrTheLibrarySaid() {
        let capture = CaptureError(
            .deviceBusy, operation: "open", subject: "/dev/video0", errno: EBUSY, message: "Another program has it.")
        #expect("\(capture)" == "/dev/video0: Another program has it. (open: Device or resource busy)")
        let codec = CodecError(.library, operation: "encode", subject: "VP8", libraryCode: 4, message: "It failed.")
        #expect("\(codec)" == "VP8: It failed. (encode: library code 4)")
        #expect("\(CodecError(.corruptData, operation: "decode", message: "It is damaged."))" == "It is damaged.")
    }

    @Test func masksPasswordsInEveryError() {
        let url = "http://bob:secret@camera/"
        let error = CodecError(.corruptData, operation: "decode", subject: url, message: "Nothing at \(url).")
        #expect(error.subject == "http://…@camera/" && error.message == "Nothing at http://…@camera/.")
    }

    @Test(
        arguments: [
            (CaptureError(.permissionDenied, operation: "open", message: "No."), ErrorCategory.noPermission),
            (CaptureError(.invalidConfiguration, operation: "open", message: "No."), .usage),
            (CaptureError(.deviceLost, operation: "read", message: "No."), .disconnected),
            (CodecError(.library, operation: "encode", message: "No."), .unavailable),
        ] as [(any CategorizedError, ErrorCategory)])
    func belongsToAGroup(error: any CategorizedError, category: ErrorCategory) {
        #expect(error.category == category)
        #expect((error as any Error as? any CategorizedError)?.category == category)
    }

    @Test func writesJSONWithSpacesAndForPages() {
        let value = JSONValue.object([
            ("a", .array([.count(1), .bool(false)])), ("b", .number(29.97, decimals: 3)), ("c", .string("</script>")),
        ])
        #expect(value.text(space: " ") == #"{"a": [1, false], "b": 29.970, "c": "\u003c/script>"}"#)
        #expect(value.text == #"{"a":[1,false],"b":29.970,"c":"\u003c/script>"}"#)
    }

    @Test func timestampsIncrease() {
        let time = MediaTime(nanoseconds: 5)
        #expect(time.increasing(after: nil) == time)
        #expect(time.increasing(after: MediaTime(nanoseconds: 4)) == time)
        #expect(time.increasing(after: time) == MediaTime(nanoseconds: 6))
        #expect(time.increasing(after: MediaTime(nanoseconds: .max)) == MediaTime(nanoseconds: .max))
    }
}
