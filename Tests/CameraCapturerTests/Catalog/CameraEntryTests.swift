import Testing
import VideoCapturing

@testable import CameraCapturer

/// The options of the source `camera`.
@Suite struct CameraEntryTests {
    private func configuration(
        _ input: String? = nil, _ options: [String: [String]] = [:]
    ) throws(OptionError) -> CameraCapturer.Configuration {
        try CameraCapturer.Configuration(CapturerEntry.Request(input: input, options: OptionValues(options)))
    }

    @Test func withoutOptionsItIsTheFirstCameraInVGA() throws {
        #expect(try configuration() == CameraCapturer.Configuration(preset: .vga640x480, desiredFrameRate: 30))
    }

    @Test func everyOptionArrives() throws {
        let configuration = try configuration(
            "C920",
            [
                "size": ["352x288"], "fps": ["30000/1001"], "capture-format": ["yuyv"],
                "control": ["brightness=128", "focus_absolute=a=b"], "keep-rate": [""],
            ])
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

    /// What the entry describes is what it reads.
    @Test func everyOptionOfTheEntryIsRead() throws {
        let values = [
            "size": "cif", "fps": "15", "capture-format": "NV12", "control": "a=b", "keep-rate": "",
            "deinterlace": "no", "explain": "",
        ]
        let plain = try configuration()
        for option in CapturerEntry.camera.options where option.name != "device" && option.name != "explain" {
            let value = try #require(values[option.name])
            #expect(try configuration(nil, [option.name: [value]]) != plain, "\(option.name)")
        }
        #expect(CapturerEntry.camera.inputOption == "device")
    }

    @Test func aDeviceMayBeAURL() throws {
        #expect(try configuration("/dev/video2").device == "/dev/video2")
        #expect(try configuration("v4l2:/dev/video2").device == "/dev/video2")
    }

    @Test func asFastAsPossibleIsMoreThanAnyCameraHas() throws {
        #expect(try configuration(nil, ["fps": ["max"]]).desiredFrameRate == 1000)
    }

    @Test(arguments: [
        ("control", "foo"), ("control", "foo="), ("control", "=1"), ("control", ""), ("capture-format", "toolong"),
        ("capture-format", ""), ("size", "huge"), ("fps", "0"),
    ])
    func invalidValues(option: String, value: String) {
        let error = #expect(throws: OptionError.self) { try configuration(nil, [option: [value]]) }
        #expect(error?.description.hasPrefix("--\(option) '\(value)': ") == true)
    }

    /// A script passes an empty name when a variable is not set.
    @Test(arguments: ["", " ", "v4l2:"])
    func anEmptyNameIsNoDevice(name: String) {
        let error = #expect(throws: OptionError.self) { try configuration(name) }
        #expect(error?.description.contains("names no device; give /dev/videoN, ") == true)
        #expect(error?.description.hasSuffix("or leave it out for the first that can be used.") == true)
        #expect(throws: OptionError.self) { try CameraInquiry(OptionValues(["device": [name]])) }
    }

    @Test func formatsHaveFourCharacters() throws {
        func format(_ text: String) throws(OptionError) -> FourCC? {
            try OptionValues(["capture-format": [text]]).captureFormat("capture-format")
        }
        #expect(try format("mjpg") == .mjpeg)
        #expect(try format("NV12") == .nv12)
        // Unknown ones are taken as they are written: the camera knows.
        #expect(try format("pRAA") == "pRAA")
        #expect(throws: OptionError.self) { try format("NV12M") }
    }

    @Test func aCameraThatIsNotThereIsTheInputsFault() throws {
        let source = try CapturerEntry.camera.make(CapturerEntry.Request(input: "/dev/null"))
        #expect(throws: CaptureError.self) { try source.capture.initCapture() }
        #expect(source.isInputAtFault())
        #expect(source.explanation() == [])
        #expect(source.progress() == nil)
    }
}
