import ArgumentParser
import CameraCapturer
import FrameProcessing
import VideoCapturing

/// `capturer-demo list`: the sources with their options, the cameras with their modes and controls, and the screens
/// with their monitors and windows.
struct ListCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the sources with their options, the cameras and the screens.",
        discussion: "With --modes, --controls or --device only the cameras; exit code 66 when there is none.")

    @Flag(help: "The formats, sizes and rates of the cameras, and which one would be chosen.") var modes = false
    @Flag(help: "The controls of the cameras, which --control sets.") var controls = false
    @Option(help: "Only this camera: a path, an id, or a part of its name.") var device: String?
    @Option(
        name: [.customLong("preset"), .customLong("size")],
        help: "With --modes, the size to choose a mode for; 640x480 without it.") var size: String?
    @Option(help: "With --modes, the rate to choose a mode for; 30 without it.") var fps: String?
    @Option(help: "With --modes, the only format to choose.") var captureFormat: String?
    @Flag(help: "One JSON object, for programs.") var json = false

    func execute(_ context: ToolContext) throws(ExitError) -> ExitStatus {
        let inquiry = try inquiry()
        let reports: [CameraReport]
        do throws(CaptureError) {
            reports = try inquiry.reports()
        } catch {
            // A format that the camera does not have is a usage error, not an input error.
            throw ExitError(error, hasInput: error.code != .formatUnsupported)
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

    /// The query about cameras that the options describe.
    func inquiry() throws(ExitError) -> CameraInquiry {
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
            inquiry.modes = CameraMode.Request(
                size: size.map { PixelSize(width: $0.width, height: $0.height) } ?? .vga640x480,
                rate: cameraRate(rate), requiredFourCC: format)
            return inquiry
        } catch {
            throw ExitError(.usage, error.description)
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

/// A query of `list` about cameras.
struct CameraInquiry: Sendable {
    /// The camera to query; nil for all.
    var device: String?
    /// The size, rate and format to choose a mode for; nil without `--modes`.
    var modes: CameraMode.Request?
    var wantsControls = false

    /// Whether the query fails without a camera.
    var needsCamera: Bool { device != nil || modes != nil || wantsControls }

    /// Queries the cameras. The report on a camera that does not answer contains its error.
    ///
    /// - Throws: the error of the camera when only one was queried, or when none answers.
    func reports(in directory: CameraDirectory = CameraDirectory()) throws(CaptureError) -> [CameraReport] {
        guard device == nil else {
            let report = report(try CameraSelector(device).resolve(in: directory))
            if let problem = report.problem { throw problem }
            return [report]
        }
        let reports = try directory.cameras().map(report)
        guard needsCamera else { return reports }
        // Throws an error that says what to do.
        if reports.isEmpty { _ = try CameraSelector().resolve(in: directory) }
        if reports.allSatisfy({ $0.problem != nil }), let problem = reports.first?.problem { throw problem }
        return reports
    }

    private func report(_ camera: CameraDevice) -> CameraReport {
        var report = CameraReport(camera: camera)
        do throws(CaptureError) {
            if let error = camera.accessError { throw error }
            if let modes {
                report.modes = try camera.modes()
                report.decision = try camera.decide(modes)
            }
            if wantsControls { report.controls = try camera.controls() }
        } catch {
            report.problem = error
        }
        return report
    }
}

/// What is reported about a camera.
struct CameraReport: Sendable {
    var camera: CameraDevice
    /// Nil when they were not queried, or the camera did not answer.
    var modes: [CameraMode.Group]?
    var decision: CameraMode.Decision?
    var controls: [CameraControl]?
    /// Why the camera cannot be used, or did not answer.
    var problem: CaptureError?
}
