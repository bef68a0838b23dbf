import Testing
import VideoCapturing

@testable import CameraCapturer

@Suite struct CameraTextTests {
    @Test func aCameraInAFewLines() {
        #expect(
            CameraText.lines([CameraReport(camera: webcam())]) == [
                "/dev/video0: HD Pro Webcam C920, usable",
                "  id   usb-046d_HD_Pro_Webcam_C920_ABC-video-index0",
                "  bus  usb-0000:00:14.0-1 (uvcvideo)",
            ])
    }

    @Test func noCameraInOneLine() {
        #expect(CameraText.lines([]).count == 1)
        #expect(CameraText.lines([])[0].hasPrefix("cameras: none"))
    }

    @Test func whatCannotBeUsedSaysHowToFixIt() {
        let access = CameraDevice.Denial(path: "/dev/video0", user: "ann", remedy: .joinGroup("video"), errno: 13)
        let camera = webcam(access: .noPermission(access))
        let lines = CameraText.lines([CameraReport(camera: camera, problem: camera.accessError)])
        #expect(lines[0] == "/dev/video0: HD Pro Webcam C920, no permission")
        #expect(lines[3].contains("sudo usermod -aG video ann"))
    }

    @Test func formatsWithEqualModesAreOneSection() {
        let modes = [
            modeGroup(.yuyv), modeGroup(.h264, cost: nil), modeGroup(.nv12, cost: CameraMode.ConversionCost.none),
            modeGroup(.mjpeg, fastest: 60),
        ]
        #expect(
            ModeTable.lines(modes) == [
                "    YUYV NV12",
                "      640x480   30 15 fps",
                "      1280x720  10 fps",
                "    MJPG",
                "      640x480   60 15 fps",
                "      1280x720  10 fps",
                "    H264 (with --codec copy only)",
                "      640x480   30 15 fps",
                "      1280x720  10 fps",
            ])
    }

    @Test func controlsAreInColumns() {
        let menu = [1: "Manual Mode", 3: "Aperture Priority Mode"].sorted { $0.key < $1.key }
            .map { CameraControl.MenuItem(index: Int64($0.key), name: $0.value) }
        let numbers = [CameraControl.MenuItem(index: 0, name: "25"), .init(index: 1, name: "50")]
        let lines = ControlTable.lines([
            control("brightness", .integer(range: 0...255, step: 5), .integer(100), default: .integer(128)),
            control("auto_exposure", .menu(menu), .menu(3), default: .menu(3)),
            control("frequency", .integerMenu(numbers), .menu(1), default: .menu(0)),
            control("lights", .bitmask(0x7), .integer(5), default: .integer(0), flags: 0x0010),
            control("reset", .button, nil, flags: 0x0040),
        ])
        #expect(
            lines == [
                "    name           accepts        value  default",
                "    brightness     0 to 255 by 5  100    128",
                "    auto_exposure  menu           3      3",
                "      1 Manual Mode, 3 Aperture Priority Mode",
                "    frequency      menu           50     25",
                "      25, 50",
                "    lights         bits of 0x7    0x5    0x0      inactive",
                "    reset          button         -      -        write-only",
            ])
        #expect(ControlTable.lines([]) == [])
    }

    @Test func everythingFitsAndKeepsTheTerminalFromObeying() {
        let items = (0..<120).map { CameraControl.MenuItem(index: $0, name: "choice number \($0)") }
        let rates = CameraMode.Group.Rates.discrete((1...90).reversed().map { FrameRate($0, per: 1)! })
        let modes = (0..<83).map { number in
            CameraMode.Group(
                fourCC: FourCC("F\(100 + number)")!, name: "", cost: .color, isEmulated: false,
                entries: [.init(sizes: .discrete(.vga640x480), rates: rates)])
        }
        let report = CameraReport(
            camera: webcam("Cam\u{1B}[31mera\n\(String(repeating: "x", count: 500))"), modes: modes,
            decision: decision(),
            controls: [
                control(
                    String(repeating: "n", count: 64), .integer(range: -5_000_000_000...5_000_000_000, step: 1), nil),
                control("menu\u{7}", .menu(items), .menu(0)),
                control("text", .text(lengths: 0...500), .text(String(repeating: "\u{1B}", count: 400))),
            ])
        let lines = CameraText.lines([report, report])
        for line in lines { #expect(line.count <= 100, "\(line)") }
        #expect(!lines.joined().contains { $0 == "\u{1B}" || $0 == "\u{7}" || $0.isNewline })
        // An item of a menu is not torn apart.
        #expect(lines.contains { $0.hasSuffix(",") && $0.contains("choice number") })
        #expect(!lines.contains { $0.hasPrefix("      ") && ($0.hasSuffix("choice") || $0.hasSuffix("number")) })
    }

    @Test func theChoiceIsExplained() {
        let lines = CameraText.lines([CameraReport(camera: webcam(), modes: [], decision: decision())])
        #expect(lines.contains("    requested   352x288 at 30 fps"))
        #expect(lines.contains("    negotiated  YUYV 640x480 at 30 fps"))
        #expect(lines.contains("    rejected    MJPG 640x480 at 30 fps: takes more work to convert"))
    }
}
