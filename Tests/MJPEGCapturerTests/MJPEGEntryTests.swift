import TestTools
import Testing
import VideoCapturing

@testable import MJPEGCapturer

/// The options of the source `mjpeg`; above all where the name and password come from.
@Suite struct MJPEGEntryTests {
    private func login(
        _ url: String = "http://camera/", option: String? = nil, environment: String? = nil
    ) throws(OptionError) -> MJPEGCapturer.Credential? {
        var request = CapturerEntry.Request(input: url)
        request.options["login"] = option
        return try MJPEGCapturer.Configuration(request) { $0 == "CAPTURER_LOGIN" ? environment : nil }.credential
    }

    private func user(_ name: String, _ password: String) -> MJPEGCapturer.Credential {
        MJPEGCapturer.Credential(user: name, password: password)
    }

    @Test func theRateIsAnOption() throws {
        func configuration(_ rate: String?) throws -> MJPEGCapturer.Configuration {
            var request = CapturerEntry.Request(input: "http://camera/")
            request.options["fps"] = rate
            return try MJPEGCapturer.Configuration(request) { _ in nil }
        }
        #expect(try configuration(nil).maximumFrameRate == nil)
        #expect(try configuration(nil).pollInterval == .milliseconds(200))
        #expect(try configuration("0.5").maximumFrameRate == FrameRate(1, per: 2))
        #expect(try configuration("0.5").pollInterval == .seconds(2))
        #expect(try configuration("max").maximumFrameRate == nil)
        #expect(try configuration("max").pollInterval == .milliseconds(1))
        #expect(throws: OptionError.self) { try configuration("often") }
    }

    @Test func theOptionComesFirst() throws {
        #expect(try login(option: "bob:ge:heim") == user("bob", "ge:heim"))
        #expect(try login("http://ann:x@camera/", option: "bob:y", environment: "eve:z") == user("bob", "y"))
        #expect(try login(environment: "eve:z") == user("eve", "z"))
        // The capturer takes those of the URL then.
        #expect(try login("http://ann:x@camera/", environment: "eve:z") == nil)
        #expect(try login(environment: "") == nil)
        #expect(try login() == nil)
    }

    @Test func aFileHoldsIt() throws {
        let folder = TemporaryFolder()
        let path = try folder.write(Array("bob:geheim\r\nmore\n".utf8), to: "login")
        #expect(try login(option: "@\(path)") == user("bob", "geheim"))
        #expect(try login(environment: "@\(path)") == user("bob", "geheim"))
        let error = #expect(throws: OptionError.self) { try login(option: "@\(path).none") }
        #expect(error?.description.contains("\(path).none' cannot be read: ") == true)
    }

    @Test func noErrorShowsThePassword() {
        let advice = "give NAME:PASSWORD, or @FILE with that in its first line."
        let option = #expect(throws: OptionError.self) { try login(option: "geheim") }
        #expect(option?.description == "--login: \(advice)")
        let variable = #expect(throws: OptionError.self) { try login(environment: "x") }
        #expect(variable?.description == "CAPTURER_LOGIN: \(advice)")
    }

    @Test func everyOtherOptionArrives() throws {
        var request = CapturerEntry.Request(input: "https://camera/")
        request.options["pixel-format"] = "I420"
        request.options["ca-file"] = "ca.pem"
        var configuration = try MJPEGCapturer.Configuration(request) { _ in nil }
        #expect(configuration.pixelFormat == .i420)
        #expect(configuration.trust == .authorities(path: "ca.pem"))
        request.options["insecure"] = ""
        configuration = try MJPEGCapturer.Configuration(request) { _ in nil }
        #expect(configuration.trust == .acceptsSelfSigned)
    }
}
