import ArgumentParser
import Testing
import VideoCapturing

@testable import CameraCapturer
@testable import CaptureTool

@Suite struct ListCommandTests {
    private func inquiry(_ arguments: String...) throws -> CameraInquiry {
        try #require(try RootCommand.parseAsRoot(["list"] + arguments) as? ListCommand).inquiry()
    }

    @Test func withoutOptionsNoCameraIsNeeded() throws {
        let inquiry = try inquiry()
        #expect(!inquiry.needsCamera)
        #expect(try inquiry.reports(in: machineWithoutCamera).isEmpty)
    }

    @Test func aModeIsChosenForTheUsualSizeAndRateOrTheOnesAskedFor() throws {
        let usual = try #require(try inquiry("--modes").modes)
        #expect("\(usual)" == "640x480 at 30 fps")
        let asked = try #require(
            try inquiry("--modes", "--preset", "cif", "--fps", "29.97", "--capture-format", "mjpg").modes)
        #expect("\(asked)" == "352x288 at 29.97 fps in MJPG")
        #expect(try inquiry("--modes", "--fps", "max").modes?.rate == FrameRate(1000, per: 1))
        #expect(try inquiry("--device", "v4l2:/dev/video2").device == "/dev/video2")
    }

    @Test(arguments: [["--preset", "cif"], ["--fps", "30"], ["--controls", "--capture-format", "NV12"]])
    func whatChoosesAModeNeedsModes(arguments: [String]) throws {
        let command = try #require(try RootCommand.parseAsRoot(["list"] + arguments) as? ListCommand)
        let error = #expect(throws: ExitError.self) { try command.inquiry() }
        #expect(error?.status == .usage)
        #expect(error?.message.contains("add --modes") == true)
    }

    @Test(arguments: [
        (["--modes", "--preset", "huge"], "--size"), (["--modes", "--fps", "0"], "--fps"),
        (["--modes", "--capture-format", "toolong"], "--capture-format"),
        (["--device", ""], "--device '': names no device; "),
        (["--device", "v4l2:"], "--device '': names no device; "),
    ])
    func badValuesAreRefused(arguments: [String], option: String) throws {
        let command = try #require(try RootCommand.parseAsRoot(["list"] + arguments) as? ListCommand)
        let error = #expect(throws: ExitError.self) { try command.inquiry() }
        #expect(error?.status == .usage)
        #expect(error?.message.hasPrefix(option) == true)
    }

    @Test(arguments: [
        CameraInquiry(device: "nosuch"), CameraInquiry(modes: CameraMode.Request(size: .vga640x480, rate: 30)),
        CameraInquiry(wantsControls: true),
    ])
    func withoutACameraTheQuestionIsRefused(inquiry: CameraInquiry) {
        let error = #expect(throws: CaptureError.self) { try inquiry.reports(in: machineWithoutCamera) }
        #expect(error.map { ExitError($0, hasInput: true).status } == .noInput)
    }

    @Test func camerasInJSON() {
        let report = CameraReport(
            camera: webcam(), modes: [modeGroup(.yuyv)], decision: decision(),
            controls: [control("brightness", .integer(range: 0...255, step: 1), .integer(100), default: .integer(128))])
        let text = ListCommand.json(demoCatalog, cameras: [report], screens: []).text
        #expect(text.hasPrefix(#"{"version":1,"sources":["#))
        for part in [
            #""cameras":[{"name":"HD Pro Webcam C920","path":"/dev/video0","#, #""usable":true,"#,
            #""sizes":[{"size":{"width":640,"height":480},"rates":["30","15"]},"#,
            #""negotiated":{"format":"YUYV","size":{"width":640,"height":480},"rate":"30","rateListed":true,"#,
            #""reason":"takes more work to convert""#,
            #""kind":"integer","minimum":0,"maximum":255,"step":1,"value":100,"default":128,"flags":[]"#,
        ] {
            #expect(text.contains(part), "\(part)")
        }
        // What was not asked for is not there.
        let plain = ListCommand.json(demoCatalog, cameras: [CameraReport(camera: webcam())], screens: []).text
        #expect(!plain.contains(#""modes""#) && !plain.contains(#""controls""#) && !plain.contains(#""decision""#))
        #expect(ListCommand.json(demoCatalog, cameras: [], screens: []).text.hasSuffix(#""cameras":[],"screens":[]}"#))
    }
}
