import ArgumentParser
import ScreenCapturer
import Testing
import VideoCapturing

@testable import CameraCapturer
@testable import CaptureTool

@Suite struct CommandTests {
    /// The help is written by hand; this is what keeps it true.
    @Test func theHelpHasEveryOptionAndFitsAScreen() {
        let help = HelpText.text(demoCatalog)
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 40)
        #expect((lines.map(\.count).max() ?? 0) <= 90)
        let generated = CaptureCommand.helpMessage(columns: 200)
        let options = generated.split { !($0.isLetter || $0.isNumber || $0 == "-") }.filter { $0.hasPrefix("--") }
        #expect(options.count > 20)
        for option in options { #expect(help.contains(option), "\(option) is missing") }
        for source in demoCatalog.names { #expect(help.contains(source)) }
    }

    @Test(arguments: [
        (["lst"], "capturer-demo list"), (["--durations", "1"], "--duration"), (["docter"], "capturer-demo doctor"),
        (["--fps"], "--fps"),
    ])
    func aWrongCommandLineIsToldOnOneLine(arguments: [String], hint: String) {
        do {
            _ = try RootCommand.parseAsRoot(arguments)
            Issue.record("\(arguments) was taken")
        } catch {
            let message = CapturerDemo.message(for: error, arguments: arguments)
            #expect(message.contains(hint))
            #expect(!message.contains { $0.isNewline })
        }
    }

    @Test func withoutACommandItCaptures() throws {
        let command = try RootCommand.parseAsRoot(["--source", "noise"]) as? CaptureCommand
        #expect(command?.options.source == "noise")
        #expect(try RootCommand.parseAsRoot(["list", "--json"]) is ListCommand)
    }

    @Test func theListSaysWhatIsRequired() {
        let text = ListCommand.text(demoCatalog)
        #expect(text.contains("--input"))
        #expect(text.contains("(required)"))
        #expect(ListCommand.json(demoCatalog, cameras: [], screens: []).text.contains(#""name":"noise""#))
    }

    @Test func theDoctorFindsTheLibrariesWorking() {
        let findings = LibraryChecks.run()
        #expect(findings.map(\.name) == ["Swift", "libvpx", "libyuv", "libv4l2"])
        #expect(findings.allSatisfy { $0.state == .ok })
        #expect(DoctorReport(findings: findings).canCapture)
    }

    @Test func theDoctorSaysHowToFixIt() {
        let none = MachineChecks.cameras(machineWithoutCamera)
        #expect(none.map(\.state) == [.missing])
        #expect(none[0].remedy?.contains("There is no camera") == true)
        let access = CameraDevice.Denial(path: "/dev/video0", user: "ann", remedy: .joinGroup("video"), errno: 13)
        let closed = MachineChecks.finding(webcam(access: .noPermission(access)))
        #expect(closed.state == .missing)
        #expect(closed.detail == "HD Pro Webcam C920, no permission")
        #expect(closed.remedy?.contains("sudo usermod -aG video ann") == true)
        #expect(MachineChecks.finding(webcam()).state == .ok)
        #expect(MachineChecks.displays([]).map(\.state) == [.missing])
        let refused = CaptureError(.permissionDenied, operation: "connect", message: "Not let in.")
        let displays = MachineChecks.displays([
            ScreenReport(
                display: ":0",
                monitors: [
                    ScreenDirectory.Monitor(
                        name: "HDMI-1", frame: PixelRect(x: 0, y: 0, width: 640, height: 480), isPrimary: true)
                ]), ScreenReport(display: ":1", problem: refused),
        ])
        #expect(displays.map(\.state) == [.ok, .missing])
        #expect(displays[0].detail == "HDMI-1 640x480, 0 windows")
        #expect(displays[1].remedy == "Not let in.")
        let broken = DoctorReport(findings: [Finding("libraries", "x", .broken, "1", remedy: "reinstall it")])
        #expect(!broken.canCapture)
        #expect(broken.text(.plain).contains("to fix it: reinstall it"))
    }
}
