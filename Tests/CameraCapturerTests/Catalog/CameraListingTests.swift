import Testing
import VideoCapturing

@testable import CameraCapturer

/// What listings and self-tests ask cameras, and get.
@Suite struct CameraListingTests {
    private func inquiry(_ options: [String: [String]] = [:]) throws(OptionError) -> CameraInquiry {
        try CameraInquiry(OptionValues(options))
    }

    @Test func withoutOptionsNoCameraIsNeeded() throws {
        let inquiry = try inquiry()
        #expect(!inquiry.needsCamera)
        #expect(try inquiry.reports(in: machineWithoutCamera).isEmpty)
    }

    @Test func aModeIsChosenForTheUsualSizeAndRateOrTheOnesAskedFor() throws {
        let usual = try #require(try inquiry(["modes": [""]]).modes)
        #expect("\(usual)" == "640x480 at 30 fps")
        let asked = try #require(
            try inquiry(["modes": [""], "size": ["cif"], "fps": ["29.97"], "capture-format": ["mjpg"]]).modes)
        #expect("\(asked)" == "352x288 at 29.97 fps in MJPG")
        #expect(try inquiry(["modes": [""], "fps": ["max"]]).modes?.rate == 1000)
        #expect(try inquiry(["device": ["v4l2:/dev/video2"]]).device == "/dev/video2")
    }

    @Test(arguments: [["size": ["cif"]], ["fps": ["30"]], ["controls": [""], "capture-format": ["NV12"]]])
    func whatChoosesAModeNeedsModes(options: [String: [String]]) {
        let error = #expect(throws: OptionError.self) { try inquiry(options) }
        #expect(error?.description.contains("add --modes") == true)
    }

    @Test(arguments: [
        CameraInquiry(device: "nosuch"), CameraInquiry(modes: CameraMode.Request(size: .vga640x480, rate: 30)),
        CameraInquiry(wantsControls: true),
    ])
    func withoutACameraTheQuestionIsRefused(inquiry: CameraInquiry) {
        let error = #expect(throws: CaptureError.self) { try inquiry.reports(in: machineWithoutCamera) }
        #expect(error?.code == .deviceNotFound)
    }

    @Test func camerasInJSON() {
        let report = CameraReport(
            camera: webcam(), modes: [modeGroup(.yuyv)], decision: decision(),
            controls: [control("brightness", .integer(range: 0...255, step: 1), .integer(100), default: .integer(128))])
        let text = CameraJSON.camera(report).text
        for part in [
            #"{"name":"HD Pro Webcam C920","path":"/dev/video0","#, #""usable":true,"#,
            #""sizes":[{"size":{"width":640,"height":480},"rates":["30","15"]},"#,
            #""negotiated":{"format":"YUYV","size":{"width":640,"height":480},"rate":"30","rateListed":true,"#,
            #""reason":"takes more work to convert""#,
            #""kind":"integer","minimum":0,"maximum":255,"step":1,"value":100,"default":128,"flags":[]"#,
        ] {
            #expect(text.contains(part), "\(part)")
        }
        // What was not asked for is not there.
        let plain = CameraJSON.camera(CameraReport(camera: webcam())).text
        #expect(!plain.contains(#""modes""#) && !plain.contains(#""controls""#) && !plain.contains(#""decision""#))
    }

    @Test func aSelfTestSaysHowToFixIt() {
        let none = CameraReport.findings(machineWithoutCamera)
        #expect(none.map(\.state) == [.missing])
        #expect(none[0].remedy?.contains("There is no camera") == true)
        let access = CameraDevice.Denial(path: "/dev/video0", user: "ann", remedy: .joinGroup("video"), errno: 13)
        let closed = CameraReport.finding(webcam(access: .noPermission(access)))
        #expect(closed.state == .missing)
        #expect(closed.detail == "HD Pro Webcam C920, no permission")
        #expect(closed.remedy?.contains("sudo usermod -aG video ann") == true)
        #expect(CameraReport.finding(webcam()).state == .ok)
    }
}
