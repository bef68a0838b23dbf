import ArgumentParser
import TestTools
import Testing
import VideoCapturing

@testable import CaptureTool

/// Where the name and password of a network camera come from.
@Suite struct CameraLoginTests {
    private func login(
        _ url: String = "http://camera/", option: String? = nil, environment: String? = nil
    ) throws(OptionError) -> [String]? {
        var request = CaptureRequest()
        request.input = url
        if let option { request.further["login"] = [option] }
        let found = try cameraLogin(request) { $0 == "CAPTURER_LOGIN" ? environment : nil }
        return found.map { [$0.name, $0.password] }
    }

    @Test func theOptionComesFirst() throws {
        #expect(try login(option: "bob:ge:heim") == ["bob", "ge:heim"])
        #expect(try login("http://ann:x@camera/", option: "bob:y", environment: "eve:z") == ["bob", "y"])
        #expect(try login(environment: "eve:z") == ["eve", "z"])
        // The capturer takes those of the URL then.
        #expect(try login("http://ann:x@camera/", environment: "eve:z") == nil)
        #expect(try login(environment: "") == nil)
        #expect(try login() == nil)
    }

    @Test func aFileHoldsIt() throws {
        let folder = TemporaryFolder()
        let path = try folder.write(Array("bob:geheim\r\nmore\n".utf8), to: "login")
        #expect(try login(option: "@\(path)") == ["bob", "geheim"])
        #expect(try login(environment: "@\(path)") == ["bob", "geheim"])
        #expect(throws: OptionError.self) { try login(option: "@\(path).none") }
    }

    @Test func noFaultShowsThePassword() throws {
        func fault(_ body: () throws(OptionError) -> Void) -> String? {
            do throws(OptionError) {
                try body()
                return nil
            } catch {
                return error.description
            }
        }
        let advice = "give NAME:PASSWORD, or @FILE with that in its first line."
        #expect(fault { () throws(OptionError) in _ = try login(option: "geheim") } == "--login: \(advice)")
        #expect(fault { () throws(OptionError) in _ = try login(environment: "x") } == "CAPTURER_LOGIN: \(advice)")
        let options = try CaptureOptions.parse(["--source", "noise", "--login", "bob:geheim"])
        #expect(
            fault { () throws(OptionError) in _ = try CapturePlan(options, catalog: demoCatalog) }
                == "--login: noise has no such option; see capturer-demo list.")
    }
}
