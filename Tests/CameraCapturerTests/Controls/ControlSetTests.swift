import CLibV4L2
import Testing
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct ControlSetTests {
    private let fixture: ControlFixture

    init() throws { fixture = try ControlFixture() }

    private func message(_ name: String, _ text: String) -> String {
        #expect(throws: CaptureError.self) { try fixture.controls.set(name, to: text) }?.message ?? ""
    }

    @Test func listsControlsByTheNamesOfTheFieldsOwnTool() {
        let all = fixture.controls.all()
        #expect(
            all.map(\.name) == [
                "brightness", "white_balance_automatic", "power_line_frequency", "white_balance_temperature",
                "auto_exposure", "exposure_time_absolute", "exposure_dynamic_framerate",
            ])
        #expect(all[0].kind == .integer(range: 0...255, step: 1))
        #expect(all[0].value == .integer(128))
        #expect(all[1].value == .boolean(true))
        #expect(
            all[4].kind
                == .menu([.init(index: 1, name: "Manual Mode"), .init(index: 3, name: "Aperture Priority Mode")]))
        #expect(all[5].isInactive)
    }

    @Test(arguments: [
        ("Exposure, Dynamic Framerate", "exposure_dynamic_framerate"), ("  Zoom  (Abs) ", "zoom_abs"),
        ("50 Hz", "50_hz"), ("…", ""), ("H264 I-Frame Period", "h264_i_frame_period"),
    ]) func makesNamesOfTitles(_ title: String, _ name: String) {
        #expect(CameraControl.name(for: title) == name)
    }

    @Test func setsByNameInAnySpelling() throws {
        try fixture.controls.set("Brightness", to: "200")
        #expect(fixture[V4L2_CID_BRIGHTNESS] == 200)
        try fixture.controls.set("power-line-frequency", to: "50 hz")
        #expect(fixture[V4L2_CID_POWER_LINE_FREQUENCY] == 1)
        try fixture.controls.set("power_line_frequency", to: "dis")
        #expect(fixture[V4L2_CID_POWER_LINE_FREQUENCY] == 0)
        try fixture.controls.set("white_balance_automatic", to: "off")
        #expect(fixture[V4L2_CID_AUTO_WHITE_BALANCE] == 0)
        #expect(try fixture.controls.set("white_balance_temperature", to: "0x9c6") == .integer(2500))
        // Rounded by the driver, and said so.
        #expect(try fixture.controls.set("white_balance_temperature", to: "2504") == .integer(2500))
        try fixture.controls.set("brightness", to: .integer(7))
        #expect(fixture[V4L2_CID_BRIGHTNESS] == 7)
    }

    @Test func saysWhatIsWrong() {
        #expect(message("brigthness", "1").contains("did you mean brightness?"))
        #expect(message("xyzzy", "1").contains("it has brightness, white_balance_automatic"))
        #expect(
            message("brightness", "256") == "256 is not possible; it takes 0 to 255; the default is 128.")
        for text in ["", "-1", "12x", "1e3", "99999999999999999999", "0x", "٣"] {
            #expect(message("brightness", text).contains("0 to 255"), "\(text)")
        }
        #expect(
            message("auto_exposure", "2")
                == "2 is not possible; it takes 1 (Manual Mode), 3 (Aperture Priority Mode); "
                + "the default is 3 (Aperture Priority Mode).")
        #expect(message("white_balance_automatic", "2").contains("on or off"))
        #expect(
            message("exposure_time_absolute", "100")
                == "This control is inactive while auto_exposure is 3 (Aperture Priority Mode); "
                + "set auto_exposure=1 (Manual Mode) first.")
        #expect(message("white_balance_temperature", "3000").contains("set white_balance_automatic=off first"))
        fixture.change { $0[V4L2_CID_BRIGHTNESS].flags = Int32(V4L2_CTRL_FLAG_READ_ONLY) }
        #expect(message("brightness", "1").contains("read only"))
        fixture.change { $0[V4L2_CID_BRIGHTNESS].flags = Int32(V4L2_CTRL_FLAG_GRABBED) }
        #expect(message("brightness", "1").contains("while frames are captured"))
    }

    @Test func tellsRefusalsOfTheDriverApart() {
        for (number, code) in [
            (ENODEV, CaptureError.Code.deviceLost), (EIO, .system), (ERANGE, .invalidConfiguration),
            (EBUSY, .invalidConfiguration), (EACCES, .invalidConfiguration),
        ] {
            fixture.change { $0[V4L2_CID_BRIGHTNESS].refusal = number }
            let error = #expect(throws: CaptureError.self) { try fixture.controls.set("brightness", to: "1") }
            #expect(error?.code == code)
            #expect(error?.systemError == number)
        }
    }

    @Test func setsAutomaticsBeforeWhatTheyRule() throws {
        try fixture.controls.set([("exposure_time_absolute", "100"), ("auto_exposure", "manual")])
        #expect(fixture[V4L2_CID_EXPOSURE_AUTO] == 1)
        #expect(fixture[V4L2_CID_EXPOSURE_ABSOLUTE] == 100)
    }

    @Test func knowsEveryKindOfControl() throws {
        fixture.change { node in
            node.controls = [
                .init(
                    id: 0x980910, type: V4L2_CTRL_TYPE_INTEGER64, title: "Long", minimum: .min, maximum: .max,
                    value: 1 << 40),
                .init(id: 0x980911, type: V4L2_CTRL_TYPE_BITMASK, title: "Bits", maximum: -1, value: -1),
                .init(id: 0x980912, type: V4L2_CTRL_TYPE_BUTTON, title: "Push", maximum: 0),
                .init(id: 0x980913, type: V4L2_CTRL_TYPE_STRING, title: "Name", maximum: 8, text: "abc"),
                .init(
                    id: 0x980914, type: V4L2_CTRL_TYPE_INTEGER_MENU, title: "ISO", maximum: 1,
                    items: [0: "100", 1: "200"]),
                .init(id: 0x980915, type: V4L2_CTRL_TYPE_INTEGER, title: "Long"),
                .init(id: 0x980916, type: V4L2_CTRL_TYPE_AREA, title: "Area"),
                .init(id: 0x980917, type: V4L2_CTRL_TYPE_CTRL_CLASS, title: "A class"),
                .init(id: 0x980918, type: V4L2_CTRL_TYPE_INTEGER, title: "Lie", minimum: 9, maximum: -9, step: 0),
                .init(id: 0x980919, type: V4L2_CTRL_TYPE_MENU, title: "Menu", minimum: .min, maximum: .min),
            ]
        }
        let all = fixture.controls.all()
        #expect(all.map(\.name) == ["long", "bits", "push", "name", "iso", "long_2", "lie", "menu"])
        #expect(
            all.map(\.value) == [
                .integer(1 << 40), .integer(0xffff_ffff), nil, .text("abc"), .menu(0), .integer(0), .integer(0),
                .menu(0),
            ])
        #expect(try fixture.controls.set("long", to: "-5000000000") == .integer(-5_000_000_000))
        #expect(try fixture.controls.set("bits", to: "0x80000001") == .integer(0x8000_0001))
        try fixture.controls.set("push", to: "")
        #expect(try fixture.controls.set("name", to: "12345678") == .text("12345678"))
        #expect(message("name", "123456789").contains("0 to 8 bytes"))
        #expect(try fixture.controls.set("iso", to: "200") == .menu(1))
    }

    @Test func survivesACameraThatIsGone() throws {
        let known = try fixture.controls.control(named: "brightness")
        fixture.driver[ControlFixture.path] = nil
        #expect(fixture.controls.all().isEmpty)
        #expect(fixture.controls.value(of: known) == nil)
        #expect(message("brightness", "1") == "The camera has no controls; leave it out.")
    }
}
