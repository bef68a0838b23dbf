import ArgumentParser
import Testing
import VideoCapturing

@testable import CameraCapturer
@testable import CaptureTool

@Suite struct CameraEntryTests {
    private func configuration(_ arguments: String...) throws -> CameraCapturer.Configuration {
        let plan = try CapturePlan(CaptureOptions.parse(arguments), catalog: demoCatalog)
        #expect(plan.source.name == "camera")
        return try cameraConfiguration(plan.request)
    }

    @Test func withoutOptionsItIsTheFirstCameraInVGA() throws {
        let configuration = try configuration("--source", "camera")
        #expect(configuration == CameraCapturer.Configuration(preset: .vga640x480, desiredFrameRate: 30))
    }

    @Test func everyOptionArrives() throws {
        let configuration = try configuration(
            "--device", "C920", "--preset", "352x288", "--fps", "30000/1001", "--capture-format", "yuyv", "--control",
            "brightness=128", "--control", "focus_absolute=a=b", "--keep-rate")
        #expect(configuration.device == "C920")
        #expect(configuration.preset == .cif352x288)
        #expect(configuration.desiredFrameRate == FrameRate(30000, per: 1001))
        #expect(configuration.captureFormat == .yuyv)
        #expect(
            configuration.controls == [
                .init(name: "brightness", value: "128"), .init(name: "focus_absolute", value: "a=b"),
            ])
        #expect(configuration.keepsFrameRate)
    }

    @Test func aDeviceOrItsURLMeansTheCamera() throws {
        #expect(try configuration("--device", "/dev/video2").device == "/dev/video2")
        #expect(try configuration("--input", "v4l2:/dev/video2").device == "/dev/video2")
        #expect(try configuration("--device", "v4l2:/dev/video2").device == "/dev/video2")
    }

    @Test func asFastAsPossibleIsMoreThanAnyCameraHas() throws {
        #expect(try configuration("--source", "camera", "--fps", "max").desiredFrameRate == FrameRate(1000, per: 1))
    }

    @Test func explainingIsForTheToolToDo() throws {
        #expect(try plan("--source", "camera", "--explain").explains)
        #expect(try !plan("--source", "camera").explains)
    }

    @Test(arguments: [
        ["--control", "foo"], ["--control", "foo="], ["--control", "=1"], ["--control", ""],
        ["--capture-format", "toolong"], ["--capture-format", ""],
    ])
    func whatCannotBeIsTheCommandLinesFault(arguments: [String]) throws {
        let plan = try CapturePlan(CaptureOptions.parse(["--source", "camera"] + arguments), catalog: demoCatalog)
        let error = #expect(throws: CaptureError.self) { try plan.source.makeCapture(plan.request) }
        #expect(error?.operation == ExitError.checkingOptions)
        #expect(error.map { ExitError($0, hasInput: false).status } == .usage)
        #expect(error.map { "\($0)".hasPrefix(arguments[0]) } == true)
    }

    @Test(arguments: [
        ["--source", "noise", "--control", "x=1"], ["--source", "noise", "--keep-rate"],
        ["--source", "noise", "--explain"], ["--source", "noise", "--capture-format", "NV12"],
        ["--source", "file", "--input", "a.y4m", "--device", "0"], ["--source", "camera", "--seed", "1"],
        ["--source", "camera", "--input", "a.y4m"], ["--source", "camera", "--pixel-format", "nv12"],
    ])
    func optionsOfOtherSourcesAreRefused(arguments: [String]) throws {
        let options = try CaptureOptions.parse(arguments)
        let error = try #require(
            error { () throws(OptionError) in try CapturePlan(options, catalog: demoCatalog) })
        #expect(error.description.contains("has no such option"))
        #expect(!error.description.contains("''"))
    }

    @Test func formatsHaveFourCharacters() throws {
        #expect(try CaptureFormatOption.parse("mjpg") == .mjpeg)
        #expect(try CaptureFormatOption.parse("NV12") == .nv12)
        // Unknown ones are taken as they are written: the camera knows.
        #expect(try CaptureFormatOption.parse("pRAA") == "pRAA")
        #expect(throws: OptionError.self) { try CaptureFormatOption.parse("NV12M") }
    }
}
