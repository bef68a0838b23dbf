import ArgumentParser
import CameraCapturer
import FrameProcessing
import VideoCapturing

/// `capturer-demo list`: the sources and what they can be told, the cameras with their modes and controls, and the
/// screens with their monitors and windows.
struct ListCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the sources with their options, the cameras and the screens.",
        discussion: "With --modes, --controls or --device only the cameras; exit code 66 when there is none.")

    @Flag(help: "The formats, sizes and rates of the cameras, and which one would be chosen.") var modes = false
    @Flag(help: "What can be set of the cameras with --control.") var controls = false
    @Option(help: "Only this camera: a path, an id, or a part of its name.") var device: String?
    @Option(
        name: [.customLong("preset"), .customLong("size")],
        help: "With --modes, the size to choose a mode for; 640x480 without it.") var size: String?
    @Option(help: "With --modes, the rate to choose a mode for; 30 without it.") var fps: String?
    @Option(help: "With --modes, the only format to choose.") var captureFormat: String?
    @Flag(help: "One JSON object, for programs.") var json = false

    func execute(_ context: ToolContext) throws(Refusal) -> ExitStatus {
        let inquiry = try inquiry()
        let reports: [CameraReport]
        do throws(CaptureError) {
            reports = try inquiry.reports()
        } catch {
            // A format that the camera does not have is the command line's fault, and not the camera's.
            throw Refusal(error, hasInput: error.code != .formatUnsupported)
        }
        if json {
            let screens = inquiry.needsCamera ? [] : ScreenReport.all()
            try StandardOutput.write(ListCommand.json(demoCatalog, cameras: reports, screens: screens).text)
        } else {
            let cameras = CameraText.lines(reports).joined(separator: "\n")
            guard !inquiry.needsCamera else {
                try StandardOutput.write(cameras)
                return .success
            }
            let screens = ScreenReport.lines(ScreenReport.all()).joined(separator: "\n")
            try StandardOutput.write("\(ListCommand.text(demoCatalog))\n\n\(cameras)\n\n\(screens)")
        }
        return .success
    }

    /// What the options ask of the cameras.
    func inquiry() throws(Refusal) -> CameraInquiry {
        var inquiry = CameraInquiry(device: device.map(cameraName), wantsControls: controls)
        do throws(OptionError) {
            if let device = inquiry.device { try DeviceOption.check(device, of: .camera) }
            let size = try size.map { text throws(OptionError) in try PictureSizeOption.parse(text) }
            let rate = try fps.map { text throws(OptionError) in try RateOption.parse(text) }
            let format = try captureFormat.map { text throws(OptionError) in try CaptureFormatOption.parse(text) }
            guard modes else {
                let given = [("--preset", self.size), ("--fps", fps), ("--capture-format", captureFormat)]
                if let (name, value) = given.first(where: { $0.1 != nil }) {
                    throw OptionError(name, value, "chooses among the modes of a camera; add --modes.")
                }
                return inquiry
            }
            inquiry.modes = CameraModeRequest(
                size: size.map { PixelSize(width: $0.width, height: $0.height) } ?? .vga640x480,
                rate: cameraRate(rate), requiredFourCC: format)
            return inquiry
        } catch {
            throw Refusal(.usage, error.description)
        }
    }

    static func text(_ catalog: CapturerCatalog) -> String {
        catalog.entries.map { entry in
            let width = (entry.options.map(\.name.count).max() ?? 0) + 4
            let options = entry.options.map { option in
                let padding = String(repeating: " ", count: width - option.name.count)
                let value = option.defaultValue.map { " (default: \($0))" } ?? " (required)"
                return "\n  --\(option.name)\(padding)\(option.meaning)\(value)"
            }
            return "\(entry.name): \(entry.summary)" + options.joined()
        }.joined(separator: "\n\n")
    }

    static func json(_ catalog: CapturerCatalog, cameras: [CameraReport], screens: [ScreenReport]) -> JSONValue {
        let sources = catalog.entries.map { entry in
            JSONValue.object([
                ("name", .string(entry.name)), ("summary", .string(entry.summary)),
                ("schemes", .array(entry.schemes.map { .string($0) })),
                (
                    "options",
                    .array(
                        entry.options.map { option in
                            .object([
                                ("name", .string(option.name)), ("meaning", .string(option.meaning)),
                                ("default", option.defaultValue.map { .string($0) } ?? .null),
                                ("required", .bool(option.defaultValue == nil)),
                            ])
                        })
                ),
            ])
        }
        return .object([
            ("version", .integer(1)), ("sources", .array(sources)),
            ("cameras", .array(cameras.map(CameraJSON.camera))), ("screens", .array(screens.map(\.json))),
        ])
    }
}
